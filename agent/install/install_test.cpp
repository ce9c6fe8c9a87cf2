// Compiled alone: its names are those of other tests.
#include "agent/install/install.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <map>

#include <doctest/doctest.h>

#include "agent/install/manifest.hpp"
#include "agent/install/service.hpp"
#include "agent/install/uninstall.hpp"
#include "agent/updater/trust_file.hpp"
#include "base/sha256.hpp"
#include "tests/support/release_documents.hpp"
#include "tests/support/scratch_folder.hpp"
#include "update/journal.hpp"

using namespace agent::install;
namespace fs = std::filesystem;

namespace {

const std::string kHash(64, 'a');
constexpr const char* kName = "1.2.3-aaaaaaaa";
constexpr const char* kUnitText =
    "[Service]\nType=notify\nExecStart=/usr/bin/opsagent run\nNotifyAccess=main\nStateDirectory=opsagent\n";
constexpr const char* kScriptText = "#!/bin/sh\nDAEMON=/opt/opsagent/launch\nDAEMON_ARGS=\"\"\n";

void nobody_listens(const std::string&) {}

// An image, and a release that was unpacked beside it.
struct Image {
  tests::ScratchFolder scratch;
  std::string release = scratch / "release";
  Site site{.root = scratch / "image"};

  explicit Image(bool has_systemd = true) {
    const std::map<std::string, std::string> files{{"bin/opsagent", "a program"},
                                                   {"bin/opsagent-launch", "a launcher"},
                                                   {"lib/libx.so.1", "a library"},
                                                   {"share/opsagent.init", kScriptText},
                                                   {"share/opsagent.service", kUnitText}};
    std::string manifest = "opsagent 1.2.3\ntarget linux amd64\nglibc 2.31\ncommit abc\n";
    for (const auto& [path, content] : files) {
      scratch.write("release/" + path, content);
      const bool is_program = path.starts_with("bin/");
      fs::permissions(release + "/" + path, static_cast<fs::perms>(is_program ? 0755 : 0644));
      manifest += "file " + base::sha256_hex(content) + (is_program ? " 0755 " : " 0644 ") +
                  std::to_string(content.size()) + " " + path + "\n";
    }
    scratch.write("release/manifest", manifest);
    scratch.folder("image/etc/init.d");
    for (const char level : std::string("0123456"))
      scratch.folder(std::string("image/etc/rc") + level + ".d");
    scratch.folder("image/usr/local/bin");
    scratch.folder("image/opt");
    if (has_systemd) scratch.write("image/usr/lib/systemd/systemd", "");
    before = listing();
  }

  InstallOptions options() const { return {.site = site, .release = release, .sha256 = kHash}; }
  std::string install_problem() const {
    const auto done = install(options(), nobody_listens);
    return done ? "" : done.error().message();
  }
  Kept removed(bool keep_state = false) const {
    auto kept = uninstall({.site = site, .keep_state = keep_state}, nobody_listens);
    REQUIRE_MESSAGE(kept, (kept ? "" : kept.error().message()));
    return *kept;
  }
  // Every name with its type and mode.
  std::vector<std::string> listing() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::recursive_directory_iterator(site.root)) {
      const auto status = entry.symlink_status();
      names.push_back(entry.path().string().substr(site.root.size()) + " " +
                      std::to_string(static_cast<int>(status.type())) + " " +
                      std::to_string(static_cast<unsigned>(status.permissions())));
    }
    std::ranges::sort(names);
    return names;
  }
  std::vector<std::string> before;
};

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

// Runs `work` in a process that ends, as by kill -9, when it is told of its nth step. False: it had fewer.
bool killed_at(int nth, const std::function<void(const Say&)>& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    int steps = 0;
    work([&](const std::string&) {
      if (++steps == nth) ::_exit(9);
    });
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 9;
}

void check_installed(const Image& image) {
  const tests::ScratchFolder& scratch = image.scratch;
  CHECK(fs::read_symlink(scratch / "image/opt/opsagent/current") == std::string("versions/") + kName);
  CHECK(scratch.read(std::string("image/opt/opsagent/versions/") + kName + "/bin/opsagent") == "a program");
  CHECK(scratch.read("image/opt/opsagent/launch") == "a launcher");
  CHECK(scratch.mode("image/opt/opsagent/launch") == 0755);
  CHECK(scratch.count("image/opt/opsagent/staging") == 0);
  CHECK(fs::read_symlink(scratch / "image/usr/local/bin/opsagent") == "/opt/opsagent/current/bin/opsagent");
}

}  // namespace

TEST_CASE("a release is installed into an image with systemd, by files and links alone") {
  Image image;
  CHECK(image.install_problem() == "");
  check_installed(image);
  CHECK(
      image.scratch.read("image/etc/systemd/system/opsagent.service") ==
      "[Service]\nType=notify\nExecStart=/opt/opsagent/launch\nNotifyAccess=all\nStateDirectory=opsagent\n");
  CHECK(fs::read_symlink(image.site.at(kUnitWanted)) == kUnit);
  const auto once = image.listing();
  CHECK(image.install_problem() == "");
  CHECK(image.listing() == once);
}

TEST_CASE("nothing is installed where others could put another program in its place" *
          doctest::skip(::geteuid() != 0)) {
  Image image;
  image.scratch.folder("image/home/prefix");
  image.scratch.folder("image/root");
  image.scratch.link("image/home/link", "../root");
  REQUIRE(::chown((image.scratch / "image/home").c_str(), 65534, 65534) == 0);
  image.before = image.listing();
  for (const char* where : {"/home", "/home/prefix", "/home/new/prefix", "/home/link/prefix"}) {
    image.site = {.root = image.site.root, .prefix = where};
    CHECK_MESSAGE(has(image.install_problem(), "the prefix: "), where);
    image.site = {.root = image.site.root, .state_dir = where};
    CHECK_MESSAGE(has(image.install_problem(), "the state folder: "), where);
  }
  CHECK(image.listing() == image.before);
}

TEST_CASE("nothing is installed or removed outside of an image, wherever its links lead") {
  for (const char* where : {"image/etc/systemd", "image/usr/local/bin", "image/opt", "image/etc/rc2.d"}) {
    Image image;
    fs::remove_all(image.scratch / where);
    fs::create_directories(fs::path(image.scratch / where).parent_path());
    image.scratch.folder("outside");
    image.scratch.link(where, image.scratch / "outside");
    CHECK_MESSAGE(has(image.install_problem(), "leads out of " + image.site.root), where);
    const auto removed = uninstall({.site = image.site}, nobody_listens);
    REQUIRE_FALSE(removed);
    CHECK_MESSAGE(has(removed.error().message(), "leads out of "), removed.error().message());
    CHECK(image.scratch.count("outside") == 0);
  }
  Image image;
  fs::rename(image.scratch / "image/opt", image.scratch / "image/usr/opt");
  image.scratch.link("image/opt", "usr/opt");  // within
  CHECK(image.install_problem() == "");
}

TEST_CASE("an image without systemd gets the script and its links") {
  Image image(false);
  CHECK(image.install_problem() == "");
  check_installed(image);
  CHECK(image.scratch.mode("image/etc/init.d/opsagent") == 0755);
  CHECK(fs::read_symlink(image.scratch / "image/etc/rc2.d/S90opsagent") == "../init.d/opsagent");
  CHECK(fs::read_symlink(image.scratch / "image/etc/rc0.d/K10opsagent") == "../init.d/opsagent");
  CHECK(image.removed().empty());
  CHECK(image.listing() == image.before);
}

TEST_CASE("an install that is killed before any of its steps is completed by the next") {
  int steps = 0;
  for (int nth = 1;; ++nth) {
    Image image(nth % 2 == 0);
    if (!killed_at(nth, [&](const Say& say) { (void)install(image.options(), say); })) break;
    steps = nth;
    CHECK_MESSAGE(image.install_problem() == "", nth);
    check_installed(image);
  }
  CHECK(steps >= 8);
}

TEST_CASE("an uninstall that is killed before any of its steps is completed by the next") {
  int steps = 0;
  for (int nth = 1;; ++nth) {
    Image image(false);
    REQUIRE(image.install_problem() == "");
    image.scratch.write("image/etc/opsagent.conf", std::string(kBootstrapMark) + "\n");
    image.scratch.write("image/etc/opsagent.conf.new", "");
    image.scratch.write("image/opt/opsagent/staging/half/x", "");
    if (!killed_at(nth, [&](const Say& say) { (void)uninstall({.site = image.site}, say); })) break;
    steps = nth;
    CHECK_MESSAGE(image.removed().empty(), nth);
    CHECK(image.listing() == image.before);
  }
  CHECK(steps >= 8);
}

TEST_CASE("uninstall takes all that is ours, state and logs too, and keeps and names the rest") {
  Image image;
  REQUIRE(image.install_problem() == "");
  const tests::ScratchFolder& scratch = image.scratch;
  for (const char* ours :
       {"etc/opsagent.conf", "var/log/opsagent-bootstrap.log", "var/log/opsagent.log",
        "var/log/opsagent.12.log", "var/lib/opsagent/spool/1", "var/lib/opsagent/update/root.json"})
    scratch.write(std::string("image/") + ours, std::string(kBootstrapMark) + "\nours\n");
  const std::vector<std::string> foreign{"opt/opsagent/notes",
                                         std::string("opt/opsagent/versions/") + kName + "/bin/mine",
                                         "opt/opsagent/versions/readme.txt/x",
                                         "var/log/opsagent.other.log",
                                         "etc/systemd/system/opsagent.service.d/more.conf",
                                         "etc/opsagent.identity"};
  for (const std::string& path : foreign)
    scratch.write("image/" + path, "theirs");
  fs::remove(scratch / "image/usr/local/bin/opsagent");
  scratch.write("image/usr/local/bin/opsagent", "theirs");
  const Kept kept = image.removed();
  for (const std::string& path : foreign)
    CHECK_MESSAGE(scratch.exists("image/" + path), path);
  CHECK(scratch.exists("image/usr/local/bin/opsagent"));
  for (const char* gone :
       {"etc/opsagent.conf", "var/log/opsagent-bootstrap.log", "var/log/opsagent.log",
        "var/log/opsagent.12.log", "var/lib/opsagent", "opt/opsagent/current", "opt/opsagent/launch",
        "opt/opsagent/staging", "etc/systemd/system/opsagent.service"})
    CHECK_MESSAGE(!scratch.exists(std::string("image/") + gone), gone);
  for (const char* name :
       {"/opt/opsagent/notes: ", "/bin/mine: ", "/usr/local/bin/opsagent: ", "opsagent.service.d: "})
    CHECK_MESSAGE(std::ranges::any_of(kept, [&](const std::string& each) { return has(each, name); }), name);
}

TEST_CASE("state can be kept; of a folder that the configuration names only what is known goes") {
  Image image;
  image.site.state_dir = "/srv/agent";
  REQUIRE(image.install_problem() == "");
  CHECK(has(image.scratch.read("image/etc/systemd/system/opsagent.service"),
            "ExecStart=/opt/opsagent/launch --state-dir /srv/agent\n"));
  for (const char* name : {"token", "spool/1", "settings.new", "launch.lock", "run.cursor", "photos/1.jpg"})
    image.scratch.write(std::string("image/srv/agent/") + name, "x");
  CHECK(image.removed(true).size() == 1);
  CHECK(image.scratch.exists("image/srv/agent/token"));
  REQUIRE(image.install_problem() == "");
  const Kept kept = image.removed();
  CHECK(image.scratch.count("image/srv/agent") == 1);
  CHECK(kept == Kept{"/srv/agent/photos: we did not put it there"});
}

TEST_CASE("a configuration that the bootstrap did not write is kept and named") {
  for (const bool is_link : {false, true}) {
    Image image;
    REQUIRE(image.install_problem() == "");
    const std::string own = "ws_uri = wss://mine/agent/\n# " + std::string(kBootstrapMark) + "\n";
    image.scratch.write(is_link ? "image/etc/mine" : "image/etc/opsagent.conf",
                        is_link ? std::string(kBootstrapMark) : own);
    if (is_link) fs::create_symlink("mine", image.scratch / "image/etc/opsagent.conf");
    CHECK(image.removed() == Kept{"/etc/opsagent.conf: the bootstrap script did not write it"});
    CHECK(image.scratch.exists("image/etc/opsagent.conf"));
  }
}

TEST_CASE("the mask that a removed package leaves is no obstacle; a unit of the package is") {
  Image image;
  image.scratch.folder("image/etc/systemd/system");
  fs::create_symlink("/dev/null", image.scratch / "image/etc/systemd/system/opsagent.service");
  CHECK(image.install_problem() == "");
  check_installed(image);
  CHECK(fs::is_regular_file(fs::symlink_status(image.scratch / "image/etc/systemd/system/opsagent.service")));
  Image packaged;
  packaged.scratch.write("image/usr/lib/systemd/system/opsagent.service", kUnitText);
  packaged.scratch.folder("image/etc/systemd/system");
  fs::create_symlink("/dev/null", packaged.scratch / "image/etc/systemd/system/opsagent.service");
  CHECK(has(packaged.install_problem(), "apt purge opsagent"));
}

TEST_CASE("who is told the release's number believes no older one, and is never told less") {
  Image image;
  const std::string state = image.site.at(kStateFolder);
  InstallOptions options = image.options();
  options.number = 7;
  const release::SigningKey key = release::testing::new_key();
  REQUIRE(install(options, nobody_listens));  // no keys, no updates
  CHECK_FALSE(image.scratch.exists("image/var/lib/opsagent/update/trusted"));
  image.scratch.write("image/var/lib/opsagent/update/root.json",
                      release::write(release::testing::root_of(1, {&key}, 1, {&key}, {&key})));
  REQUIRE(install(options, nobody_listens));
  CHECK(agent::updater::load_trust(state)->memory().floor == 7);
  options.number = 5;
  REQUIRE(install(options, nobody_listens));
  CHECK(agent::updater::load_trust(state)->memory().floor == 7);
  image.scratch.write("image/var/lib/opsagent/update/trusted", "damaged");
  options.number = 9;
  CHECK(install(options, nobody_listens));
  CHECK(image.scratch.read("image/var/lib/opsagent/update/trusted") == "damaged");
}

TEST_CASE("a reinstall keeps who the machine is and whom it trusts") {
  Image image;
  REQUIRE(image.install_problem() == "");
  for (const char* name : {"token", "identity.pem", "recipe", "launch.lock", "run.cursor", "spool/1",
                           "update/root.json", "update/trusted", "update/journal"})
    image.scratch.write(std::string("image/var/lib/opsagent/") + name, "x");
  image.scratch.write("image/opt/opsagent/versions/1.0.0-bbbbbbbb/bin/opsagent", "old");
  REQUIRE(reinstall(image.site, true, nobody_listens));
  check_installed(image);
  for (const char* name : {"token", "identity.pem", "update/root.json", "update/trusted"})
    CHECK_MESSAGE(image.scratch.exists(std::string("image/var/lib/opsagent/") + name), name);
  for (const char* name : {"recipe", "launch.lock", "run.cursor", "spool", "update/journal"})
    CHECK_MESSAGE(!image.scratch.exists(std::string("image/var/lib/opsagent/") + name), name);
  CHECK(image.scratch.count("image/opt/opsagent/versions") == 1);
  image.scratch.write(std::string("image/opt/opsagent/versions/") + kName + "/lib/libx.so.1", "A library");
  const auto damaged = reinstall(image.site, true, nobody_listens);
  REQUIRE_FALSE(damaged);
  CHECK(has(damaged.error().message(), "damaged, nothing was changed"));
}

TEST_CASE("nothing is installed from a damaged release, nor over what is not ours") {
  {
    Image image;
    image.scratch.write("release/lib/libx.so.1", "a LIBRARY");
    CHECK(has(image.install_problem(), "other content than it should"));
    CHECK(image.listing() == image.before);
  }
  {
    Image image;
    image.scratch.write("image/etc/systemd/system/opsagent.service", kUnitText);
    CHECK(has(image.install_problem(), "not of this installation"));
    CHECK_FALSE(image.scratch.exists("image/opt/opsagent"));
  }
  {
    Image image;
    image.scratch.write("image/usr/lib/systemd/system/opsagent.service", kUnitText);
    CHECK(has(image.install_problem(), "installed as a package"));
  }
  Image image;
  image.site.prefix = "/opt/two words";
  CHECK(has(image.install_problem(), "the prefix must be"));
  InstallOptions options = image.options();
  options.site.prefix = "/opt/x";
  options.sha256 = "short";
  CHECK_FALSE(install(options, nobody_listens));
  options.sha256.clear();
  CHECK(has(install(options, nobody_listens).error().message(), "--sha256 is missing"));
}

TEST_CASE("a version that is installed by hand is not undone by what an update has noted") {
  const auto noted_after = [](const update::Record& noted) {
    Image image;
    const std::string state = image.site.at(kStateFolder);
    fs::create_directories(state);
    REQUIRE(update::write_journal(state, noted));
    CHECK(image.install_problem() == "");
    const auto record = update::read_journal(state);
    REQUIRE(record);
    REQUIRE(*record);
    return **record;
  };
  update::Record noted{
      .action_id = "a", .version = "1.2.3", .from = "1.0.0-bbbbbbbb", .to = "1.1.0-cccccccc"};
  noted.phase = update::Phase::trial;
  const update::Record closed = noted_after(noted);
  CHECK(closed.phase == update::Phase::failed);
  CHECK(has(closed.reason, "installed by hand"));
  CHECK(closed.action_id == "a");
  noted.phase = update::Phase::confirmed;
  CHECK(noted_after(noted) == noted);
  noted.to = kName;
  for (const update::Phase phase : {update::Phase::rolled_back, update::Phase::failed}) {
    noted.phase = phase;
    noted.from = "0.0.1-00000001";
    const update::Record back = noted_after(noted);
    CHECK(back.phase == phase);
    CHECK(back.from.empty());
  }
}

TEST_CASE("two installs at once exclude each other") {
  Image image;
  REQUIRE(image.install_problem() == "");
  const auto lock = lock_prefix(image.site);
  REQUIRE(lock);
  CHECK(has(image.install_problem(), "another install or uninstall is at work"));
  CHECK_FALSE(uninstall({.site = image.site}, nobody_listens));
}

TEST_CASE("what a package uses is left to it; where nothing was installed nothing is removed") {
  Image image;
  image.scratch.write("image/etc/opsagent.conf", "x");
  const auto nothing = uninstall({.site = image.site}, nobody_listens);
  REQUIRE_FALSE(nothing);
  CHECK(has(nothing.error().message(), "removed with apt"));
  REQUIRE(image.install_problem() == "");
  image.scratch.write("image/usr/bin/opsagent", "of the package");
  CHECK(image.removed() == Kept{"/etc/opsagent.conf: the package uses it, too"});
  CHECK(image.scratch.exists("image/etc/opsagent.conf"));
}

TEST_CASE("a manifest names files below its folder, and nothing else") {
  const std::string hash(64, 'b');
  const auto with = [&](const std::string& line) { return parse_manifest("opsagent 1.0\n" + line + "\n"); };
  CHECK(with("file " + hash + " 0644 3 lib/x"));
  CHECK(with("file " + hash + " 0644 3 lib/x\nlater something new"));
  for (const std::string& line :
       {"file " + hash + " 0644 3 ../x", "file " + hash + " 0644 3 /x", "file " + hash + " 0644 3 a//b",
        "file " + hash + " 4755 3 x", "file " + hash + " 0644 -3 x", std::string("file abc 0644 3 x"),
        "file " + hash + " 0644 3", std::string("target linux")})
    CHECK_MESSAGE(!with(line), line);
  CHECK_FALSE(parse_manifest("file " + hash + " 0644 3 x\n"));
}

TEST_CASE("a unit that is not as expected is refused") {
  const Site site;
  CHECK_FALSE(unit_text("[Service]\nExecStart=a\n", site));
  CHECK_FALSE(unit_text("ExecStart=a\nExecStart=b\nNotifyAccess=main\n", site));
  const auto script = script_text(kScriptText, Site{.prefix = "/srv/ops"});
  REQUIRE(script);
  CHECK(*script == "#!/bin/sh\nDAEMON=/srv/ops/launch\nDAEMON_ARGS=\" -- --prefix /srv/ops\"\n");
}

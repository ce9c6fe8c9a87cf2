// Compiled alone: its names are those of other tests.
#include "agent/install/migrate.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "base/text.hpp"
#include "tests/support/scratch_folder.hpp"

using namespace agent::install;
namespace fs = std::filesystem;

namespace {

constexpr const char* kConf =
    "[global]\n"
    "envroot = /opt/visualops/env\n"
    "token = /etc/opsagent.d/token\n"
    "logfile = /var/log/visualops/agent.log\n"
    "[userdata]\n"
    "ws_uri = wss://ops.example.com/agent/\n"
    "app_id = app-1\n"
    "base_remote = https://example.com/bootstrap\n"
    "[module]\n"
    "root = /var/lib/visualops/opsagent/modules\n"
    "[runtime]\n"
    "delay = 5\n";
constexpr const char* kCron =
    "# mine\n5 4 * * * /usr/local/bin/backup\n*/5 * * * * /opt/visualops/cron.sh check\n";
const std::string kSum = "0123456789abcdef0123456789abcdef";

// An image of a machine with the original on it, as its installer leaves one.
struct Image {
  tests::ScratchFolder scratch;
  Site site{.root = scratch / "image"};
  std::vector<std::string> said;

  Image() {
    scratch.write("image/etc/init.d/opsagentd", "#!/bin/sh\n# the original\n");
    fs::permissions(site.at("/etc/init.d/opsagentd"), static_cast<fs::perms>(0755));
    scratch.folder("image/etc/rc2.d");
    fs::create_symlink("../init.d/opsagentd", site.at("/etc/rc2.d/S99opsagentd"));
    scratch.write("image/etc/opsagent.conf", kConf);
    scratch.write("image/etc/opsagent.d/token", "original token\n");
    scratch.write("image/var/spool/cron/crontabs/root", kCron);
    fs::permissions(site.at("/var/spool/cron/crontabs/root"), static_cast<fs::perms>(0600));
    scratch.write("image/opt/visualops/env/bin/opsagent", "#!/opt/visualops/env/bin/python\n");
    scratch.write("image/var/lib/visualops/opsagent/watch/state-1--etc-my.cnf.cksum", kSum);
    scratch.write("image/var/lib/visualops/opsagent/watch/state-2--gone.cksum", "");
    scratch.write("image/var/lib/visualops/opsagent/watch/state-3--odd.cksum", "not a sum");
    scratch.folder("image/var/lib");
  }

  Say say() {
    return [this](const std::string& step) { said.push_back(step); };
  }
  std::string read(const std::string& path) const { return scratch.read("image" + path); }
  bool has(const std::string& path) const {
    return fs::symlink_status(site.at(path)).type() != fs::file_type::not_found;
  }
  bool has_said(std::string_view part) const {
    for (const std::string& step : said)
      if (step.find(part) != std::string::npos) return true;
    return false;
  }
};

}  // namespace

TEST_CASE("the original's configuration is said in our words, and what means nothing here is named once") {
  const auto config = read_original_config(kConf);
  REQUIRE(config);
  CHECK(config->text.find("ws_uri = wss://ops.example.com/agent/\n") != std::string::npos);
  CHECK(config->text.find("app_id = app-1\n") != std::string::npos);
  CHECK(config->text.find("token_file = /etc/opsagent.d/token\n") != std::string::npos);
  CHECK(config->text.find("log_file = /var/log/visualops/agent.log\n") != std::string::npos);
  CHECK(config->text.find("round_delay = 300\n") != std::string::npos);
  CHECK(config->text.find("root") == std::string::npos);  // it is not our --root
  CHECK(config->ignored ==
        std::vector<std::string>{"[global] envroot", "[userdata] base_remote", "[module] root"});
  CHECK(remark_about(*config).find("[module] root") != std::string::npos);
  // Each in its line, so that complaints name the right one.
  CHECK(base::split(config->text, '\n')[5] == "ws_uri = wss://ops.example.com/agent/");
  // A time that is none is not guessed.
  CHECK(read_original_config("[runtime]\ndelay = soon\n")->ignored ==
        std::vector<std::string>{"[runtime] delay"});
}

TEST_CASE("a configuration of ours is not taken for the original's, whatever its sections are called") {
  CHECK_FALSE(read_original_config("ws_uri = wss://a/\n"));
  CHECK_FALSE(read_original_config("[global]\nws_uri = wss://a/\nstate_dir = /var/lib/x\n"));
  CHECK_FALSE(read_original_config("[module]\nroot = /mnt/image\n"));
  CHECK_FALSE(read_original_config("[opsagent]\ntoken = x\n"));
  // What stands in a section of ours is ours, beside the original's.
  const auto mixed =
      read_original_config("round_delay = 60\n[global]\nenvroot = /x\n[ours]\nws_uri = wss://a/\n");
  REQUIRE(mixed);
  CHECK(mixed->text.find("round_delay = 60\n") == 0);
  CHECK(mixed->text.find("ws_uri = wss://a/\n") != std::string::npos);
}

TEST_CASE(
    "migrating takes over token, watch records and configuration, and removes what starts the original") {
  Image image;
  CHECK(find_original(image.site).is_installed());
  const auto migrated = migrate(image.site, image.say());
  REQUIRE_MESSAGE(migrated, migrated.error().message());
  CHECK(*migrated);
  CHECK_FALSE(image.has("/etc/init.d/opsagentd"));
  CHECK_FALSE(image.has("/etc/rc2.d/S99opsagentd"));
  CHECK(image.read("/var/spool/cron/crontabs/root") == "# mine\n5 4 * * * /usr/local/bin/backup\n");
  CHECK(image.scratch.mode("image/var/spool/cron/crontabs/root") == 0600);
  CHECK(image.read("/var/lib/opsagent/token") == "original token\n");
  CHECK(image.read("/var/lib/opsagent/watch/state-1--etc-my.cnf.cksum") == kSum);
  CHECK_FALSE(image.has("/var/lib/opsagent/watch/state-2--gone.cksum"));
  CHECK_FALSE(image.has("/var/lib/opsagent/watch/state-3--odd.cksum"));
  CHECK(image.has_said("state-3--odd.cksum is no watch record"));
  CHECK(image.has_said("[module] root"));
  CHECK(image.read("/etc/opsagent.conf") ==
        "# From the configuration of the original OpsAgent, by 'opsagent migrate'.\n"
        "log_file = /var/log/visualops/agent.log\nws_uri = wss://ops.example.com/agent/\n"
        "app_id = app-1\nround_delay = 300\n");
  // The original's own folders are its owner's to remove.
  CHECK(image.has("/opt/visualops/env/bin/opsagent"));
  CHECK(image.has("/var/lib/visualops/opsagent/watch/state-1--etc-my.cnf.cksum"));
  // Again: there is nothing to do.
  const auto again = migrate(image.site, image.say());
  REQUIRE(again);
  CHECK_FALSE(*again);
}

TEST_CASE("undoing a migration puts everything back as it was, and keeps what was changed since") {
  Image image;
  REQUIRE(migrate(image.site, image.say()));
  image.scratch.write("image/var/spool/cron/crontabs/root", "# mine\n@daily /usr/local/bin/new\n");
  CHECK(was_migrated(image.site));
  const auto undone = undo_migration(image.site, true, image.say());
  REQUIRE_MESSAGE(undone, undone.error().message());
  CHECK(image.read("/etc/init.d/opsagentd") == "#!/bin/sh\n# the original\n");
  CHECK(image.scratch.mode("image/etc/init.d/opsagentd") == 0755);
  CHECK(fs::read_symlink(image.site.at("/etc/rc2.d/S99opsagentd")) == "../init.d/opsagentd");
  CHECK(image.read("/etc/opsagent.conf") == kConf);
  CHECK(image.read("/var/spool/cron/crontabs/root") ==
        "# mine\n@daily /usr/local/bin/new\n*/5 * * * * /opt/visualops/cron.sh check\n");
  CHECK_FALSE(was_migrated(image.site));
  CHECK_FALSE(undo_migration(image.site, true, image.say()));
  // And forth again.
  const auto again = migrate(image.site, image.say());
  REQUIRE(again);
  CHECK(*again);
}

TEST_CASE("a migration that stops at any step is completed by the next, with what was saved at first") {
  struct Killed {};
  for (std::size_t steps = 1; steps <= 6; ++steps) {
    Image image;
    std::size_t count = 0;
    CHECK_THROWS_AS((void)migrate(image.site,
                                  [&](const std::string&) {
                                    if (++count > steps) throw Killed();
                                  }),
                    Killed);
    const auto completed = migrate(image.site, image.say());
    REQUIRE_MESSAGE(completed, steps);
    CHECK(*completed);
    CHECK_FALSE(find_original(image.site).is_installed());
    CHECK(image.read("/var/lib/opsagent/token") == "original token\n");
    REQUIRE(undo_migration(image.site, false, image.say()));
    CHECK(image.read("/etc/opsagent.conf") == kConf);
    CHECK(image.read("/var/spool/cron/crontabs/root") == kCron);
    CHECK(image.has("/etc/init.d/opsagentd"));
  }
}

TEST_CASE("a machine without the original has nothing to migrate") {
  tests::ScratchFolder scratch;
  scratch.folder("image/etc");
  scratch.write("image/etc/opsagent.conf", "ws_uri = wss://a/agent/\n");
  const Site site{.root = scratch / "image"};
  const auto migrated = migrate(site, [](const std::string&) {});
  REQUIRE(migrated);
  CHECK_FALSE(*migrated);
  CHECK_FALSE(fs::exists(scratch / "image/var"));
}

TEST_CASE("what others could have put there is not taken over") {
  Image image;
  fs::remove(image.site.at("/etc/opsagent.d/token"));
  image.scratch.write("image/secret", "a secret of somebody");
  fs::create_symlink(image.scratch / "image/secret", image.site.at("/etc/opsagent.d/token"));
  fs::permissions(image.site.at("/var/lib/visualops/opsagent/watch/state-1--etc-my.cnf.cksum"),
                  static_cast<fs::perms>(0666));
  REQUIRE(migrate(image.site, image.say()));
  CHECK_FALSE(image.has("/var/lib/opsagent/token"));
  CHECK_FALSE(image.has("/var/lib/opsagent/watch/state-1--etc-my.cnf.cksum"));
  CHECK(image.has_said("can be changed by others"));
}

TEST_CASE("cron lines are the original's when they start something of it") {
  CHECK(is_original_cron_line("*/5 * * * * /opt/visualops/cron.sh check"));
  CHECK(is_original_cron_line("* * * * * root /etc/init.d/opsagentd start"));
  CHECK_FALSE(is_original_cron_line("# /opt/visualops/cron.sh"));
  CHECK_FALSE(is_original_cron_line("5 4 * * * /usr/local/bin/opsagent-backup"));
}

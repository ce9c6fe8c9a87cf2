#include "release/archive.hpp"

#include <random>

#include <doctest/doctest.h>

#include "base/programs/process.hpp"
#include "tests/support/release_archives.hpp"
#include "tests/support/scratch_folder.hpp"

using namespace release;
using namespace release::testing;

namespace {

std::string good_tar() {
  return tar_folder("bin") + tar_file("bin/opsagent", std::string(100'000, 'x'), true) + tar_folder("lib") +
         tar_folder("lib/deep") + tar_file("lib/deep/libstdc++.so.6", "") +
         tar_file("manifest", "opsagent 1.4.0\n");
}

std::string said(const std::string& gz, ArchiveLimits limits = {}) {
  const tests::ScratchFolder scratch;
  scratch.write("a.tar.gz", gz);
  scratch.write("outside", "untouched");
  auto done = unpack(scratch / "a.tar.gz", scratch / "out", limits);
  CHECK(scratch.count("") == (scratch.exists("out") ? 3 : 2));
  CHECK(scratch.read("outside") == "untouched");
  // The other reader is as strict.
  CHECK(static_cast<bool>(read_archived(scratch / "a.tar.gz", "manifest", 10'000'000, limits)) ==
        static_cast<bool>(done));
  return done ? "" : done.error().message();
}

void run(const tests::ScratchFolder& folder, std::vector<std::string> argv) {
  base::Command command;
  command.argv = std::move(argv);
  command.env = base::clean_environment();
  command.cwd = folder.path();
  auto completed = base::run(command);
  REQUIRE(completed);
  REQUIRE_MESSAGE(completed->ok(), completed->output);
}

}  // namespace

TEST_CASE("files and folders come out as they went in") {
  const tests::ScratchFolder scratch;
  scratch.write("a.tar.gz", gzipped(good_tar() + tar_end()));
  const mode_t before = ::umask(0077);
  auto done = unpack(scratch / "a.tar.gz", scratch / "out");
  ::umask(before);
  REQUIRE_MESSAGE(done, done.error().message());
  CHECK(scratch.read("out/bin/opsagent") == std::string(100'000, 'x'));
  CHECK(scratch.mode("out/bin/opsagent") == 0755);
  CHECK(scratch.mode("out/lib/deep/libstdc++.so.6") == 0644);
  CHECK(scratch.mode("out/lib/deep") == 0755);
  CHECK(scratch.mode("out") == 0755);
  CHECK(*read_archived(scratch / "a.tar.gz", "manifest", 100) == "opsagent 1.4.0\n");
  CHECK_FALSE(read_archived(scratch / "a.tar.gz", "manifest", 5));
  CHECK_FALSE(read_archived(scratch / "a.tar.gz", "lib", 5));
  // What is there is not overwritten.
  CHECK_FALSE(unpack(scratch / "a.tar.gz", scratch / "out"));
  scratch.link("link", "elsewhere");
  CHECK_FALSE(unpack(scratch / "a.tar.gz", scratch / "link"));
  CHECK_FALSE(unpack(scratch / "missing", scratch / "out2"));
}

TEST_CASE("what tar and Python's tarfile make is accepted") {
  const tests::ScratchFolder scratch;
  scratch.write("in/bin/opsagent", "program");
  scratch.write(
      "in/lib/a-name-of-many-characters-which-together-with-its-folder/"
      "needs-the-prefix-field-of-ustar-because-it-is-longer-than-one-hundred",
      "x");
  scratch.write("in/manifest", "opsagent 1.4.0\n");
  run(scratch,
      {"sh", "-c",
       "chmod 755 in/bin/opsagent; chmod 644 in/manifest; find in -type d -exec chmod 755 {} +; "
       "chmod 644 in/lib/*/*; cd in && find . -mindepth 1 -printf '%P\\n' | LC_ALL=C sort > ../list && "
       "tar --format=ustar --owner=0 --group=0 --numeric-owner --mtime=@0 --no-recursion -cf - -T "
       "../list | gzip -n -9 > ../tar.tar.gz"});
  auto by_tar = unpack(scratch / "tar.tar.gz", scratch / "by_tar");
  REQUIRE_MESSAGE(by_tar, by_tar.error().message());
  scratch.write("pack.py",
                "import os, tarfile\n"
                "def of_root(entry):\n"
                "    entry.uid = entry.gid = 0\n"
                "    return entry\n"
                "os.chdir('in')\n"
                "with tarfile.open('../py.tar.gz', 'w:gz', format=tarfile.USTAR_FORMAT) as tar:\n"
                "    for name in sorted(os.listdir('.')):\n"
                "        tar.add(name, filter=of_root)\n");
  run(scratch, {"python3", "pack.py"});
  auto by_python = unpack(scratch / "py.tar.gz", scratch / "by_python");
  REQUIRE_MESSAGE(by_python, by_python.error().message());
  run(scratch, {"diff", "-r", "in", "by_tar"});
  run(scratch, {"diff", "-r", "in", "by_python"});
}

TEST_CASE("what tar and Python can make, and a release never has, is refused") {
  const tests::ScratchFolder scratch;
  const std::pair<const char*, const char*> kinds[] = {
      {"tar --owner=0 --group=0 --format=ustar -cf x.tar l", "symbolic link"},
      {"tar --owner=0 --group=0 --format=ustar -cf x.tar a h", "hard link"},
      {"tar --owner=0 --group=0 --format=ustar -cf x.tar p", "fifo"},
      {"tar --owner=0 --group=0 --format=ustar -P -cf x.tar $PWD/a", "absolute"},
      {"tar --owner=0 --group=0 --format=ustar -P -cf x.tar ../$(basename $PWD)/a", "leads elsewhere"},
      {"tar --owner=0 --group=0 --format=ustar -cf x.tar ./a", "leads elsewhere"},
      {"tar --owner=0 --group=0 --format=ustar -cf x.tar d/f", "before its folder"},
      {"tar --owner=0 --group=0 --format=ustar -cf x.tar a && tar --owner=0 --group=0 --format=ustar -rf "
       "x.tar a",
       "twice"},
      {"tar --owner=0 --group=0 --format=ustar -cf x.tar s", "mode"},
      {"tar --owner=0 --group=0 --format=gnu -cf x.tar a", "not POSIX ustar"},
      {"tar --owner=0 --group=0 --format=v7 -cf x.tar a", "not POSIX ustar"},
      {"tar --owner=0 --group=0 --format=gnu -cf x.tar $(printf %0150d 0)", "GNU extension"},
      {"tar --owner=0 --group=0 --format=pax -cf x.tar $(printf %0150d 0)", "pax extension"},
      {"tar --owner=0 --group=0 --format=gnu -S -cf x.tar sparse", "GNU extension"},
      {"mknod dev c 1 3 2>/dev/null || exit 0; tar --owner=0 --group=0 --format=ustar -cf x.tar dev",
       "device"},
      {"python3 -c \"import tarfile; t=tarfile.open('x.tar','w',format=tarfile.PAX_FORMAT); "
       "i=tarfile.TarInfo('caf\\u00e9'); t.addfile(i); t.close()\"",
       "pax extension"},
  };
  for (const auto& [command, word] : kinds) {
    const tests::ScratchFolder folder;
    run(folder,
        {"sh", "-c",
         "echo x > a; chmod 644 a; ln -s a l; ln a h; mkfifo p; mkdir d; echo y > d/f; chmod 644 d/f; "
         "echo z > s; chmod 4755 s; echo > $(printf %0150d 0); truncate -s 1M sparse; chmod 644 0* sparse; " +
             std::string(command) + "; test -f x.tar && gzip -n x.tar || true"});
    if (!folder.exists("x.tar.gz")) continue;  // devices need root
    auto refused = unpack(folder / "x.tar.gz", folder / "out");
    REQUIRE_MESSAGE(!refused, command);
    CHECK_MESSAGE(refused.error().message().find(word) != std::string::npos,
                  command << ": " << refused.error().message());
  }
}

TEST_CASE("headers that lie are refused") {
  const std::string ok = tar_folder("d") + tar_file("d/f", "content");
  CHECK(said(gzipped(tar_file("manifest", "x") + ok + tar_end())) == "");
  const std::pair<std::string, const char*> kinds[] = {
      {tar_entry({.name = "f", .right_checksum = false}), "checksum"},
      {tar_entry({.name = ""}), "name"},
      {tar_entry({.name = "a/"}), "name"},
      {tar_entry({.name = "a//b"}), "name"},
      {ok + tar_entry({.name = "d/../f"}), "name"},
      {tar_entry({.name = ".."}), "name"},
      {tar_entry({.name = "/", .type = '5', .mode = "0000755"}), "name"},
      {tar_entry({.name = "etc", .prefix = "/"}), "name"},
      {tar_entry({.name = "a\nb"}), "name"},
      {tar_entry({.name = std::string("a\0b", 3)}), "behind its end"},
      {ok + tar_file("d", "a file where the folder is"), "twice"},
      {ok + tar_folder("d"), "twice"},
      {ok + tar_file("d/f/below", "a folder that is a file"), "before its folder"},
      {tar_entry({.name = "f", .mode = "0000777"}), "mode"},
      {tar_entry({.name = "f", .mode = "0100644"}), "mode"},
      {tar_entry({.name = "d", .type = '5', .mode = "0000644"}), "mode"},
      {tar_entry({.name = "d", .type = '5', .mode = "0000755", .size = "00000001000"}), "size"},
      {tar_entry({.name = "f", .size = "-0000000001"}), "size"},
      {tar_entry({.name = "f", .size = "\x80\0\0\0\0\0\0\0\0\0\1"}), "size"},
      {tar_entry({.name = "f", .size = "77777777777"}), "larger than"},
      {tar_entry({.name = "f", .size = "777777777777"}), "larger than"},
      {tar_entry({.name = "f", .size = "00000010000"}, "short") + std::string(512, 'x'), ""},
      {tar_entry({.name = "f", .link = "g"}), "link"},
      {tar_entry({.name = "f", .type = '7'}), "neither"},
      {tar_entry({.name = "f", .type = 'D'}), "neither"},
      {tar_entry({.name = "f", .magic = std::string("ustar  \0", 8)}), "POSIX ustar"},
  };
  for (const auto& [bytes, word] : kinds) {
    const std::string message = said(gzipped(bytes + tar_end()));
    CHECK_MESSAGE(!message.empty(), word);
    CHECK_MESSAGE(message.find(word) != std::string::npos, word << ": " << message);
  }
  std::string padded = tar_file("f", "content");
  padded[512 + 100] = 'x';
  CHECK(said(gzipped(padded + tar_end())).find("behind its end") != std::string::npos);
}

TEST_CASE("an archive ends where it says, and nothing follows") {
  const std::string tar = good_tar();
  CHECK(said(gzipped(tar + tar_end())) == "");
  CHECK(said(gzipped(tar + std::string(10'240, '\0'))) == "");
  CHECK(said(gzipped(tar)) == "the archive is not accepted: it ends too early");
  CHECK(said(gzipped(tar + std::string(512, '\0'))) == "the archive is not accepted: it ends too early");
  CHECK(said(gzipped(tar + std::string(512, '\0') + tar_file("more", ""))).find("follows") !=
        std::string::npos);
  CHECK(said(gzipped(tar + tar_end() + "x")).find("follows its end") != std::string::npos);
  CHECK(said(gzipped(tar + tar_end() + tar_file("more", ""))).find("follows its end") != std::string::npos);
  CHECK(said(gzipped(tar + std::string(1'000'000, '\0'))).find("follows its end") != std::string::npos);
  CHECK(said(gzipped(tar + tar_end()) + "x").find("follows its end") != std::string::npos);
  CHECK(said(gzipped(tar + tar_end()) + gzipped("more")).find("follows its end") != std::string::npos);
  CHECK(said(gzipped(tar) + gzipped(tar_end())).find("follows its end") != std::string::npos);
  CHECK(said("") != "");
  CHECK(said(gzipped("")) != "");
  CHECK(said(tar + tar_end()).find("damaged") != std::string::npos);
}

TEST_CASE("limits hold for what is unpacked, not for what is packed") {
  const std::string zeros = tar_file("manifest", std::string(4'000'000, '\0')) + tar_end();
  const std::string gz = gzipped(zeros);
  CHECK(gz.size() < 10'000);
  CHECK(said(gz, {.bytes = 3'999'999}).find("larger than") != std::string::npos);
  std::string many = tar_file("manifest", "");
  for (int i = 0; i < 20; ++i)
    many += tar_file(std::to_string(i), "");
  CHECK(said(gzipped(many + tar_end()), {.entries = 20}).find("more than 20 entries") != std::string::npos);
  CHECK(said(gzipped(many + tar_end()), {.entries = 21}) == "");
}

TEST_CASE("an archive with a byte that changed, or a part that is missing, is refused") {
  std::mt19937 random(20261116);
  std::string noise(3000, '\0');
  for (char& c : noise)
    c = static_cast<char>(random());
  const std::string good = gzipped(tar_file("manifest", noise) + tar_end());
  CHECK(said(good) == "");
  const tests::ScratchFolder scratch;
  int accepted = 0;
  for (std::size_t i = 0; i < good.size(); ++i) {
    if (i >= 3 && i < 10) continue;  // gzip's flags, time, system: what is unpacked does not depend on them
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ (1 << (i % 8)));
    scratch.write("a", bad);
    accepted += static_cast<bool>(read_archived(scratch / "a", "manifest", 10'000));
    if (i % 16 != 0) continue;
    scratch.write("a", good.substr(0, i));
    accepted += static_cast<bool>(read_archived(scratch / "a", "manifest", 10'000));
  }
  CHECK(accepted == 0);
}

TEST_CASE("what belongs to somebody else than root is refused") {
  const auto owned = [](const std::string& uid, const std::string& gid) {
    return said(gzipped(tar_entry({.name = "manifest", .uid = uid, .gid = gid}, "x") + tar_end()));
  };
  CHECK(owned("0000000", "0000000") == "");
  CHECK(owned("0001750", "0000000").find("an owner that is not root") != std::string::npos);
  CHECK(owned("0000000", "0001750").find("an owner that is not root") != std::string::npos);
}

// common.archive, from a real server on loopback, with archives that tar and python make.
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include <doctest/doctest.h>

#include "states/common_archive/extraction.hpp"
#include "states/downloads/checksum.hpp"
#include "states/state.hpp"
#include "tests/support/apt_machine.hpp"
#include "tests/support/other_user.hpp"
#include "tests/support/web_files.hpp"

namespace states::common_archive {
extern const StateType& kState;
}

namespace {

using states::Verdict;
using states::common_archive::kState;
using tests::shell;
using tests::StateHarness;

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

struct Bench : StateHarness {
  Bench() {
    host().downloads.allow_unverified_http = {"127.0.0.1"};
    std::filesystem::create_directory(work());
    shell("cd " + work() +
          " && mkdir -p app/bin app/empty && printf one >app/one && printf '#!/bin/sh\\n' >app/bin/run"
          " && chmod 755 app/bin/run && ln -s bin/run app/link && ln app/one app/second");
  }
  std::string work() const { return root() + "/work"; }

  // An archive that a command makes: its standard output.
  void offer(const std::string& name, const std::string& command) {
    const std::string file = work() + "/offered";
    shell("cd " + work() + " && { " + command + "; } >" + file);
    archive = content_of(file);
    server.put("/" + name, archive);
    source = server.url("/" + name);
  }
  // One that python's tarfile makes, with members of all kinds: "m(name, content, type, link, mode)".
  void offer_members(const std::string& script) {
    std::ofstream(work() + "/make.py") << R"(
import io, sys, tarfile
out = tarfile.open(fileobj=sys.stdout.buffer, mode="w|", format=tarfile.PAX_FORMAT)
def m(name, content=b"x", type=tarfile.REGTYPE, link="", mode=0o644):
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.mode = type, link, mode
    info.size = len(content) if type == tarfile.REGTYPE else 0
    out.addfile(info, io.BytesIO(content))
SYM, HARD, DIR = tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE
)" << script << "\nout.close()\n";
    offer("app.tar", "python3 make.py");
  }
  std::string params(const std::string& more = "") const {
    return R"({"source": ")" + source + R"(", "path": "/srv/app")" + more + "}";
  }
  Outcome have(const std::string& more = "") {
    next_round();
    return converge(kState, params(more));
  }
  std::string checksum(base::DigestKind kind = base::DigestKind::sha256) const {
    return R"(, "checksum": ")" + states::downloads::checksum_of(kind, archive).text() + "\"";
  }

  tests::WebFiles server;
  std::string archive;
  std::string source;
};

}  // namespace

TEST_CASE("common.archive extracts every kind of archive that it names") {
  const std::pair<const char*, const char*> kinds[] = {
      {"a.tar", "tar c app"},
      {"a.TGZ", "tar cz app"},
      {"a.tar.gz", "tar cz app"},
      {"a.gz", "tar cz app"},
      {"a.tbz", "tar cj app"},
      {"a.tar.bz", "tar cj app"},
      {"a.tar.bz2", "tar cj app"},
      {"a.bz", "tar cj app"},
      {"a.bz2", "tar cj app"},
      {"a.txz", "tar cJ app"},
      {"a.tar.xz", "tar cJ app"},
      {"a.zip",
       "python3 -c 'import shutil; shutil.make_archive(\"z\", \"zip\", \".\", \"app\")' && cat z.zip"}};
  for (const auto& [name, command] : kinds) {
    CAPTURE(name);
    Bench bench;
    bench.offer(name, command);
    const auto outcome = bench.have(bench.checksum());
    CHECK_MESSAGE(outcome.ok, outcome.message);
    CHECK(bench.StateHarness::read("/srv/app/app/one") == "one");
    CHECK(bench.exists("/srv/app/app/empty"));
    CHECK(bench.mode("/srv/app/app/bin/run") == 0755);
    CHECK(outcome.message.starts_with(std::string(name) + " extracted to /srv/app ("));
  }
}

TEST_CASE("common.archive applied twice changes nothing, and says so") {
  Bench bench;
  bench.offer("app-1.0.tar.gz", "tar cz app");
  CHECK(bench.have(bench.checksum()).changed);
  const std::string before = bench.snapshot();
  const auto again = bench.have(bench.checksum());
  CHECK(again.first == Verdict::kept);
  CHECK(again.message == "app-1.0.tar.gz is already extracted");
  CHECK(bench.snapshot() == before);
  CHECK(bench.server.requests() == 1);
}

TEST_CASE("common.archive plans without fetching or writing anything") {
  Bench bench;
  bench.offer("app.tar", "tar c app");
  const std::string before = bench.snapshot();
  const auto plan = bench.plan(kState, bench.params());
  CHECK(plan.verdict == Verdict::change);
  CHECK(plan.message == "Extract app.tar to /srv/app");
  CHECK(bench.snapshot() == before);
  CHECK(bench.server.requests() == 0);
}

TEST_CASE("common.archive extracts as if-path-absent and the checksum say") {
  Bench bench;
  bench.offer("app.tar", "tar c app");
  // Neither: in every round.
  CHECK(bench.have().changed);
  CHECK(bench.have().changed);
  // A guard only.
  const std::string guard = R"(, "if-path-absent": ["/none", "/srv/app/app/one"])";
  CHECK(bench.have(guard).first == Verdict::kept);
  CHECK(bench.have(R"(, "if-path-absent": "/none")").changed);
  // Both, and nothing is known of what is there: it is taken for right.
  CHECK(bench.have(guard + bench.checksum()).first == Verdict::kept);
  // A checksum only.
  CHECK(bench.have(bench.checksum()).changed);
  CHECK(bench.have(bench.checksum()).first == Verdict::kept);
  std::ofstream(bench.work() + "/app/one") << "two";
  bench.offer("app.tar", "tar c app");
  CHECK(bench.have(guard + bench.checksum()).changed);
  CHECK(bench.StateHarness::read("/srv/app/app/one") == "two");
  CHECK(bench.have(guard + bench.checksum()).first == Verdict::kept);
  std::filesystem::remove_all(bench.root() + "/srv/app");
  CHECK(bench.have(bench.checksum()).changed);
}

TEST_CASE("common.archive takes the checksum from a file of checksums, in every form") {
  Bench bench;
  bench.offer("app.tar", "tar c app");
  const auto sum = states::downloads::checksum_of(base::DigestKind::sha512, bench.archive);
  bench.server.put("/SUMS", std::string(128, 'a') + "  other.tar\n" + sum.hex + "  app.tar\n");
  const std::string more = R"(, "checksum": ")" + bench.server.url("/SUMS") + "\"";
  CHECK(bench.have(more).changed);
  CHECK(bench.have(more).first == Verdict::kept);
  CHECK(bench.have(bench.checksum(base::DigestKind::md5)).changed);
  bench.server.put("/SUMS", "<html>sorry</html>");
  CHECK(bench.have(more).message.find("it holds no checksum of app.tar") != std::string::npos);
  CHECK(bench.have(R"(, "checksum": ")" + bench.server.url("/none") + "\"").message ==
        "Cannot download " + bench.server.url("/none") + ": HTTP 404");
}

TEST_CASE("common.archive extracts nothing that has another checksum, is damaged or is empty") {
  Bench bench;
  bench.offer("app.tar.gz", "tar cz app");
  CHECK(bench.have(R"(, "checksum": "sha1:)" + std::string(40, '0') + "\"")
            .message.starts_with("Checksum mismatch for " + bench.source + ": wanted sha1:"));
  bench.server.put("/app.tar.gz", bench.archive.substr(0, bench.archive.size() / 2));
  CHECK(bench.have().message.starts_with("Archive: damaged: "));
  bench.server.put("/app.tar.gz", "<html>this is no archive, whatever its name says</html>");
  CHECK_FALSE(bench.have().ok);
  bench.offer("none.tar", "tar c -T /dev/null");
  CHECK(bench.have().message == "Archive is empty");
  bench.source = bench.server.url("/missing.tar");
  CHECK(bench.have().message == "Cannot download " + bench.source + ": HTTP 404");
  CHECK_FALSE(bench.exists("/srv"));
}

TEST_CASE("common.archive takes nothing from http that no checksum names, nor a checksum from there") {
  Bench bench;
  bench.host().downloads.allow_unverified_http.clear();
  bench.offer("app.tar", "tar c app");
  const auto refused = [&](const std::string& more) {
    const auto outcome = bench.have(more);
    return !outcome.ok && outcome.message.find("anybody on the way") != std::string::npos;
  };
  CHECK(refused(""));
  const std::string sum = states::downloads::checksum_of(base::DigestKind::sha256, bench.archive).text();
  bench.server.put("/SUMS", sum.substr(sum.find(':') + 1) + "  app.tar\n");
  CHECK(refused(R"(, "checksum": ")" + bench.server.url("/SUMS") + "\""));
  CHECK(bench.server.requests() == 0);
  CHECK(bench.have(R"(, "checksum": ")" + sum + "\"").ok);
}

TEST_CASE("common.archive refuses archives that reach out of the folder, and writes nothing of them") {
  const std::pair<const char*, const char*> hostile[] = {
      {"m('ok'); m('../out')", "Archive contains an unsafe path: ../out"},
      {"m('ok'); m('a/../../out')", "Archive contains an unsafe path: a/../../out"},
      {"m('ok'); m('/out')", "Archive contains an unsafe path: /out"},
      {"m('ok'); m('l', type=SYM, link='/etc')", "Archive contains an unsafe path: l -> /etc"},
      {"m('ok'); m('l', type=SYM, link='../out')", "Archive contains an unsafe path: l -> ../out"},
      {"m('ok'); m('a/l', type=SYM, link='x/../../..')",
       "Archive contains an unsafe path: a/l -> x/../../.."},
      {"m('l', type=SYM, link='.'); m('l/out')", "Archive contains an unsafe path: l/out"},
      {"m('ok'); m('h', type=HARD, link='../../etc/shadow')",
       "Archive contains an unsafe path: h -> ../../etc/shadow"},
      {"m('l', type=SYM, link='x'); m('h', type=HARD, link='l')", "Archive contains an unsafe path: h -> l"},
      {"m('ok'); m('a\\nb')", "Archive contains an unsafe path: a?b"},
      {"m('ok'); m('a\\x1b[2Jb')", "Archive contains an unsafe path: a?[2Jb"},
      {"m('ok'); m('d', type=tarfile.CHRTYPE)", "Archive contains a device, FIFO or socket: d"},
      {"m('ok'); m('b', type=tarfile.BLKTYPE)", "Archive contains a device, FIFO or socket: b"},
      {"m('ok'); m('f', type=tarfile.FIFOTYPE)", "Archive contains a device, FIFO or socket: f"},
      {"m('ok'); m('su', mode=0o4755)", "Archive contains a file with set-user-id or set-group-id bits: su"},
      {"m('ok'); m('sg', mode=0o2755)", "Archive contains a file with set-user-id or set-group-id bits: sg"}};
  for (const auto& [script, why] : hostile) {
    CAPTURE(script);
    Bench bench;
    bench.offer_members(script);
    const auto outcome = bench.have();
    CHECK_FALSE(outcome.ok);
    CHECK(outcome.message == why);
    CHECK_FALSE(bench.exists("/srv"));
    CHECK_FALSE(bench.exists("/out"));
  }
}

TEST_CASE("common.archive refuses names that are no text") {
  Bench bench;
  bench.offer("a.tar", "mkdir odd && printf x >\"odd/$(printf 'a\\377b')\" && tar c odd");
  CHECK(bench.have().message == "Archive contains an unsafe path: odd/a?b");
}

TEST_CASE("common.archive refuses bombs before they go off") {
  Bench bench;
  // 400 MB of zeros in an archive of 400 KB.
  bench.offer("bomb.tar.gz", "truncate -s 400M zeros && tar cz zeros");
  const auto outcome = bench.have();
  CHECK_FALSE(outcome.ok);
  CHECK_MESSAGE(outcome.message.find("which is more than its size lets expect") != std::string::npos,
                outcome.message);
  CHECK_FALSE(bench.exists("/srv"));
  using namespace states::common_archive;
  MemberCheck few(1000, {.members = 2});
  CHECK(few.admit({.path = "a"}));
  CHECK(few.admit({.path = "b"}));
  CHECK(few.admit({.path = "c"}).error().message() == "Archive has more than 2 members");
}

TEST_CASE("common.archive extracts again what did not come to its end") {
  Bench bench;
  bench.offer("app.tar", "tar c app");
  const std::string first = bench.archive, sum = bench.checksum();
  REQUIRE(bench.have(sum).ok);
  // Another version: a folder is in the way of its last file, so half of it is there.
  bench.offer("app.tar",
              "printf two >app/one && mkdir -p last && printf x >last/file && tar c app last/file");
  std::filesystem::create_directories(bench.root() + "/srv/app/last/file");
  CHECK_FALSE(bench.have(bench.checksum()).ok);
  REQUIRE(bench.StateHarness::read("/srv/app/app/one") == "two");
  // Back to the first: its sum is the last one that was extracted whole, but it is not what is there.
  bench.server.put("/app.tar", first);
  const auto back = bench.have(sum);
  CHECK_MESSAGE(back.changed, back.message);
  CHECK(bench.StateHarness::read("/srv/app/app/one") == "one");
  CHECK(bench.have(sum).first == Verdict::kept);
  // Nor does a guard that came with the first half hold.
  bench.server.put("/app.tar", bench.archive);
  const std::string guard = R"(, "if-path-absent": ["/srv/app/app/bin/run"])";
  CHECK(bench.have(guard).first == Verdict::kept);
  std::filesystem::remove(bench.root() + "/srv/app/app/bin/run");
  CHECK_FALSE(bench.have(guard).ok);
  REQUIRE(bench.exists("/srv/app/app/bin/run"));
  std::filesystem::remove(bench.root() + "/srv/app/last/file");
  CHECK(bench.have(guard).changed);
  CHECK(bench.StateHarness::read("/srv/app/last/file") == "x");
  CHECK(bench.have(guard).first == Verdict::kept);
}

TEST_CASE("common.archive counts second names of a file, each of which becomes a file") {
  Bench bench;
  // 100 MB of zeros by five names.
  bench.offer("names.tar.gz",
              "truncate -s 100M zeros && ln zeros b && ln zeros c && ln zeros d && ln zeros e && "
              "tar cz zeros b c d e");
  const auto outcome = bench.have();
  CHECK_FALSE(outcome.ok);
  CHECK_MESSAGE(outcome.message.find("which is more than its size lets expect") != std::string::npos,
                outcome.message);
  CHECK_FALSE(bench.exists("/srv"));
  // Nor is there a way to make a copy of what was there before.
  bench.StateHarness::write("/srv/app/mine", "x");
  bench.offer_members("m('ok'); m('h', type=HARD, link='mine')");
  CHECK(bench.have().message == "Archive contains a second name of a file that it does not have: h -> mine");
  CHECK_FALSE(bench.exists("/srv/app/ok"));
}

TEST_CASE("common.archive keeps links that stay inside, and makes files of second names") {
  Bench bench;
  bench.offer_members(
      "m('lib/v1/a'); m('lib/current', type=SYM, link='v1'); m('bin/a', type=SYM, link='../lib/v1/a');"
      "m('second', type=HARD, link='lib/v1/a'); m('dir', type=DIR, mode=0o2750); m('dir/x')");
  const auto outcome = bench.have();
  CHECK_MESSAGE(outcome.ok, outcome.message);
  CHECK(std::filesystem::read_symlink(bench.root() + "/srv/app/bin/a") == "../lib/v1/a");
  CHECK(bench.StateHarness::read("/srv/app/lib/current/a") == "x");
  CHECK(bench.StateHarness::read("/srv/app/second") == "x");
  CHECK(std::filesystem::hard_link_count(bench.root() + "/srv/app/second") == 1);
  CHECK(bench.mode("/srv/app/dir") == 0750);
}

TEST_CASE("common.archive replaces what differs, leaves what is right, and what is not its own, alone") {
  Bench bench;
  bench.offer("app.tar", "tar c app");
  CHECK(bench.have().changed);
  bench.write("/srv/app/mine", "mine");
  bench.write("/srv/app/app/one", "other");
  struct stat before {};
  const std::string kept = bench.root() + "/srv/app/app/bin/run";
  CHECK(::stat(kept.c_str(), &before) == 0);
  CHECK(bench.have().changed);
  struct stat after {};
  CHECK(::stat(kept.c_str(), &after) == 0);
  CHECK(before.st_ino == after.st_ino);
  CHECK(bench.StateHarness::read("/srv/app/app/one") == "one");
  CHECK(bench.StateHarness::read("/srv/app/mine") == "mine");
}

TEST_CASE("common.archive writes nothing through links that lie below the folder") {
  Bench bench;
  bench.offer("app.tar", "tar c app");
  std::filesystem::create_directories(bench.root() + "/srv/app");
  std::filesystem::create_directories(bench.root() + "/elsewhere");
  std::filesystem::create_symlink("../../elsewhere", bench.root() + "/srv/app/app");
  CHECK(bench.have().message == "/srv/app/app is a symlink: nothing is extracted through links");
  CHECK(std::filesystem::is_empty(bench.root() + "/elsewhere"));
  std::filesystem::remove(bench.root() + "/srv/app/app");
  bench.write("/srv/app/app", "a file");
  CHECK(bench.have().message == "/srv/app/app exists and is not a directory");
  std::filesystem::remove_all(bench.root() + "/srv/app");
  bench.write("/srv/app", "a file");
  CHECK(bench.have().message == "/srv/app exists and is not a directory");
  std::filesystem::remove_all(bench.root() + "/srv/app");
  std::filesystem::create_directories(bench.root() + "/srv/app/app/one");
  CHECK(bench.have().message == "/srv/app/app/one exists and is a directory");
}

TEST_CASE("common.archive gives what it extracts to root, whoever made the archive") {
  if (::geteuid() != 0) return;
  Bench bench;
  bench.offer("app.tar", "tar c --owner=12345 --group=54321 app");
  CHECK(bench.have().changed);
  struct stat st {};
  CHECK(::stat((bench.root() + "/srv/app/app/one").c_str(), &st) == 0);
  CHECK(st.st_uid == 0);
  CHECK(st.st_gid == 0);
}

TEST_CASE("common.archive extracts files that are larger than memory should hold") {
  Bench bench;
  bench.offer("large.tar", "head -c 20000000 /dev/urandom >large && ln large other && tar c large other");
  CHECK(bench.have(bench.checksum()).changed);
  CHECK(content_of(bench.root() + "/srv/app/large") == content_of(bench.work() + "/large"));
  CHECK(content_of(bench.root() + "/srv/app/other") == content_of(bench.work() + "/large"));
  CHECK(std::filesystem::is_empty(bench.root() + "/state/downloads"));
}

TEST_CASE("common.archive ends when it is stopped or its time is over") {
  Bench bench;
  bench.offer("large.tar", "head -c 20000000 /dev/urandom >large && tar c large");
  const auto plan = bench.plan(kState, bench.params());
  tests::Flag stop;
  bench.interrupt = &stop;
  stop.raised = true;
  CHECK(bench.apply(kState, bench.params(), plan).end == states::AppliedEnd::cancelled);
  stop.raised = false;
  bench.timeout = std::chrono::seconds(0);
  CHECK(bench.apply(kState, bench.params(), plan).end == states::AppliedEnd::timed_out);
  CHECK_FALSE(bench.exists("/srv/app/large"));
}

TEST_CASE("common.archive refuses what it cannot use when the recipe is checked") {
  StateHarness machine;
  const auto problems = [&](const std::string& source, const std::string& more = "") {
    return machine.problems(kState, R"({"source": ")" + source + R"(", "path": "/srv/app")" + more + "}");
  };
  CHECK(problems("https://h/a.rar") == "Unsupported archive type: a.rar");
  CHECK(problems("https://h/a.tar?x=.zip") == "");
  CHECK(problems("https://h/a.exe?x=.zip") == "Unsupported archive type: a.exe");
  CHECK(problems("https://h/") == "Unsupported archive type: the address names no file");
  CHECK(problems("https://h/.tar") == "Unsupported archive type: .tar");
  CHECK(problems("ftp://h/a.tar").find("ftp is not supported") != std::string::npos);
  for (const char* wrong : {"/tmp/a.tar", "file:///a.tar", "--checkpoint-action=exec=sh.tar", "$(id).tar"})
    CHECK_MESSAGE(problems(wrong).starts_with("Cannot download "), wrong);
  CHECK(problems("https://h/a.tar", R"(, "checksum": "crc32:12345678")").find("is not a checksum") !=
        std::string::npos);
  CHECK(problems("https://h/a.tar", R"(, "checksum": "ftp://h/sums")").find("ftp") != std::string::npos);
  CHECK(problems("https://h/a.tar", R"(, "if-path-absent": ["relative"])") != "");
  CHECK(machine.problems(kState, R"({"source": "https://h/a.tar", "path": "../x"})") != "");
  CHECK(machine.problems(kState, "{}").find("Missing parameter 'source'") != std::string::npos);
}

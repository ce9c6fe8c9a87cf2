// common.hg with the real hg: repositories on disk and behind hg serve.
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include <doctest/doctest.h>

#include "states/state.hpp"
#include "tests/support/apt_machine.hpp"
#include "tests/support/loopback_server.hpp"
#include "tests/support/web_files.hpp"

namespace states::common_hg {
extern const StateType& kState;
}

namespace {

using states::Verdict;
using states::common_hg::kState;
using tests::shell;
using tests::StateHarness;

// A repository with one file; the state works on the running system, in a scratch folder.
struct Bench : StateHarness {
  Bench() : StateHarness(RunningSystem{}) {
    shell("hg init " + root() + "/repo");
    commit("one");
  }
  // Answers the changeset.
  std::string commit(const std::string& content) {
    return shell("cd " + root() + "/repo && printf '" + content +
                 "' >f && hg addremove -q && hg commit -q -u t -m '" + content +
                 "' && hg log -r . -T '{node}'");
  }
  void author(const std::string& command) { shell("cd " + root() + "/repo && " + command); }
  std::string tree() const { return root() + "/tree"; }
  std::string params(const std::string& more = "") const {
    return R"({"path": ")" + tree() + R"(", "repo": ")" + repo + "\"" + more + "}";
  }
  Outcome have(const std::string& more = "") { return converge(kState, params(more)); }
  std::string file() const { return StateHarness::read("/tree/f"); }

  std::string repo = root() + "/repo";
};

}  // namespace

TEST_CASE("common.hg clones, keeps, and follows the repository") {
  Bench bench;
  auto outcome = bench.have();
  CHECK_MESSAGE(outcome.ok, outcome.message);
  CHECK(outcome.message.starts_with("Cloned " + bench.repo + " to " + bench.tree() + " at "));
  CHECK(bench.file() == "one");
  const std::string before = bench.snapshot();
  CHECK(bench.have().first == Verdict::kept);
  CHECK(bench.snapshot() == before);
  const std::string id = bench.commit("two");
  outcome = bench.have();
  CHECK(outcome.message.find(" -> " + id.substr(0, 7)) != std::string::npos);
  CHECK(bench.file() == "two");
}

TEST_CASE("common.hg plans without writing to the clone") {
  Bench bench;
  const std::string before = bench.snapshot();
  const auto plan = bench.plan(kState, bench.params());
  CHECK(plan.verdict == Verdict::change);
  CHECK(plan.message == "Clone " + bench.repo + " to " + bench.tree());
  CHECK(bench.snapshot() == before);
}

TEST_CASE("common.hg goes to branches, tags and changesets") {
  Bench bench;
  bench.author("hg tag -u t v1");
  bench.author("hg branch -q stable");
  bench.commit("stable");
  bench.author("hg update -q default");
  const std::string id = bench.commit("two");
  for (const auto& [revision, content] : {std::pair<std::string, const char*>{"stable", "stable"},
                                          {"v1", "one"},
                                          {"default", "two"},
                                          {"stable", "stable"},
                                          {id, "two"},
                                          {"v1", "one"},
                                          {id.substr(0, 12), "two"}}) {
    CAPTURE(revision);
    const std::string more = R"(, "branch": ")" + revision + "\"";
    const auto outcome = bench.have(more);
    CHECK_MESSAGE(outcome.ok, outcome.message);
    CHECK(bench.file() == content);
    CHECK(bench.have(more).first == Verdict::kept);
  }
  CHECK(bench.have(R"(, "revision": "none")").message == "Revision 'none' not found in " + bench.repo);
  // A whole changeset that is there asks nobody.
  CHECK(bench.have(R"(, "revision": ")" + id + "\"").first == Verdict::kept);
  std::filesystem::rename(bench.repo, bench.repo + ".gone");
  CHECK(bench.have(R"(, "revision": ")" + id + "\"").first == Verdict::kept);
  CHECK_FALSE(bench.have().ok);
}

TEST_CASE("common.hg leaves local changes alone, and discards them with force") {
  Bench bench;
  CHECK(bench.have().changed);
  std::ofstream(bench.tree() + "/f") << "mine";
  bench.commit("two");
  CHECK(bench.have().message == "Local changes block the update: f");
  CHECK(bench.file() == "mine");
  CHECK(bench.have(R"(, "force": true)").ok);
  CHECK(bench.file() == "two");
}

TEST_CASE("common.hg empties a folder with other files only with force, and says so") {
  Bench bench;
  bench.StateHarness::write("/tree/mine/x", "x");
  CHECK(bench.have().message == bench.tree() + " exists, is not empty and not a Mercurial repository");
  CHECK(bench.exists("/tree/mine/x"));
  const auto plan = bench.plan(kState, bench.params(R"(, "force": true)"));
  REQUIRE(plan.changes.size() == 2);
  CHECK(plan.changes[0].what == "files below " + bench.tree());
  CHECK(plan.changes[0].before == "2 entries");
  const auto outcome = bench.have(R"(, "force": true)");
  CHECK_MESSAGE(outcome.ok, outcome.message);
  CHECK_FALSE(bench.exists("/tree/mine"));
  CHECK(bench.file() == "one");
  std::filesystem::remove_all(bench.tree());
  bench.StateHarness::write("/tree", "x");
  CHECK(bench.have(R"(, "force": true)").message == bench.tree() + " exists and is not a directory");
}

TEST_CASE("common.hg goes on after a pull that was killed") {
  Bench bench;
  CHECK(bench.have().changed);
  bench.commit("two");
  // What an unfinished transaction leaves.
  std::ofstream(bench.tree() + "/.hg/store/journal") << "";
  const auto outcome = bench.have();
  CHECK_MESSAGE(outcome.ok, outcome.message << outcome.output);
  CHECK(bench.file() == "two");
}

TEST_CASE("common.hg takes away locks that a power cut has left, whoever has their number now") {
  Bench bench;
  CHECK(bench.have().changed);
  bench.commit("two");
  // hg itself sees whose lock it is by a number, which another process may have after a boot: here the first.
  const std::string host =
      shell("hg debuglocks -R " + bench.tree() +
            " >/dev/null; python3 -c \"from mercurial "
            "import lock; print(lock._getlockprefix().decode())\" 2>/dev/null || hostname");
  shell("ln -s '" + host + ":1' " + bench.tree() + "/.hg/wlock && ln -s '" + host + ":1' " + bench.tree() +
        "/.hg/store/lock");
  bench.timeout = std::chrono::seconds(30);
  const auto outcome = bench.have();
  CHECK_MESSAGE(outcome.ok, outcome.message << outcome.output);
  CHECK(bench.file() == "two");
}

TEST_CASE("common.hg goes on after an update that was killed") {
  Bench bench;
  CHECK(bench.have().changed);
  bench.commit("two");
  // What it leaves: a note, and files as they are to be, of which hg does not know yet.
  const std::string id = shell("hg -R " + bench.repo + " log -r tip -T '{node}'");
  std::ofstream(bench.tree() + "/.hg/updatestate") << id << "\n";
  bench.StateHarness::write("/tree/f", "two");
  const auto outcome = bench.have();
  CHECK_MESSAGE(outcome.ok, outcome.message << outcome.output);
  CHECK(bench.file() == "two");
  CHECK_FALSE(bench.exists("/tree/.hg/updatestate"));
  CHECK(bench.have().first == Verdict::kept);
}

TEST_CASE("common.hg fetches from hg serve") {
  Bench bench;
  const int port = tests::free_port();
  const tests::LoopbackServer server(
      {"hg", "serve", "-R", bench.repo, "-a", "127.0.0.1", "-p", std::to_string(port)}, port);
  bench.repo = "http://127.0.0.1:" + std::to_string(port) + "/";
  const auto outcome = bench.have();
  CHECK_MESSAGE(outcome.ok, outcome.message << outcome.output);
  CHECK(bench.file() == "one");
  CHECK(bench.have().first == Verdict::kept);
}

TEST_CASE("common.hg tells a password to the server and to nobody else") {
  Bench bench;
  std::string seen;  // of all processes, while the server is asked
  bool told = false;
  tests::RawServer server([&](const tests::RawPeer& peer, const std::string& head) {
    told = told || head.find("uthorization: Basic YW5uOmh1bnRlcjI=") != std::string::npos;
    seen += shell("cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' ' || true");
    peer.send(
        "HTTP/1.1 401 No\r\nWWW-Authenticate: Basic realm=\"x\"\r\nContent-Length: 0\r\nConnection: "
        "close\r\n\r\n");
  });
  const std::string clean = server.url("/repo");
  bench.repo = clean;
  bench.repo.insert(7, "ann:hunter2@");
  CHECK(bench.have().message == "Authentication failed for " + clean);
  CHECK(told);
  CHECK(seen.find("hg") != std::string::npos);
  CHECK(seen.find("hunter2") == std::string::npos);
}

TEST_CASE("common.hg runs as the user, who owns the clone then") {
  if (::geteuid() != 0) {
    MESSAGE("skipped: needs root");
    return;
  }
  Bench bench;
  const int port = tests::free_port();
  const tests::LoopbackServer server(
      {"hg", "serve", "-R", bench.repo, "-a", "127.0.0.1", "-p", std::to_string(port)}, port);
  bench.repo = "http://127.0.0.1:" + std::to_string(port) + "/";
  const auto outcome = bench.have(R"(, "user": "nobody")");
  CHECK_MESSAGE(outcome.ok, outcome.message << outcome.output);
  for (const char* part : {"", "/f", "/.hg/hgrc"}) {
    struct stat st {};
    CHECK(::stat((bench.tree() + part).c_str(), &st) == 0);
    CHECK(st.st_uid == 65534);
  }
  CHECK(bench.have(R"(, "user": "nobody-of-this-name")").message ==
        "User 'nobody-of-this-name' does not exist");
  // Root does not follow what he may have put there.
  CHECK_MESSAGE(bench.have().message.find("give 'user'") != std::string::npos, bench.have().message);
}

TEST_CASE("common.hg refuses values that hg would take for something else") {
  StateHarness machine;
  const auto problems = [&](const std::string& more) {
    return machine.problems(kState, R"({"path": "/srv/x", "repo": "https://h/r")" + more + "}");
  };
  CHECK(problems("") == "");
  for (const char* odd : {"--config=alias.id=!id", "all()", "1:2", "a|b", "tip^", "a\\nb"})
    CHECK_MESSAGE(
        problems(R"(, "revision": ")" + std::string(odd) + "\"").starts_with("Illegal value for 'revision'"),
        odd);
  for (const char* repo : {"--config=hooks.pre-clone=id", "a\\nb", "http://a:b%0a[hooks]@h/"})
    CHECK_MESSAGE(machine.problems(kState, R"({"path": "/srv/x", "repo": ")" + std::string(repo) + "\"}")
                      .starts_with("Illegal value for 'repo'"),
                  repo);
  CHECK(machine.problems(kState, R"({"path": "/etc", "repo": "https://h/r", "force": true})") ==
        "Refusing to empty /etc");
  CHECK(machine.problems(kState, R"({"path": "x", "repo": "https://h/r"})") != "");
}

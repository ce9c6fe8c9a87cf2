// common.svn with the real svn: repositories on disk and behind svnserve.
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include <doctest/doctest.h>

#include "states/state.hpp"
#include "tests/support/apt_machine.hpp"
#include "tests/support/download_bench.hpp"
#include "tests/support/loopback_server.hpp"

namespace states::common_svn {
extern const StateType& kState;
}

namespace {

using states::Verdict;
using states::common_svn::kState;
using tests::shell;
using tests::StateHarness;

// A repository on disk with one file in trunk at r2; the state works on the running system, in a scratch
// folder.
struct Bench : StateHarness {
  Bench() : StateHarness(RunningSystem{}) {
    shell("cd " + root() + " && svnadmin create repo && svn mkdir -q -m dirs " + url("") + "trunk " +
          url("") + "branch && svn checkout -q " + url("trunk") + " author");
    commit("one");
  }
  std::string url(const std::string& path) const { return "file://" + root() + "/repo/" + path; }
  void commit(const std::string& content) {
    shell("cd " + root() + "/author && printf '" + content +
          "' >f && svn add -q --force f && svn commit -q -m '" + content + "' && svn update -q");
  }
  std::string tree() const { return root() + "/tree"; }
  std::string params(const std::string& more = "") const {
    return R"({"path": ")" + tree() + R"(", "repo": ")" + repo + "\"" + more + "}";
  }
  Outcome have(const std::string& more = "") {
    next_round();
    return converge(kState, params(more));
  }
  std::string file() const { return StateHarness::read("/tree/f"); }

  std::string repo = url("trunk");
};

}  // namespace

TEST_CASE("common.svn checks out, keeps, and follows the repository") {
  Bench bench;
  auto outcome = bench.have();
  CHECK_MESSAGE(outcome.ok, outcome.message);
  CHECK(outcome.message == "Checked out " + bench.repo + " to " + bench.tree() + " at r2");
  CHECK(bench.file() == "one");
  const std::string before = bench.snapshot();
  outcome = bench.have();
  CHECK(outcome.first == Verdict::kept);
  CHECK(outcome.message == bench.tree() + " is at r2");
  CHECK(bench.snapshot() == before);
  bench.commit("two");
  CHECK(bench.have().message == bench.tree() + " updated r2 -> r3");
  CHECK(bench.file() == "two");
  // What changes elsewhere in the repository is nothing to do.
  shell("svn mkdir -q -m more " + bench.url("elsewhere"));
  CHECK(bench.have().first == Verdict::kept);
}

TEST_CASE("common.svn keeps a working copy whose address svn writes in another way") {
  Bench bench;
  shell("svn copy -q -m copy " + bench.url("trunk") + " '" + bench.url("a branch") + "'");
  bench.repo = bench.url("a branch");
  CHECK(bench.have().changed);
  CHECK(bench.file() == "one");
  const auto outcome = bench.have();
  CHECK_MESSAGE(outcome.first == Verdict::kept, outcome.message);
}

TEST_CASE("common.svn plans without writing anything") {
  Bench bench;
  std::string before = bench.snapshot();
  const auto plan = bench.plan(kState, bench.params());
  CHECK(plan.verdict == Verdict::change);
  CHECK(plan.message == "Check out " + bench.repo + " to " + bench.tree());
  CHECK(bench.snapshot() == before);
  CHECK(bench.have().changed);
  bench.commit("two");
  before = bench.snapshot();
  CHECK(bench.plan(kState, bench.params()).verdict == Verdict::change);
  CHECK(bench.snapshot() == before);
}

TEST_CASE("common.svn goes to revisions of every kind") {
  Bench bench;
  bench.commit("two");
  bench.commit("three");
  for (const auto& [revision, content] : {std::pair<std::string, const char*>{"2", "one"},
                                          {"head", "three"},
                                          {"3", "two"},
                                          {"BASE", "two"},
                                          {"COMMITED", "two"},
                                          {"PREV", "one"},
                                          {"HEAD", "three"},
                                          {"{2100-01-01}", "three"}}) {
    CAPTURE(revision);
    const auto outcome = bench.have(R"(, "revision": ")" + revision + "\"");
    CHECK_MESSAGE(outcome.ok, outcome.message);
    CHECK(bench.file() == content);
  }
  CHECK(bench.have(R"(, "revision": 2)").changed);
  bench.repo = bench.url("none");
  CHECK_FALSE(bench.have(R"(, "revision": "2")").ok);
  bench.repo = bench.url("trunk");
  CHECK(bench.have(R"(, "revision": "999")").message == "Revision '999' not found in " + bench.repo);
}

TEST_CASE("common.svn pinned to the revision that is there asks nobody") {
  Bench bench;
  CHECK(bench.have(R"(, "revision": "2")").changed);
  std::filesystem::rename(bench.root() + "/repo", bench.root() + "/gone");
  CHECK(bench.have(R"(, "revision": "2")").first == Verdict::kept);
  CHECK_FALSE(bench.have().ok);
}

TEST_CASE("common.svn switches within a repository, and refuses a working copy of another one") {
  Bench bench;
  CHECK(bench.have().changed);
  shell("svn copy -q -m feature " + bench.url("trunk") + " " + bench.url("feature"));
  bench.repo = bench.url("feature");
  const auto outcome = bench.have();
  CHECK_MESSAGE(outcome.ok, outcome.message);
  CHECK(bench.have().first == Verdict::kept);
  shell("svnadmin create " + bench.root() + "/other");
  bench.repo = "file://" + bench.root() + "/other";
  CHECK(bench.have().message == bench.tree() + " is a working copy of " + bench.url("feature"));
}

TEST_CASE("common.svn says what is in the way, and checks out over files with force") {
  Bench bench;
  bench.StateHarness::write("/tree/mine", "x");
  CHECK(bench.have().message == bench.tree() + " exists, is not empty and not a working copy");
  CHECK(bench.have(R"(, "force": true)").ok);
  CHECK(bench.exists("/tree/mine"));
  CHECK(bench.file() == "one");
  std::filesystem::remove_all(bench.tree());
  bench.StateHarness::write("/tree", "x");
  CHECK(bench.have().message == bench.tree() + " exists and is not a directory");
}

TEST_CASE("common.svn tells of conflicts, and takes the repository's side with force") {
  for (const bool force : {false, true}) {
    Bench bench;
    CHECK(bench.have().changed);
    std::ofstream(bench.tree() + "/f") << "mine";
    bench.commit("two");
    const auto outcome = bench.have(force ? R"(, "force": true)" : "");
    CHECK(outcome.ok == force);
    if (force)
      CHECK(bench.file() == "two");
    else
      CHECK_MESSAGE(outcome.message.starts_with("Local changes are in conflict with the repository: "),
                    outcome.message);
  }
}

TEST_CASE("common.svn cleans up what somebody has left who was killed") {
  Bench bench;
  CHECK(bench.have().changed);
  bench.commit("two");
  // A lock in the working copy's database, as a killed svn leaves it.
  shell("python3 -c 'import sqlite3; db = sqlite3.connect(\"" + bench.tree() +
        "/.svn/wc.db\"); db.execute(\"insert into wc_lock values (1, \\\"\\\", -1)\"); db.commit()'");
  const auto outcome = bench.have();
  CHECK_MESSAGE(outcome.ok, outcome.message);
  CHECK(bench.file() == "two");
}

TEST_CASE("common.svn leaves the locks of a svn that is at work") {
  Bench bench;
  CHECK(bench.have().changed);
  bench.commit("two");
  shell("python3 -c 'import sqlite3; db = sqlite3.connect(\"" + bench.tree() +
        "/.svn/wc.db\"); db.execute(\"insert into wc_lock values (1, \\\"\\\", -1)\"); db.commit()'");
  shell("cp /bin/sleep " + bench.root() + "/svn-sleep");
  const std::string pid =
      shell("sh -c 'cd " + bench.tree() + " && exec ../svn-sleep 600' >/dev/null 2>&1 & echo $!");
  ::usleep(300'000);
  CHECK_FALSE(bench.have().ok);
  CHECK(bench.file() == "one");
  shell("kill " + pid + "; while readlink /proc/" + pid + "/cwd >/dev/null; do sleep 0.05; done");
  CHECK(bench.have().ok);
  CHECK(bench.file() == "two");
}

TEST_CASE("common.svn goes by the agent's proxy") {
  Bench bench;
  tests::RawServer proxy(tests::says("HTTP/1.1 404 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"));
  bench.host().downloads.proxy = proxy.url("").substr(7);
  CHECK_FALSE(bench
                  .converge(kState, R"({"path": ")" + bench.root() +
                                        R"(/other", "repo": "http://svn.example.invalid/repo"})")
                  .ok);
  CHECK_FALSE(proxy.heads().empty());
  // With a password svn's own settings decide: arguments are for everybody to see.
  const std::size_t asked = proxy.heads().size();
  bench.host().downloads.proxy = "http://ann:hunter2@" + proxy.url("").substr(7);
  CHECK_FALSE(bench
                  .converge(kState, R"({"path": ")" + bench.root() +
                                        R"(/other", "repo": "http://svn.example.invalid/repo"})")
                  .ok);
  CHECK(proxy.heads().size() == asked);
}

TEST_CASE("common.svn goes on with a checkout that was killed half-way") {
  Bench bench;
  CHECK(bench.have().changed);
  // What it leaves: the revision is there, the folder is incomplete and locked, and files are missing.
  std::ofstream(bench.root() + "/leave.py") << R"script(
import sqlite3, sys
db = sqlite3.connect(sys.argv[1] + "/.svn/wc.db")
db.execute("insert into wc_lock values (1, '', -1)")
db.execute("update nodes set presence = 'incomplete' where local_relpath = ''")
db.execute("delete from nodes where local_relpath = 'f'")
db.commit()
)script";
  shell("python3 " + bench.root() + "/leave.py " + bench.tree());
  std::filesystem::remove(bench.tree() + "/f");
  const auto plan = bench.plan(kState, bench.params());
  REQUIRE(plan.changes.size() == 1);
  CHECK(plan.changes[0].before.ends_with(", in part"));
  const auto outcome = bench.have();
  CHECK_MESSAGE(outcome.ok, outcome.message);
  CHECK(bench.file() == "one");
  CHECK(bench.have().first == Verdict::kept);
}

TEST_CASE("common.svn logs in at svnserve, with a password that nobody sees") {
  Bench bench;
  std::ofstream(bench.root() + "/repo/conf/svnserve.conf")
      << "[general]\nanon-access = none\nauth-access = write\npassword-db = passwd\nrealm = test\n";
  std::ofstream(bench.root() + "/repo/conf/passwd") << "[users]\nann = hunter2secret\n";
  const int port = tests::free_port();
  const tests::LoopbackServer server({"svnserve", "-d", "--foreground", "--listen-host", "127.0.0.1",
                                      "--listen-port", std::to_string(port), "-r", bench.root()},
                                     port);
  bench.repo = "svn://127.0.0.1:" + std::to_string(port) + "/repo/trunk";
  const auto outcome = bench.have(R"(, "username": "ann", "password": "hunter2secret")");
  CHECK_MESSAGE(outcome.ok, outcome.message << outcome.output);
  CHECK(bench.file() == "one");
  CHECK(outcome.output.find("hunter2secret") == std::string::npos);
  CHECK(shell("grep -r hunter2secret " + bench.tree() + " || true") == "");
  CHECK(bench.have(R"(, "username": "ann", "password": "wrong")").message ==
        "Authentication failed for " + bench.repo);
  const std::string clean = bench.repo;
  bench.repo.insert(6, "ann:hunter2secret@");
  CHECK(bench.have().first == Verdict::kept);
}

TEST_CASE("common.svn runs as the user, who owns the working copy then") {
  if (::geteuid() != 0) {
    MESSAGE("skipped: needs root");
    return;
  }
  Bench bench;
  shell("chmod -R a+rwX " + bench.root() + "/repo");
  const auto outcome = bench.have(R"(, "user": "nobody")");
  CHECK_MESSAGE(outcome.ok, outcome.message);
  for (const char* part : {"", "/f", "/.svn/wc.db"}) {
    struct stat st {};
    CHECK(::stat((bench.tree() + part).c_str(), &st) == 0);
    CHECK(st.st_uid == 65534);
  }
  CHECK(bench.have(R"(, "user": "nobody-of-this-name")").message ==
        "User 'nobody-of-this-name' does not exist");
  // Root does not follow what he may have put there.
  CHECK_MESSAGE(bench.have().message.find("give 'user'") != std::string::npos, bench.have().message);
}

TEST_CASE("common.svn refuses values that svn would take for something else") {
  StateHarness machine;
  const auto problems = [&](const std::string& more) {
    return machine.problems(kState, R"({"path": "/srv/x", "repo": "https://h/r")" + more + "}");
  };
  CHECK(problems("") == "");
  for (const char* odd : {"--help", "-r", "1:2", "HEAD~1", "{now", "{$(id)}", "1 2"})
    CHECK_MESSAGE(
        problems(R"(, "revision": ")" + std::string(odd) + "\"").starts_with("Illegal value for 'revision'"),
        odd);
  CHECK(problems(R"(, "username": "--config-option=x")").starts_with("Illegal value for 'username'"));
  CHECK(problems(R"(, "password": "a\nb")").starts_with("Illegal value for 'password'"));
  for (const char* repo : {"--config-option=servers:global:x", "/srv/r", "a\\nb"})
    CHECK(machine.problems(kState, R"({"path": "/srv/x", "repo": ")" + std::string(repo) + "\"}")
              .starts_with("Illegal value for 'repo'"));
  CHECK(machine.problems(kState, R"({"path": "x", "repo": "https://h/r"})") != "");
}

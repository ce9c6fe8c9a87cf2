// linux.file with `remote_uri`, from a real server on loopback.
#include <filesystem>

#include <doctest/doctest.h>

#include "base/sha256.hpp"
#include "states/state.hpp"
#include "tests/support/state_harness.hpp"
#include "tests/support/web_files.hpp"

namespace states::linux_file {
extern const StateType& kState;
}

namespace {

using states::Verdict;
using states::linux_file::kState;
using tests::StateHarness;

struct Bench : StateHarness {
  Bench() { host().downloads.allow_unverified_http = {"127.0.0.1"}; }
  std::string params(const std::string& more = "") const {
    return R"({"path": "/f", "remote_uri": ")" + server.url("/f") + "\"" + more + "}";
  }
  Outcome have(const std::string& more = "") {
    next_round();
    return converge(kState, params(more));
  }
  tests::WebFiles server;
};

}  // namespace

TEST_CASE("linux.file fetches a file, and asks only whether it has changed afterwards") {
  Bench bench;
  bench.server.put("/f", "one\n", "\"1\"");
  auto outcome = bench.have(R"(, "mode": "0640")");
  CHECK_MESSAGE(outcome.ok, outcome.message);
  CHECK(outcome.message == "Created /f");
  CHECK(bench.StateHarness::read("/f") == "one\n");
  CHECK(bench.mode("/f") == 0640);
  CHECK(bench.server.bodies() == 1);
  const std::string before = bench.snapshot();
  outcome = bench.have(R"(, "mode": "0640")");
  CHECK(outcome.first == Verdict::kept);
  CHECK(outcome.message == "/f is as wanted");
  CHECK(bench.snapshot() == before);
  CHECK(bench.server.bodies() == 1);
  bench.server.put("/f", "two\n", "\"2\"");
  outcome = bench.have();
  CHECK(outcome.message == "Updated /f (content)");
  CHECK(bench.StateHarness::read("/f") == "two\n");
  CHECK(bench.have().first == Verdict::kept);
  CHECK(bench.server.bodies() == 2);
}

TEST_CASE("linux.file takes nothing from http without a checksum, and with one only what it names") {
  Bench bench;
  bench.host().downloads.allow_unverified_http.clear();
  bench.server.put("/f", "evil\n", "\"1\"");
  for (const bool is_there : {false, true}) {
    if (is_there) bench.write("/f", "old\n");
    const auto outcome = bench.have();
    CHECK_FALSE(outcome.ok);
    CHECK_MESSAGE(outcome.message.find("anybody on the way can send another file") != std::string::npos,
                  outcome.message);
    CHECK(bench.exists("/f") == is_there);
  }
  CHECK(bench.server.requests() == 0);
  const std::string good = base::sha256_hex("good\n");
  const auto have = [&] {
    bench.next_round();
    return bench.converge(
        kState, R"({"path": "/f", "remote_uri": ")" + bench.server.url("/f") + "#sha256=" + good + "\"}");
  };
  CHECK(have().message.starts_with("Checksum mismatch for " + bench.server.url("/f") + ": wanted sha256:"));
  CHECK(bench.StateHarness::read("/f") == "old\n");
  bench.server.put("/f", "good\n", "\"2\"");
  CHECK(have().changed);
  CHECK(bench.StateHarness::read("/f") == "good\n");
  // What is there says by itself that it is right.
  const std::size_t asked = bench.server.requests();
  CHECK(have().first == Verdict::kept);
  CHECK(bench.server.requests() == asked);
  bench.write("/f", "evil\n");
  CHECK(have().changed);
  CHECK(bench.StateHarness::read("/f") == "good\n");
}

TEST_CASE("linux.file works with servers that know times only, or nothing") {
  Bench bench;
  bench.server.serve("/f", {.body = "one", .last_modified = "Wed, 21 Oct 2015 07:28:00 GMT"});
  CHECK(bench.have().changed);
  CHECK(bench.have().first == Verdict::kept);
  CHECK(bench.server.bodies() == 1);
  bench.server.put("/f", "one");
  CHECK(bench.have().first == Verdict::kept);
  CHECK(bench.have().first == Verdict::kept);
  CHECK(bench.server.bodies() == 3);
  bench.server.put("/f", "two");
  CHECK(bench.have().changed);
  CHECK(bench.StateHarness::read("/f") == "two");
}

TEST_CASE("linux.file puts back a remote file that has drifted") {
  Bench bench;
  bench.server.put("/f", "one\n", "\"1\"");
  CHECK(bench.have().changed);
  bench.write("/f", "two\n");
  CHECK(bench.have().changed);
  CHECK(bench.StateHarness::read("/f") == "one\n");
}

TEST_CASE("linux.file notes what a file is that was there already, once") {
  Bench bench;
  bench.server.put("/f", "one\n", "\"1\"");
  bench.write("/f", "one\n");
  const auto plan = bench.plan(kState, bench.params());
  CHECK(plan.verdict == Verdict::change);
  CHECK(plan.is_refresh);
  CHECK(plan.changes.empty());
  CHECK(bench.have().message == "/f is as wanted");
  const std::size_t bodies = bench.server.bodies();
  CHECK(bench.have().first == Verdict::kept);
  CHECK(bench.server.bodies() == bodies);
  // Touched, but with the same content: that is found out without the server.
  bench.write("/f", "one\n");
  CHECK(bench.have().first == Verdict::kept);
  CHECK(bench.server.bodies() == bodies);
}

TEST_CASE("linux.file notes nothing of a file that somebody has changed since it was compared") {
  Bench bench;
  bench.server.put("/f", "one\n", "\"1\"");
  bench.write("/f", "one\n");
  const auto plan = bench.plan(kState, bench.params());
  REQUIRE(plan.is_refresh);
  bench.write("/f", "two\n");
  static_cast<void>(bench.apply(kState, bench.params(), plan));
  // The server has nothing new, and what is there is not what it has.
  CHECK(bench.have().changed);
  CHECK(bench.StateHarness::read("/f") == "one\n");
}

TEST_CASE("linux.file shows what a remote file changes, and writes nothing while it plans") {
  Bench bench;
  bench.server.put("/f", "new\n", "\"1\"");
  bench.write("/f", "old\n");
  const std::string before = bench.snapshot();
  auto plan = bench.plan(kState, bench.params());
  CHECK(plan.verdict == Verdict::change);
  REQUIRE(plan.changes.size() == 1);
  CHECK(plan.changes[0].diff == "@@ -1 +1 @@\n-old\n+new\n");
  CHECK(plan.changes[0].after == "4 bytes from " + bench.server.url("/f"));
  CHECK(bench.snapshot() == before);
  std::filesystem::remove(bench.root() + "/f");
  plan = bench.plan(kState, bench.params());
  CHECK(plan.message == "Create /f");
  CHECK(plan.changes[0].after.find("from " + bench.server.url("/f")) != std::string::npos);
  CHECK(bench.server.requests() == 1);  // what is missing is needed in any case
}

TEST_CASE("linux.file fetches large files when it applies, and not into memory") {
  Bench bench;
  const std::string large(3'000'000, 'x');
  bench.server.put("/f", large, "\"1\"");
  bench.write("/f", "small");
  const auto plan = bench.plan(kState, bench.params());
  REQUIRE(plan.changes.size() == 1);
  CHECK(plan.changes[0].after.starts_with("more than 1048576 bytes from "));
  CHECK(bench.have().changed);
  CHECK(bench.StateHarness::read("/f") == large);
  CHECK(bench.have().first == Verdict::kept);
}

TEST_CASE("linux.file leaves the file alone when the download fails") {
  Bench bench;
  const std::string why = "Cannot download " + bench.server.url("/f") + ": HTTP 404";
  auto outcome = bench.have();
  CHECK_FALSE(outcome.ok);
  CHECK(outcome.message == why);
  CHECK_FALSE(bench.exists("/f"));
  bench.write("/f", "precious");
  outcome = bench.have();
  CHECK(outcome.first == Verdict::fail);
  CHECK(outcome.message == why);
  CHECK(bench.StateHarness::read("/f") == "precious");
  bench.server.serve("/f", {.body = std::string(3'000'000, 'x'), .cut_after = 2'000'000});
  outcome = bench.have();
  CHECK_FALSE(outcome.ok);
  CHECK(bench.StateHarness::read("/f") == "precious");
}

TEST_CASE("linux.file validates remote content, and remote_uri wins over content") {
  StateHarness machine(StateHarness::RunningSystem{});  // programs are not run for another root
  machine.host().downloads.allow_unverified_http = {"127.0.0.1"};
  tests::WebFiles server;
  const auto have = [&](const std::string& more) {
    machine.next_round();
    return machine.converge(kState, R"({"path": ")" + machine.root() + R"(/f", "remote_uri": ")" +
                                        server.url("/f") + "\"" + more + "}");
  };
  server.put("/f", "good\n", "\"1\"");
  CHECK(have(R"(, "content": "other", "validate": "grep -q good %s")").changed);
  CHECK(machine.read("/f") == "good\n");
  server.put("/f", "bad\n", "\"2\"");
  const auto outcome = have(R"(, "validate": "grep -q good %s")");
  CHECK_FALSE(outcome.ok);
  CHECK(machine.read("/f") == "good\n");
}

TEST_CASE("linux.file replaces a link by a remote file, and leaves what it led to alone") {
  Bench bench;
  bench.server.put("/f", "new", "\"1\"");
  bench.write("/target", "precious");
  std::filesystem::create_symlink("target", bench.root() + "/f");
  CHECK(bench.have().changed);
  CHECK(bench.StateHarness::read("/f") == "new");
  CHECK(bench.StateHarness::read("/target") == "precious");
}

TEST_CASE("linux.file refuses addresses that it cannot fetch from when the recipe is checked") {
  StateHarness machine;
  const auto problems = [&](const std::string& url) {
    return machine.problems(kState, R"({"path": "/f", "remote_uri": ")" + url + "\"}");
  };
  CHECK(problems("ftp://example.com/f").find("ftp is not supported") != std::string::npos);
  for (const char* wrong : {"file:///etc/shadow", "-o/etc/passwd", "$(id)", "http://"})
    CHECK_MESSAGE(problems(wrong).starts_with("Cannot download "), wrong);
  CHECK(problems("https://ann:secret@example.com/f") == "");
  CHECK(problems("") == "");  // not given
}

TEST_CASE("linux.file says nothing of an address's query in a sensitive state, and notes no secret") {
  Bench bench;
  bench.sensitive = true;
  const std::string json = R"({"path": "/f", "remote_uri": ")" + bench.server.url("/f?token=hunter2") + "\"}";
  CHECK(bench.converge(kState, json).message == "Cannot download " + bench.server.url("/f") + ": HTTP 404");
  bench.server.put("/f?token=hunter2", "x", "\"1\"");
  CHECK(bench.converge(kState, json).ok);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(bench.root() + "/state"))
    if (entry.is_regular_file())
      CHECK(bench.StateHarness::read(entry.path().string().substr(bench.root().size())).find("hunter2") ==
            std::string::npos);
}

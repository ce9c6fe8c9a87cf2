// Recipes of version 1, which are taken as far as they can be.
#include <doctest/doctest.h>

#include "tests/support/worker_bench.hpp"

namespace {

using namespace agent::engine;
using Bench = tests::WorkerBench;

std::string file(const std::string& id) {
  return R"({"id":")" + id + R"(","module":"linux.file","parameter":{"path":"/dir/)" + id +
         R"(","content":"x"}})";
}

}  // namespace

TEST_CASE("a state of a version 1 recipe that cannot be used fails in its turn; those before it run") {
  Bench bench;
  bench.inputs.compat_v1 = true;
  const auto results = bench.apply(
      "[" + file("a") + R"(,{"id":"b","module":"linux.nothing","parameter":{}},)" + file("c") + "]");
  REQUIRE(results.size() == 2);
  CHECK(results[0].outcome == Outcome::changed);
  CHECK(results[1].id == "b");
  CHECK(results[1].module == "linux.nothing");
  CHECK(results[1].outcome == Outcome::failed);
  CHECK(results[1].comment == "Unsupported module 'linux.nothing'");
}

TEST_CASE("a secret of a state that cannot be used is shown as little as that of any other") {
  Bench bench;
  bench.inputs.compat_v1 = true;
  const auto results = bench.apply(
      R"([{"id":"u","module":"linux.user","parameter":{"username":"-tess","password":"Zaphod-42-Beeble","gid":["x"]}}])");
  REQUIRE(results.size() == 1);
  CHECK(results[0].outcome == Outcome::failed);
  CHECK(results[0].comment.find("Zaphod") == std::string::npos);
}

TEST_CASE("states with equal ids wait each for themselves") {
  Bench bench(true);
  bench.inputs.compat_v1 = true;
  bench.run(
      R"([{"id":"w","module":"meta.wait","parameter":{}},{"id":"w","module":"meta.wait","parameter":{}},)" +
          file("a") + "]",
      7);
  const auto first = bench.next<StateStarted>();
  REQUIRE(first);
  CHECK(first->id == "w");
  bench.send(WaitDone{7, "w"});
  const auto done = bench.next<StateResult>();
  REQUIRE(done);
  CHECK(done->index == 0);
  const auto second = bench.next<StateStarted>();
  REQUIRE(second);
  CHECK(second->id == "w");
  CHECK_FALSE(bench.next<StateResult>(std::chrono::milliseconds(200)));
  bench.send(WaitDone{7, "w (2)"});
  const auto also = bench.next<StateResult>();
  REQUIRE(also);
  CHECK(also->id == "w");
  CHECK(also->index == 1);
}

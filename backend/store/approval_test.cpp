// Machines that wait until an operator lets them in.
#include <doctest/doctest.h>

#include "backend/store/admission.hpp"
#include "backend/store/housekeeping.hpp"
#include "backend/store/instances.hpp"
#include "base/sha256.hpp"
#include "tests/support/store_bench.hpp"

using tests::must;
using tests::StoreBench;
using Verdict = backend::domain::Admission::Verdict;

namespace {

Verdict come(StoreBench& bench, const std::string& name, const std::string& token = {}) {
  auto hello = StoreBench::handshake(name);
  if (!token.empty()) hello.instance_token = token;
  return must(backend::store::admit(*bench, hello, {}, bench.now, true)).verdict;
}

}  // namespace

STORE_TEST_CASE("a stranger is given nothing until it is approved, with the token that it came with") {
  StoreBench bench;
  bench.push("all", "states: [{id: a, module: meta.comment}]");
  bench.assign("*", "all");
  CHECK(come(bench, "old1") == Verdict::pending);
  CHECK(come(bench, "old1") == Verdict::pending);
  CHECK(come(bench, "old1", "a rival's") == Verdict::wrong_token);
  CHECK(must(backend::fleet::place_app(*bench, "default")).matched == 0);
  const auto waiting = must(bench->list_instances({.only_pending = true}, nullptr, {})).items;
  REQUIRE(waiting.size() == 1);
  CHECK(waiting[0].status == "pending");
  CHECK(waiting[0].token_prefix == base::sha256_hex("token of old1").substr(0, 16));
  const auto key = waiting[0].key;
  CHECK_FALSE(backend::store::approve_instance(*bench, key, base::sha256_hex("another")));
  must(backend::store::approve_instance(*bench, key, waiting[0].token_prefix));
  CHECK_FALSE(backend::store::approve_instance(*bench, key, ""));
  CHECK(come(bench, "old1") == Verdict::admitted);
  CHECK(must(backend::fleet::place_app(*bench, "default")).matched == 1);
  CHECK(come(bench, "old1", "a rival's") == Verdict::wrong_token);
}

STORE_TEST_CASE("a machine that is expected comes in with its token, whoever came first under its name") {
  StoreBench bench;
  const std::string hash = base::sha256_hex("token of old1");
  must(backend::store::expect_instance(*bench, "default", "old1", hash, bench.now));
  CHECK(come(bench, "old1", "a rival's") == Verdict::wrong_token);
  CHECK(come(bench, "old1") == Verdict::admitted);
  CHECK_FALSE(backend::store::expect_instance(*bench, "default", "old1", hash, bench.now));

  CHECK(come(bench, "old2", "a rival's") == Verdict::pending);
  must(backend::store::expect_instance(*bench, "default", "old2", base::sha256_hex("token of old2"),
                                       bench.now));
  CHECK(come(bench, "old2", "a rival's") == Verdict::wrong_token);
  CHECK(come(bench, "old2") == Verdict::admitted);
}

STORE_TEST_CASE("strangers who wait are bounded in number, and forgotten after a while") {
  StoreBench bench;
  must(bench->transact([&]() -> base::Result<void> {
    for (std::size_t i = 0; i < backend::domain::kMostPending + 5; ++i)
      CHECK(come(bench, "s" + std::to_string(i)) == Verdict::pending);
    return {};
  }));
  CHECK(must(bench->count_pending()) == backend::domain::kMostPending);
  must(bench->remove_pending(bench.now + 1));
  CHECK(must(bench->count_pending()) == 0);
}

// Machines that wait until an operator lets them in.
#include <doctest/doctest.h>

#include "backend/store/history/housekeeping.hpp"
#include "backend/store/identity/admission.hpp"
#include "backend/store/identity/certificates.hpp"
#include "backend/store/inventory/instances.hpp"
#include "base/sha256.hpp"
#include "tests/support/store_bench.hpp"

using tests::must;
using tests::StoreBench;
using Verdict = backend::domain::Admission::Verdict;

namespace {

backend::domain::Admission asked(StoreBench& bench, const std::string& name, const std::string& network,
                                 const std::string& token = {}, const std::string& app = "default") {
  auto hello = StoreBench::handshake(name);
  hello.app_id = app;
  if (!token.empty()) hello.instance_token = token;
  return must(backend::store::admit(*bench, hello, {}, bench.now, {.approves = true, .network = network}));
}

Verdict come(StoreBench& bench, const std::string& name, const std::string& token = {},
             const std::string& network = "192.0.2.1") {
  return asked(bench, name, network, token).verdict;
}

std::size_t count_waiting(StoreBench& bench, const std::string& network = {}) {
  const auto counts = must(bench->count_pending(network));
  return network.empty() ? counts.all : counts.of_network;
}

bool is_listed(StoreBench& bench, const std::string& name) {
  return must(bench->find_known_instance("default", name)).has_value();
}

std::string network(std::size_t number) {
  return "10.0.0." + std::to_string(number);
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
      CHECK(come(bench, "s" + std::to_string(i), {}, network(i / 5)) == Verdict::pending);
    return {};
  }));
  CHECK(count_waiting(bench) == backend::domain::kMostPending);
  must(bench->remove_pending(bench.now + 1));
  CHECK(count_waiting(bench) == 0);
}

STORE_TEST_CASE("one address makes up as many names as it likes, and a machine elsewhere is listed") {
  StoreBench bench;
  using backend::domain::kMostPendingOfNetwork;
  for (std::size_t i = 0; i < 1500; ++i)
    come(bench, "made-up-" + std::to_string(i));
  CHECK(count_waiting(bench) == kMostPendingOfNetwork);
  const auto late = asked(bench, "one-more", "192.0.2.1");
  CHECK(late.verdict == Verdict::pending);
  CHECK(late.told.find("is full") != std::string::npos);
  CHECK_FALSE(is_listed(bench, "one-more"));

  const auto honest = asked(bench, "honest", "198.51.100.7");
  CHECK(honest.told.find("is full") == std::string::npos);
  CHECK(honest.told.find("opsctl agent approve default/honest") != std::string::npos);
  CHECK(is_listed(bench, "honest"));
}

STORE_TEST_CASE("when the list is full the oldest of the busiest address gives way to a quieter one") {
  StoreBench bench;
  using backend::domain::kMostPending;
  using backend::domain::kMostPendingOfNetwork;
  const std::size_t networks = kMostPending / kMostPendingOfNetwork;
  come(bench, "quiet", {}, "198.51.100.1");
  for (std::size_t from = 0; from < networks; ++from)
    for (std::size_t i = 0; i < kMostPendingOfNetwork; ++i) {
      ++bench.now;
      come(bench, "s" + std::to_string(from) + "-" + std::to_string(i), {}, network(from));
    }
  CHECK(count_waiting(bench) == kMostPending);
  ++bench.now;
  const auto honest = asked(bench, "honest", "198.51.100.7");
  CHECK(honest.told.find("is full") == std::string::npos);
  CHECK(is_listed(bench, "honest"));
  CHECK(is_listed(bench, "quiet"));  // the oldest of all, and of a quiet address
  CHECK(count_waiting(bench) == kMostPending);
  CHECK(count_waiting(bench, "198.51.100.7") == 1);
  // Approved, it counts no more, and nobody's limit is touched by it.
  const auto key = must(bench->find_known_instance("default", "honest"))->key;
  must(backend::store::approve_instance(*bench, key, ""));
  CHECK(count_waiting(bench, "198.51.100.7") == 0);
}

STORE_TEST_CASE("a stranger is told the same about every name that is not its own") {
  StoreBench bench;
  const std::string address = "192.0.2.1";
  bench.admit("known");
  bench.admit("gone");
  must(backend::store::revoke(*bench, "default", "gone", "Bob was fired", bench.now));
  must(bench->reset_instance("default", "enrolled", bench.now));
  backend::domain::Enrolment enrolment;
  enrolment.app_id = "default";
  enrolment.instance_id = "enrolled";
  enrolment.uid = "uid";
  enrolment.current = true;
  must(bench->insert_enrolment(enrolment));
  const auto told = [&](const std::string& name, const std::string& app = "default") {
    const auto answer = asked(bench, name, address, "a rival's", app);
    CHECK(answer.is_stranger);
    CHECK(answer.verdict != Verdict::admitted);
    std::string text = answer.told;
    for (const std::string& part : {app + "/" + name})
      for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part))
        text.replace(at, part.size(), "NAME");
    return text;
  };
  const std::string new_one = told("never-heard-of");
  CHECK(told("never-heard-of") == new_one);
  CHECK(told("known") == new_one);
  CHECK(told("gone") == new_one);
  CHECK(told("enrolled") == new_one);
  CHECK(told("web1", "no-such-app") == new_one);
  CHECK(new_one.find("Bob") == std::string::npos);
  // The operator finds it in the log and in the audit.
  CHECK(asked(bench, "gone", address, "x").reason.find("Bob was fired") != std::string::npos);
}

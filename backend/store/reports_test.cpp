// Reports: each once, whatever is resent, killed or removed.
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <functional>

#include <doctest/doctest.h>

#include "backend/store/housekeeping.hpp"
#include "tests/support/store_bench.hpp"

using namespace backend;

namespace {

using backend::domain::Report;
using tests::must;
using tests::StoreBench;

std::size_t count_results(backend::store::Store& store) {
  std::size_t count = 0;
  backend::domain::PageRequest request{"", backend::domain::kLargestPage};
  do {
    auto page = must(store.list_results({}, request));
    count += page.items.size();
    request.after = page.next;
  } while (!request.after.empty());
  return count;
}

protocol::RoundEnd round_end(std::uint64_t seq, std::uint64_t kept, std::uint64_t failed) {
  protocol::RoundEnd end;
  end.seq = seq;
  end.recipe_version = 1;
  end.round = 4;
  end.counts = {{"kept", kept}, {"failed", failed}};
  end.drift = {"site"};
  return end;
}

}  // namespace

STORE_TEST_CASE("a report is stored once, however often it is sent") {
  StoreBench bench;
  const auto session = bench.join("web1");
  const std::vector<domain::Report> reports{StoreBench::log(1, "a"), StoreBench::log(2, "b"),
                                            round_end(3, 2, 0)};
  auto stored = must(bench->store_reports(session, reports, bench.now));
  CHECK(stored.stored == 3);
  CHECK(stored.ack_seq == 3);
  stored = must(bench->store_reports(session, reports, bench.now));
  CHECK(stored.stored == 0);
  CHECK(stored.duplicates == 3);
  CHECK(stored.ack_seq == 3);
  bench.open();
  CHECK(bench.admit("web1").ack_seq == 3);
  CHECK(count_results(*bench) == 2);
  CHECK(must(bench->list_rounds({}, {})).items.size() == 1);
}

STORE_TEST_CASE("what arrives on a connection that was superseded is not stored") {
  StoreBench bench;
  const auto old = bench.join("web1");
  bench.join("web1");
  const std::vector<domain::Report> reports{StoreBench::log(1, "a")};
  CHECK(must(bench->store_reports(old, reports, bench.now)).is_superseded);
  CHECK(count_results(*bench) == 0);
}

STORE_TEST_CASE("the seq of a reinstalled machine starts anew, and its old reports stay") {
  StoreBench bench;
  const std::vector<domain::Report> reports{StoreBench::log(1, "a")};
  must(bench->store_reports(bench.join("web1"), reports, bench.now));
  auto handshake = StoreBench::handshake("web1");
  handshake.agent_uid = "another";
  const auto admission = bench.admit(handshake);
  CHECK(admission.ack_seq == 0);
  CHECK(must(bench->store_reports(admission.session, reports, bench.now)).stored == 1);
  CHECK(count_results(*bench) == 2);
}

STORE_TEST_CASE("version 1 reports are numbered here, and say how the machine is") {
  StoreBench bench;
  auto handshake = StoreBench::handshake("old1");
  handshake.agent_uid.clear();
  handshake.protocol_max = 1;
  const auto session = bench.admit(handshake).session;
  auto good = StoreBench::log(0, "a"), bad = StoreBench::log(0, "b", false);
  for (auto* log : {&good, &bad}) {
    log->seq.reset();
    log->outcome.clear();
  }
  bad.state_comment = "disk full";
  const std::vector<domain::Report> reports{good, bad};
  CHECK(must(bench->store_reports(session, reports, bench.now)).ack_seq == 2);
  const auto instance = must(bench->find_instance("default", "old1"));
  CHECK(instance.status == "failed");
  CHECK(instance.errors == std::vector<std::string>{"disk full"});
  CHECK(instance.reported_version == 1);
}

STORE_TEST_CASE("a result comes back as it was reported") {
  StoreBench bench;
  const auto session = bench.join("web1");
  auto log = StoreBench::log(7, "site");
  log.outcome = "changed";
  log.state_comment = "Füllte \"x\"";
  log.state_stdout = "";
  log.run_id = "run-1";
  log.round = 3;
  log.changes = {{"content", "a", "b", "-a\n+b\n"}};
  log.attempt = 2;
  log.exit_code = -1;
  log.started = "2026-01-01T00:00:00Z";
  log.duration_ms = 12;
  log.cpu_ms = 3;
  log.max_rss_kb = 4;
  log.truncated = true;
  const std::vector<domain::Report> reports{log};
  must(bench->store_reports(session, reports, bench.now));
  auto row = must(bench->list_results({.app_id = "default", .instance_id = "web1"}, {})).items.at(0);
  CHECK(row.changes == R"([{"what":"content","before":"a","after":"b","diff":"-a\n+b\n"}])");
  CHECK(row.origin.received == bench.now);
  log.changes.clear();
  log.instance_id = "web1";
  log.app_id = "default";
  CHECK(row.log == log);
}

STORE_TEST_CASE("status, last round and the fleet's counts follow the reports") {
  StoreBench bench;
  const auto session = bench.join("web1");
  const std::vector<domain::Report> first{
      protocol::RecipeStatus{1, 1, protocol::RecipeProgress::running, {}}, StoreBench::log(2, "a", false),
      round_end(3, 0, 1), protocol::RecipeStatus{4, 1, protocol::RecipeProgress::failed, {"a: no"}}};
  must(bench->store_reports(session, first, bench.now));
  auto instance = must(bench->find_instance("default", "web1"));
  CHECK(instance.status == "failed");
  CHECK(instance.errors == std::vector<std::string>{"a: no"});
  REQUIRE(instance.last_round);
  CHECK(instance.last_round->counts == R"({"failed":1,"kept":0})");
  CHECK(must(bench->instance_progress(session.instance)).converged_version == 0);
  CHECK(must(bench->fleet("", bench.now)).failed == 1);

  auto changed = StoreBench::log(5, "a");
  changed.outcome = "changed";
  const std::vector<domain::Report> second{changed, round_end(6, 1, 0)};
  must(bench->store_reports(session, second, bench.now));
  CHECK(must(bench->instance_progress(session.instance)).converged_version == 1);
  const auto fleet = must(bench->fleet("default", bench.now));
  CHECK(fleet.changed_last_hour == 1);
  CHECK(fleet.results == 2);
  CHECK(fleet.online == 1);
  CHECK(must(bench->list_statuses({}, {})).items.at(0).status.errors.at(0) == "a: no");
}

STORE_TEST_CASE("results are listed newest first, by instance, state, outcome, run and time") {
  StoreBench bench;
  const auto one = bench.join("web1"), two = bench.join("web2");
  for (std::uint64_t seq = 1; seq <= 30; ++seq) {
    auto log = StoreBench::log(seq, seq % 2 == 0 ? "even" : "odd", seq % 10 != 0);
    log.run_id = seq > 15 ? "late" : "early";
    const std::vector<domain::Report> reports{log};
    const auto at = bench.now + static_cast<backend::domain::Millis>(seq) * 1000;
    must(bench->store_reports(one, reports, at));
    must(bench->store_reports(two, reports, at));
  }
  const auto count = [&](const backend::domain::ReportFilter& filter) {
    return must(bench->list_results(filter, {})).items.size();
  };
  CHECK(count({}) == 60);
  CHECK(count({.app_id = "default", .instance_id = "web1"}) == 30);
  CHECK(count({.app_id = "nowhere"}) == 0);
  CHECK(count({.state_id = "even"}) == 30);
  CHECK(count({.outcome = "failed"}) == 6);
  CHECK(count({.run_id = "late"}) == 30);
  CHECK(count({.since = bench.now + 29'000}) == 4);
  CHECK(count({.since = bench.now + 31'000}) == 0);
  CHECK(count({.app_id = "default", .instance_id = "web2", .since = bench.now + 29'000}) == 2);

  std::vector<std::uint64_t> seqs;
  backend::domain::PageRequest request{"", 7};
  do {
    auto page = must(bench->list_results({.app_id = "default", .instance_id = "web1"}, request));
    for (const auto& row : page.items)
      seqs.push_back(row.origin.seq);
    request.after = page.next;
  } while (!request.after.empty());
  CHECK(seqs.size() == 30);
  CHECK(std::ranges::is_sorted(seqs, std::greater()));
}

STORE_TEST_CASE("retention removes the oldest in bounded steps, and what was removed is not stored again") {
  StoreBench bench;
  const auto session = bench.join("web1");
  std::vector<domain::Report> reports;
  for (std::uint64_t seq = 1; seq <= 100; ++seq)
    reports.push_back(StoreBench::log(seq, "a"));
  must(bench->store_reports(session, std::span(reports).first(50), bench.now));
  must(bench->store_reports(session, std::span(reports).last(50), bench.now + 1000));

  auto purged = must(backend::store::purge(*bench, {.oldest = bench.now + 500, .batch = 20}));
  CHECK(purged.rows == 20);
  CHECK(purged.more);
  while (purged.more)
    purged = must(backend::store::purge(*bench, {.oldest = bench.now + 500, .batch = 20}));
  CHECK(count_results(*bench) == 50);
  purged = must(backend::store::purge(*bench, {.most_results = 10}));
  CHECK(purged.rows == 40);
  CHECK(count_results(*bench) == 10);
  CHECK(must(bench->store_reports(session, reports, bench.now)).duplicates == 100);
  CHECK(count_results(*bench) == 10);
}

STORE_TEST_CASE("after kill -9 in the middle of batches, all that was acknowledged is there, exactly once") {
  for (int attempt = 0; attempt < 5; ++attempt) {
    StoreBench bench;
    const auto session = bench.join("web1");
    bench.store.reset();
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    const pid_t child = ::fork();
    if (child == 0) {  // stores batches and says after each what is acknowledged, until it is killed
      auto store = bench.open_another(backend::store::Access::write);
      for (std::uint64_t seq = 1; store; seq += 20) {
        std::vector<domain::Report> reports;
        for (std::uint64_t i = seq; i < seq + 20; ++i)
          reports.push_back(StoreBench::log(i, "state " + std::to_string(i)));
        std::uint64_t acked = 0;
        auto done = (*store)->transact([&]() -> base::Result<void> {
          auto stored = (*store)->store_reports(session, reports, bench.now);
          if (!stored) return std::move(stored).error();
          acked = stored->ack_seq;
          return {};
        });
        if (!done || ::write(ends[1], &acked, sizeof acked) != sizeof acked) ::_exit(1);
      }
      ::_exit(1);
    }
    ::close(ends[1]);
    std::uint64_t acked = 0, last = 0;
    const std::uint64_t enough = 200 + static_cast<std::uint64_t>(attempt) * 140;
    while (acked < enough && ::read(ends[0], &acked, sizeof acked) == sizeof acked) {
    }
    ::kill(child, SIGKILL);
    while (::read(ends[0], &last, sizeof last) == sizeof last)
      acked = last;
    ::close(ends[0]);
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    REQUIRE(WIFSIGNALED(status));
    REQUIRE(acked >= enough);

    bench.open();
    const std::uint64_t has = bench.admit("web1").ack_seq;
    CHECK(has >= acked);
    CHECK(has % 20 == 0);
    CHECK(count_results(*bench) == has);
    auto reader = bench.reader();
    CHECK(count_results(*reader) == has);
  }
}

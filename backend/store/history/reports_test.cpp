// Reports: each once, whatever is resent, killed or removed.
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <functional>

#include <doctest/doctest.h>

#include "backend/store/history/housekeeping.hpp"
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
  log.cause = protocol::ChangeCause::new_recipe;
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

STORE_TEST_CASE("the state that a machine fails at now is found with its reason, and only while it fails") {
  StoreBench bench;
  const auto session = bench.join("web1");
  const auto failed = [&] { return must(bench->find_failed_state(session.instance)); };
  const auto report = [&](std::uint64_t seq, const std::string& id, bool ok, const std::string& comment,
                          const std::string& run = {}) {
    protocol::StateLog log = StoreBench::log(seq, id, ok);
    log.state_comment = comment;
    log.run_id = run;
    if (!run.empty()) log.recipe_version = 0;  // of no recipe
    must(bench->store_reports(session, std::vector<domain::Report>{log}, bench.now));
  };
  CHECK_FALSE(failed());
  report(1, "a", false, "first");
  report(2, "b", true, "");
  report(3, "c", false, "then");
  REQUIRE(failed());
  CHECK(failed()->state_id == "c");
  CHECK(failed()->comment == "then");
  CHECK(failed()->outcome == "failed");
  CHECK(failed()->received == bench.now);
  report(4, "c", true, "");
  CHECK(failed()->state_id == "a");
  report(5, "a", false, "again");
  CHECK(failed()->comment == "again");
  // What was asked for apart from the recipe does not count.
  report(6, "d", false, "by hand", "0190f3c2");
  CHECK(failed()->state_id == "a");
  // Retention removes why, not that.
  while (must(store::purge(*bench, {.oldest = bench.now + 1})).more) {
  }
  REQUIRE(failed());
  CHECK(failed()->comment.empty());
  report(7, "a", true, "");
  CHECK_FALSE(failed());
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

STORE_TEST_CASE("attack: ids of reports go on, however much retention has removed") {
  StoreBench bench;
  const auto session = bench.join("web1");
  const auto newest = [&] { return must(bench->list_results({}, {})).items.at(0).origin.id; };
  std::int64_t last = 0;
  for (std::uint64_t seq = 1; seq <= 5; ++seq) {
    const std::vector<domain::Report> one{StoreBench::log(seq, "a")};
    must(bench->store_reports(session, one, bench.now));
    CHECK(newest() > last);
    last = newest();
    bench.now += 1000;
    must(backend::store::purge(*bench, {.oldest = bench.now}));
    bench.open();
  }
  CHECK(count_results(*bench) == 1);
}

STORE_TEST_CASE("attack: reports of a clock that was ahead do not stay for ever, nor those behind them") {
  StoreBench bench;
  const auto session = bench.join("web1");
  constexpr domain::Millis kDay = 24LL * 3600 * 1000;
  const auto store = [&](std::uint64_t seq, domain::Millis at) {
    const std::vector<domain::Report> one{StoreBench::log(seq, "a")};
    must(bench->store_reports(session, one, at));
  };
  store(1, bench.now + 3650 * kDay);
  store(2, bench.now);
  store(3, bench.now + 1000);
  const auto purge = [&](domain::Millis now) {
    must(backend::store::purge(*bench, {.oldest = now - 30 * kDay, .now = now}));
  };
  purge(bench.now + kDay);
  CHECK(count_results(*bench) == 3);
  purge(bench.now + 30 * kDay);
  CHECK(count_results(*bench) == 3);
  purge(bench.now + 32 * kDay);
  CHECK(count_results(*bench) == 1);
}

STORE_TEST_CASE("retention counts bytes, too, and removes the oldest until they fit") {
  StoreBench bench;
  const auto session = bench.join("web1");
  std::vector<domain::Report> reports;
  for (std::uint64_t seq = 1; seq <= 50; ++seq) {
    auto log = StoreBench::log(seq, "a");
    log.state_stdout = std::string(10'000, 'x');
    reports.push_back(log);
  }
  must(bench->store_reports(session, reports, bench.now));
  const auto use = must(bench->report_use(0)).results;
  CHECK(use.rows == 50);
  CHECK(use.bytes > 500'000);
  CHECK(use.bytes < 520'000);
  CHECK(must(bench->report_use(session.instance)).results.bytes == use.bytes);
  auto purged = must(backend::store::purge(*bench, {.most_bytes = 200'000, .batch = 12}));
  CHECK(purged.rows == 12);
  while (purged.more)
    purged = must(backend::store::purge(*bench, {.most_bytes = 200'000, .batch = 12}));
  CHECK(count_results(*bench) == 19);
  CHECK(must(bench->report_use(0)).results.bytes <= 200'000);
  CHECK(must(bench->list_results({}, {})).items.at(0).origin.seq == 50);
  CHECK(must(bench->fleet("", bench.now)).results == 19);
}

STORE_TEST_CASE("an instance that has its quota makes room for its own, and for nobody else's") {
  StoreBench bench;
  const auto loud = bench.join("loud"), calm = bench.join("calm");
  const domain::ReportTerms terms{
      .states = nullptr, .recipe_version = 0, .quota = domain::report_quota(100, 1'000'000)};
  const std::vector<domain::Report> few{StoreBench::log(1, "a"), round_end(2, 1, 0)};
  must(bench->store_reports(calm, few, bench.now, terms));
  std::uint64_t seq = 0;
  for (int batch = 0; batch < 50; ++batch) {
    std::vector<domain::Report> reports;
    for (int i = 0; i < 20; ++i) {
      reports.emplace_back(StoreBench::log(++seq, "a"));
      reports.emplace_back(round_end(++seq, 1, 0));
      reports.emplace_back(protocol::RecipeStatus{++seq, 1, protocol::RecipeProgress::running, {}});
    }
    CHECK(must(bench->store_reports(loud, reports, bench.now, terms)).stored == 60);
    CHECK(must(bench->report_use(loud.instance)).results.rows <= 100);
  }
  const auto use = must(bench->report_use(loud.instance));
  CHECK(use.results.rows == 100);
  CHECK(use.rounds.rows == 10);
  CHECK(use.statuses.rows == 10);
  CHECK(count_results(*bench) == 101);
  const auto kept = must(bench->list_results({.app_id = "default", .instance_id = "loud"}, {"", 1}));
  CHECK(kept.items.at(0).origin.seq == seq - 2);
  CHECK(must(bench->list_results({.app_id = "default", .instance_id = "calm"}, {})).items.size() == 1);
  CHECK(must(bench->list_rounds({.app_id = "default", .instance_id = "calm"}, {})).items.size() == 1);

  // By bytes: large ones make room sooner.
  std::vector<domain::Report> large;
  for (int i = 0; i < 30; ++i) {
    auto log = StoreBench::log(++seq, "a");
    log.state_stdout = std::string(100'000, 'x');
    large.emplace_back(std::move(log));
  }
  must(bench->store_reports(loud, large, bench.now, terms));
  CHECK(must(bench->report_use(loud.instance)).results.rows == 9);
  CHECK(must(bench->report_use(loud.instance)).results.bytes <= 1'000'000);

  // Retention by number counts what is there: the calm one's history is not pushed out by numbers that are
  // gone.
  must(backend::store::purge(*bench, {.most_results = 100}));
  CHECK(must(bench->list_results({.app_id = "default", .instance_id = "calm"}, {})).items.size() == 1);
  // All that was sent counts as stored.
  CHECK(must(bench->store_reports(loud, large, bench.now, terms)).duplicates == 30);
}

STORE_TEST_CASE("wide gaps between the numbers of results do not make lists endless") {
  StoreBench bench;
  const auto loud = bench.join("loud"), calm = bench.join("calm");
  const std::vector<domain::Report> one{StoreBench::log(1, "a")};
  must(bench->store_reports(calm, one, bench.now));
  const domain::ReportTerms terms{
      .states = nullptr, .recipe_version = 0, .quota = domain::report_quota(10, 0)};
  std::uint64_t seq = 0;
  must(bench->transact([&]() -> base::Result<void> {  // of many, each would wait for the disk
    for (int batch = 0; batch < 50; ++batch) {
      std::vector<domain::Report> reports;
      for (int i = 0; i < 5000; ++i)
        reports.emplace_back(StoreBench::log(++seq, "a"));
      must(bench->store_reports(loud, reports, bench.now, terms));
    }
    return {};
  }));
  std::size_t pages = 0, rows = 0;
  backend::domain::PageRequest request{"", 100};
  do {
    auto page = must(bench->list_results({}, request));
    rows += page.items.size();
    request.after = page.next;
    ++pages;
  } while (!request.after.empty());
  CHECK(rows == 11);
  CHECK(pages <= 2);
}

STORE_TEST_CASE("states that a machine does not have leave results, and nothing else") {
  StoreBench bench;
  const auto session = bench.join("web1");
  domain::ReportTerms terms;
  terms.states = must(domain::read_states(R"([{"id":"a"},{"id":"b"}])"));
  terms.recipe_version = 2;
  std::vector<domain::Report> reports{StoreBench::log(1, "a", true, 2), StoreBench::log(2, "b", true, 1),
                                      StoreBench::log(3, "b", true, 99)};
  for (std::uint64_t seq = 4; seq < 1000; ++seq)
    reports.push_back(StoreBench::log(seq, "made up " + std::to_string(seq), true, 2));
  must(bench->store_reports(session, reports, bench.now, terms));
  CHECK(count_results(*bench) == 999);
  auto states = must(bench->instance_progress(session.instance)).states;
  REQUIRE(states.size() == 2);
  CHECK(states[0].state_id == "a");
  CHECK(states[1].recipe_version == 1);
  // Another recipe: what the old one's states did is forgotten when the machine has begun it.
  terms.states = must(domain::read_states(R"([{"id":"c"}])"));
  terms.recipe_version = 3;
  const std::vector<domain::Report> next{
      StoreBench::log(1000, "a", true, 2),
      protocol::RecipeStatus{1001, 3, protocol::RecipeProgress::running, {}},
      StoreBench::log(1002, "c", true, 3)};
  must(bench->store_reports(session, next, bench.now, terms));
  states = must(bench->instance_progress(session.instance)).states;
  REQUIRE(states.size() == 1);
  CHECK(states[0].state_id == "c");
}

STORE_TEST_CASE("a machine has so many streams of reports, and dead ones are removed") {
  StoreBench bench;
  auto handshake = StoreBench::handshake("web1");
  for (int i = 0; i < 300; ++i) {
    handshake.agent_uid = "uid " + std::to_string(i);
    const auto admission = bench.admit(handshake);
    REQUIRE(admission.verdict == domain::Admission::Verdict::admitted);
    const std::vector<domain::Report> one{StoreBench::log(1, "a")};
    if (i > 290) CHECK(must(bench->store_reports(admission.session, one, bench.now)).stored == 1);
  }
  // 64 are left, 9 of them with reports.
  const domain::Millis later = bench.now + 1;
  CHECK(must(bench->remove_dead_agents({.before = bench.now})).rows == 0);
  std::size_t removed = 0;
  domain::Sweep sweep{.after = 0, .batch = 10, .before = later};
  do {
    const auto swept = must(bench->remove_dead_agents(sweep));
    removed += swept.rows;
    sweep.after = swept.next;
  } while (sweep.after != 0);
  CHECK(removed == domain::kMostStreams - 9);
  CHECK(bench.admit(handshake).ack_seq == 1);  // the present one stays
  handshake.agent_uid = "uid 295";
  CHECK(bench.admit(handshake).ack_seq == 1);
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

STORE_TEST_CASE("a page ends after some megabytes, and the next one goes on behind it") {
  StoreBench bench;
  const auto session = bench.join("web1");
  std::vector<domain::Report> reports;
  for (std::uint64_t seq = 1; seq <= 60; ++seq) {
    protocol::StateLog log = StoreBench::log(seq, "noisy");
    log.state_stdout = std::string(150 * 1024, 'x');
    reports.push_back(std::move(log));
  }
  REQUIRE(must(bench->store_reports(session, reports, bench.now)).stored == 60);
  const auto page = must(bench->list_results({}, {"", domain::kLargestPage}));
  CHECK(page.items.size() * 150 * 1024 < domain::kMostPageBytes + 160 * 1024);
  CHECK(page.items.size() > 20);
  CHECK_FALSE(page.next.empty());
  CHECK(count_results(*bench) == 60);
}

#include "backend/domain/reports/report_rules.hpp"

#include <doctest/doctest.h>

namespace backend::domain {

namespace {

protocol::RecipeStatus status(std::int64_t version, protocol::RecipeProgress progress) {
  protocol::RecipeStatus report;
  report.recipe_version = version;
  report.status = progress;
  return report;
}

}  // namespace

TEST_CASE("of a batch of reports the newest version's status counts, whatever comes after it") {
  InstanceNews news{.reported_version = 4};
  news.take(status(3, protocol::RecipeProgress::superseded));
  CHECK_FALSE(news.has_status);
  news.take(status(5, protocol::RecipeProgress::accepted));
  news.take(status(4, protocol::RecipeProgress::superseded));
  CHECK(news.reported_version == 5);
  CHECK(news.status == "accepted");
  CHECK(news.converged_version == 0);
  news.take(status(5, protocol::RecipeProgress::converged));
  CHECK(news.converged_version == 5);
}

TEST_CASE("a round that went on past a failed state to its end has not converged") {
  protocol::RoundEnd end;
  end.recipe_version = 5;
  end.counts = {{"kept", 7}, {"failed", 1}, {"skipped", 2}};
  InstanceNews news;
  news.take(end);
  CHECK(news.converged_version == 0);
  CHECK_FALSE(is_whole(end));
  end.counts = {{"kept", 8}, {"skipped", 2}};
  news.take(end);
  CHECK(news.converged_version == 5);
}

TEST_CASE("a state's result is the status only of an agent that sends no other, and only of its recipe") {
  protocol::StateLog log;
  log.recipe_version = 2;
  log.state_comment = "no space";
  InstanceNews news;
  news.take(log);
  CHECK(news.status == "failed");
  CHECK(news.errors == R"(["no space"])");
  CHECK(outcome_of(log) == "failed");

  InstanceNews of_version_2;
  log.seq = 7;
  of_version_2.take(log);
  CHECK_FALSE(of_version_2.has_status);

  InstanceNews of_single_run;
  log.seq.reset();
  log.recipe_version = 0;
  of_single_run.take(log);
  CHECK_FALSE(of_single_run.has_status);
}

TEST_CASE(
    "only states of the recipe that a machine has, under a version that it was given, have a standing") {
  const auto list = read_states(R"([{"id":"a"},{"id":"b"}])");
  REQUIRE(list);
  const ReportTerms terms{.states = *list, .recipe_version = 5};
  protocol::StateLog log;
  log.id = "a";
  log.recipe_version = 5;
  CHECK(has_standing(log, terms));
  log.recipe_version = 4;  // late, and still a state of the machine
  CHECK(has_standing(log, terms));
  log.recipe_version = 6;
  CHECK_FALSE(has_standing(log, terms));
  log.recipe_version = 0;  // run by itself
  CHECK_FALSE(has_standing(log, terms));
  log.recipe_version = 5;
  log.id = "made up";
  CHECK_FALSE(has_standing(log, terms));
  CHECK(has_standing(log, {}));
  CHECK_FALSE(has_standing(log, {.states = std::make_shared<const StateList>(), .recipe_version = 5}));
}

TEST_CASE("a quota counts rows and bytes, of each kind of report by itself") {
  const ReportQuota quota = report_quota(100, 5000);
  CHECK(quota.rounds.rows == 10);
  CHECK(quota.statuses.bytes == 500);
  CHECK_FALSE(is_over({.rows = 100, .bytes = 5000}, quota.results));
  CHECK(is_over({.rows = 101, .bytes = 1}, quota.results));
  CHECK(is_over({.rows = 1, .bytes = 5001}, quota.results));
  CHECK_FALSE(is_over({.rows = 1'000'000, .bytes = 1'000'000}, {}));
  CHECK(report_quota(5, 0).rounds.rows == 1);
  CHECK(without_row({.rows = 2, .bytes = 100}, 60).bytes == 40);
  CHECK(without_row({.rows = 0, .bytes = 10}, 60).bytes == 0);
}

}  // namespace backend::domain

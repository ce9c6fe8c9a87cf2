#include "backend/domain/report_rules.hpp"

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

}  // namespace backend::domain

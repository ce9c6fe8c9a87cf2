#include "agent/runtime/progress.hpp"

#include <doctest/doctest.h>

namespace agent::manager {

namespace {

using protocol::RecipeProgress;
using protocol::RecipeStatus;

RoundEnd kept(std::int64_t version) {
  RoundEnd end{.version = version, .round = 1};
  end.counts[static_cast<std::size_t>(Outcome::kept)] = 1;
  return end;
}

std::optional<RecipeStatus> hear(Progress& progress, Event event) {
  return progress.hear(event, {});
}

RecipeStatus converged(std::int64_t version) {
  return {.recipe_version = version, .status = RecipeProgress::converged};
}

}  // namespace

TEST_CASE("a version that moves after the round is as converged as the one before") {
  Progress progress;
  hear(progress, RoundStarted{.version = 1, .round = 1});
  CHECK(hear(progress, kept(1)) == converged(1));
  CHECK(progress.move_to(3) == converged(3));
  CHECK_FALSE(hear(progress, kept(3)));  // nothing new
}

TEST_CASE(
    "a version that moves while a round is under way is told at its end, whatever the worker calls it") {
  Progress progress;
  hear(progress, RoundStarted{.version = 1, .round = 1});
  CHECK_FALSE(progress.move_to(3));
  CHECK(hear(progress, kept(1)) == converged(3));
}

TEST_CASE("a version that moves before the first round is heard of is the one that is told at its end") {
  Progress progress;
  progress.take_up();
  CHECK_FALSE(progress.move_to(3));
  hear(progress, RoundStarted{.version = 1, .round = 1});
  CHECK(hear(progress, kept(1)) == converged(3));
}

TEST_CASE("a new recipe has a version of its own") {
  Progress progress;
  hear(progress, RoundStarted{.version = 1, .round = 1});
  progress.move_to(3);
  progress.take_up();
  hear(progress, RoundStarted{.version = 4, .round = 1});
  CHECK(hear(progress, kept(4)) == converged(4));
}

}  // namespace agent::manager

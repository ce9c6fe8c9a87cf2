#include "agent/runtime/progress.hpp"

#include <doctest/doctest.h>

namespace agent::runtime {

namespace {

using protocol::RecipeProgress;
using protocol::RecipeStatus;

engine::RoundEnd kept(std::int64_t version) {
  engine::RoundEnd end{.version = version, .round = 1};
  end.counts[static_cast<std::size_t>(engine::Outcome::kept)] = 1;
  return end;
}

std::optional<RecipeStatus> after_event(Progress& progress, engine::Event event) {
  return progress.on_worker_event(event, {});
}

RecipeStatus converged(std::int64_t version) {
  return {.recipe_version = version, .status = RecipeProgress::converged};
}

}  // namespace

TEST_CASE("a version that moves after the round is as converged as the one before") {
  Progress progress;
  after_event(progress, engine::RoundStarted{.version = 1, .round = 1});
  CHECK(after_event(progress, kept(1)) == converged(1));
  CHECK(progress.move_to(3) == converged(3));
  CHECK_FALSE(after_event(progress, kept(3)));  // nothing new
}

TEST_CASE(
    "a version that moves while a round is under way is told at its end, whatever the worker calls it") {
  Progress progress;
  after_event(progress, engine::RoundStarted{.version = 1, .round = 1});
  CHECK_FALSE(progress.move_to(3));
  CHECK(after_event(progress, kept(1)) == converged(3));
}

TEST_CASE("a version that moves before the first round is heard of is the one that is told at its end") {
  Progress progress;
  progress.take_up();
  CHECK_FALSE(progress.move_to(3));
  after_event(progress, engine::RoundStarted{.version = 1, .round = 1});
  CHECK(after_event(progress, kept(1)) == converged(3));
}

TEST_CASE("a new recipe has a version of its own") {
  Progress progress;
  after_event(progress, engine::RoundStarted{.version = 1, .round = 1});
  progress.move_to(3);
  progress.take_up();
  after_event(progress, engine::RoundStarted{.version = 4, .round = 1});
  CHECK(after_event(progress, kept(4)) == converged(4));
}

}  // namespace agent::runtime

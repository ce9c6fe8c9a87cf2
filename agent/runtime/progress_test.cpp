#include "agent/runtime/progress.hpp"

#include <deque>
#include <set>

#include <doctest/doctest.h>

namespace agent::runtime {

namespace {

using protocol::RecipeProgress;
using protocol::RecipeStatus;
using Statuses = std::vector<RecipeStatus>;

engine::RoundEnd kept(std::int64_t version, std::string run_id = "r") {
  engine::RoundEnd end{.run_id = std::move(run_id), .version = version, .round = 1};
  end.counts[static_cast<std::size_t>(engine::Outcome::kept)] = 1;
  return end;
}

engine::RoundStarted first_round(std::int64_t version, std::string run_id = "r") {
  return {.run_id = std::move(run_id), .version = version, .round = 1};
}

Statuses after_event(Progress& progress, engine::Event event, std::int64_t version) {
  return progress.on_worker_event(event, {}, version);
}

RecipeStatus converged(std::int64_t version) {
  return {.recipe_version = version, .status = RecipeProgress::converged};
}

}  // namespace

TEST_CASE("a version that moves after the round is as converged as the one before") {
  Progress progress;
  progress.resume("r");
  after_event(progress, first_round(1), 1);
  CHECK(after_event(progress, kept(1), 1) == Statuses{converged(1)});
  CHECK(progress.move_to(3) == Statuses{converged(3)});
  CHECK(after_event(progress, kept(3), 3).empty());  // nothing new
}

TEST_CASE(
    "a version that moves while a round is under way is told at its end, whatever the worker calls it") {
  Progress progress;
  progress.resume("r");
  after_event(progress, first_round(1), 1);
  CHECK(progress.move_to(3).empty());
  CHECK(after_event(progress, kept(1), 3) == Statuses{converged(3)});
}

TEST_CASE("a version that moves before the first round is heard of is the one that is told at its end") {
  Progress progress;
  progress.take("r", 1, std::nullopt);
  CHECK(progress.move_to(3).empty());
  after_event(progress, first_round(1), 3);
  CHECK(after_event(progress, kept(1), 3) == Statuses{converged(3)});
}

TEST_CASE("a new recipe has a version of its own") {
  Progress progress;
  progress.resume("r");
  after_event(progress, first_round(1), 1);
  progress.move_to(3);
  progress.take("s", 4, 3);
  after_event(progress, first_round(4, "s"), 4);
  CHECK(after_event(progress, kept(4, "s"), 4) == Statuses{converged(4)});
}

TEST_CASE(
    "what the worker does is known whichever recipe it belongs to, and told to nobody without a backend") {
  Progress progress;
  CHECK(progress.on_worker_event(engine::StateStarted{.id = "a"}, {}, std::nullopt).empty());
  REQUIRE(progress.running());
  CHECK(progress.running()->id == "a");
  progress.on_worker_event(engine::StateResult{.id = "a"}, {}, std::nullopt);
  CHECK(!progress.running());
  engine::RoundEnd end = kept(1);
  end.next = std::chrono::seconds(5);
  CHECK(progress.on_worker_event(end, {}, std::nullopt).empty());
  REQUIRE(progress.last_round());
  CHECK(progress.last_round()->end.run_id == "r");
  CHECK(progress.next_round() == Progress::Instant() + std::chrono::seconds(5));
  progress.on_worker_event(engine::RoundStarted{.run_id = "r", .round = 2}, {}, std::nullopt);
  CHECK(!progress.next_round());
}

TEST_CASE("a round that cannot begin has failed, and says why until one has begun") {
  Progress progress;
  progress.resume("r");
  engine::RoundEnd none{.run_id = "r", .version = 1, .not_reached = 2, .next = std::chrono::seconds(5)};
  none.problem = "cannot lock";
  const RecipeStatus failed{.recipe_version = 1, .status = RecipeProgress::failed, .errors = {"cannot lock"}};
  CHECK(after_event(progress, none, 1) == Statuses{failed});
  CHECK(after_event(progress, none, 1).empty());  // once
  CHECK(progress.held_up_by() == "cannot lock");
  CHECK(progress.next_round());
  CHECK(!progress.last_round());  // there was none
  after_event(progress, first_round(1), 1);
  CHECK(progress.held_up_by().empty());
  CHECK(after_event(progress, kept(1), 1) == Statuses{converged(1)});
  // Of a recipe that is not in force any more nobody is told.
  none.run_id = "before";
  CHECK(after_event(progress, none, 1).empty());
}

TEST_CASE("a round that waits for another run says so to the backend when that takes long") {
  using HoldsUp = engine::Notice::HoldsUp;
  Progress progress;
  progress.resume("r");
  engine::Notice notice{.level = engine::Notice::Level::info, .text = "waiting for 7"};
  CHECK(after_event(progress, notice, 1).empty());
  CHECK(progress.held_up_by().empty());
  notice.holds_up = HoldsUp::for_a_while;
  CHECK(after_event(progress, notice, 1).empty());
  CHECK(progress.held_up_by() == "waiting for 7");
  notice.holds_up = HoldsUp::for_long;
  const RecipeStatus waits{
      .recipe_version = 1, .status = RecipeProgress::accepted, .errors = {"waiting for 7"}};
  CHECK(after_event(progress, notice, 1) == Statuses{waits});
  after_event(progress, first_round(1), 1);
  CHECK(after_event(progress, kept(1), 1) == Statuses{converged(1)});
  // In a later round it is what it was, with the reason.
  const Statuses later = after_event(progress, notice, 1);
  REQUIRE(later.size() == 1);
  CHECK(later[0].status == RecipeProgress::converged);
  CHECK(later[0].errors == std::vector<std::string>{"waiting for 7"});
  CHECK(after_event(progress, kept(1), 1) == Statuses{converged(1)});
  CHECK(progress.held_up_by().empty());
}

// ---- all orders that can happen

namespace {

// A backend that sends two recipes and moves each, the worker with its two channels, the committer that
// writes to the spool, and the loop that reads events. Each of them may be any time behind the others.
class Orders {
 public:
  // Tries every order from here on. Returns how many there are.
  std::size_t explore() const {
    std::size_t orders = 0;
    for (const auto step : {&Orders::backend_sends, &Orders::worker_takes_commands, &Orders::worker_starts,
                            &Orders::worker_ends, &Orders::worker_gives_up, &Orders::loop_reads}) {
      Orders next = *this;
      if ((next.*step)()) orders += next.explore();
    }
    if (orders > 0) return orders;
    check_end();
    return 1;
  }

 private:
  struct Run {
    std::string id;
    std::int64_t version = 0;
  };
  struct Move {
    std::int64_t version = 0;
  };

  bool backend_sends() {
    switch (++sent_) {
      case 1:
        return take("first", 1, std::nullopt);
      case 2:
        return move(2);
      case 3:
        return take("second", 3, 2);
      case 4:
        return move(4);
      default:
        return false;
    }
  }

  bool take(const std::string& run_id, std::int64_t version, std::optional<std::int64_t> before) {
    run_id_ = run_id;
    version_ = version;
    for (const RecipeStatus& status : progress_.take(run_id, version, before))
      append(status);
    commands_.push_back(Run{run_id, version});
    return true;
  }

  bool move(std::int64_t version) {
    version_ = version;
    told(progress_.move_to(version));
    commands_.push_back(Move{version});
    return true;
  }

  bool worker_takes_commands() {
    if (commands_.empty()) return false;
    for (const auto& command : commands_)
      if (const auto* run = std::get_if<Run>(&command))
        next_ = *run;
      else
        (next_ ? next_->version : current_.version) = std::get<Move>(command).version;
    commands_.clear();
    return true;
  }

  bool worker_starts() {
    if (in_round_ || !next_) return false;
    current_ = *next_;
    next_.reset();
    in_round_ = true;
    const engine::RoundStarted started = first_round(current_.version, current_.id);
    append(*Progress::status_at_start(started));  // the committer
    events_.push_back(started);
    return true;
  }

  bool worker_ends() {
    if (!in_round_) return false;
    in_round_ = false;
    ended_.insert(current_.id);
    events_.push_back(kept(current_.version, current_.id));
    return true;
  }

  bool worker_gives_up() {  // in favour of the next recipe
    if (!in_round_ || !next_) return false;
    in_round_ = false;
    events_.push_back(engine::RoundEnd{.run_id = current_.id, .version = current_.version, .not_reached = 1});
    return true;
  }

  bool loop_reads() {
    if (events_.empty()) return false;
    told(progress_.on_worker_event(events_.front(), {}, version_));
    events_.pop_front();
    return true;
  }

  // What the loop tells of the recipe in force is true, and of its present version.
  void told(const Statuses& statuses) {
    for (const RecipeStatus& status : statuses) {
      REQUIRE(status.status == RecipeProgress::converged);
      REQUIRE(ended_.contains(run_id_));
      REQUIRE(status.recipe_version == version_);
      append(status);
    }
  }

  void append(const RecipeStatus& status) {
    const bool is_first = status.recipe_version <= 2;
    if (status.status == RecipeProgress::accepted) accepted_.insert(is_first);
    if (status.status == RecipeProgress::running || status.status == RecipeProgress::converged)
      REQUIRE(accepted_.contains(is_first));
    if (status.status == RecipeProgress::converged && is_first) REQUIRE(!accepted_.contains(false));
    spool_.push_back(status);
  }

  void check_end() const {
    REQUIRE(sent_ >= 4);
    REQUIRE(ended_.contains("second"));
    REQUIRE(spool_.back() == converged(4));
    for (std::size_t i = 0; i < spool_.size(); ++i)
      for (std::size_t j = 0; j < i; ++j)
        REQUIRE(spool_[i] != spool_[j]);  // everything once
  }

  int sent_ = 0;
  std::deque<std::variant<Run, Move>> commands_;
  std::deque<engine::Event> events_;
  Statuses spool_;
  // The loop.
  Progress progress_;
  std::string run_id_;
  std::int64_t version_ = 0;
  // The worker.
  std::optional<Run> next_;
  Run current_;
  bool in_round_ = false;
  // What has happened.
  std::set<std::string> ended_;
  std::set<bool> accepted_;  // true: the first recipe, false: the second
};

}  // namespace

TEST_CASE("in whatever order things happen, accepted comes first and nothing untrue is told") {
  const std::size_t orders = Orders().explore();
  MESSAGE(orders, " orders");
  CHECK(orders > 1000);
}

}  // namespace agent::runtime

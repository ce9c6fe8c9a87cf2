// RecipeModules: sees to it that the modules of recipes are there. It has them fetched on a thread of their
// own, tries again when that fails, and looks for new commits of moving tags when a round has started, and
// while one waits for other machines. Modules that no recipe uses any more are let go of. What follows from
// that is ActiveRecipe's to decide. Belongs to the loop's thread; nothing here blocks.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/log_line.hpp"
#include "agent/modules/sources/module_fetches.hpp"
#include "agent/runtime/active_recipe.hpp"
#include "transport/async.hpp"

namespace agent::runtime {

RecipeTypes types_of(const modules::StateSources& sources);

class RecipeModules {
 public:
  struct Parts {
    transport::asio::any_io_executor executor;
    const modules::ModuleSettings& settings;
    std::shared_ptr<const modules::StateSources> local;
    ActiveRecipe& recipe;
    std::chrono::milliseconds round_delay;  // moving tags are not asked about more often, nor than each 30 s
    LogLine log;
    std::function<void(RecipeDecision)> carry_out;
  };
  // What people want to know.
  struct View {
    std::optional<recipe::ModuleSource> fetching;  // or waiting for the next attempt
    std::string progress;
    std::string problem;  // why the last attempt failed
    std::optional<std::chrono::system_clock::time_point> next_attempt;
  };

  explicit RecipeModules(Parts parts);

  // For ActiveRecipe::start(). Blocks shortly.
  base::Result<RecipeTypes> open(const StoredRecipe& recipe);

  // The recipe in force or the one that waits is another. What it wants comes before all else; again and
  // again, with growing pauses, until it wants something else, or nothing.
  void recipe_changed();
  // For a plan: once. False when too many wait.
  using Ready = std::function<void(base::Result<RecipeTypes>)>;
  bool get(const recipe::ModuleSource& source, Ready ready);
  void on_worker_event(const engine::Event& event);

  const View& view() const { return view_; }

 private:
  using Clock = std::chrono::steady_clock;
  using Sources = std::shared_ptr<const modules::StateSources>;

  void attempt();
  void attempt_ended(modules::ModuleAnswer answer);
  void attempt_failed(const base::Error& error);
  void try_again_after(std::chrono::milliseconds pause);
  void let_go_of_old_ones();
  void refresh();
  void refresh_during_wait();
  void refresh_ended(const recipe::ModuleSource& source, modules::ModuleAnswer answer);
  void ready(const Sources& sources);
  void give_up_plans();
  bool submit(const recipe::ModuleSource& source, bool must_ask,
              std::function<void(modules::ModuleAnswer)> done);
  void heard(const recipe::ModuleSource& source, const std::string& line);
  void log(Level level, const std::string& text) { parts_.log(level, text); }

  const Parts parts_;
  View view_;
  std::optional<recipe::ModuleSource> wanted_;
  std::optional<std::int64_t> waiting_;  // the version for which they are wanted; none: the one in force
  unsigned failures_ = 0;
  std::string unfit_commit_;  // the recipe in force cannot be used with its modules
  bool is_refreshing_ = false;
  bool has_asked_ = false;
  Clock::time_point asked_{};    // when a moving tag was asked about last
  std::string refresh_problem_;  // that was logged last
  std::uint64_t turn_ = 0;       // answers of earlier turns do not count
  Sources in_use_;               // or null
  struct Plan {
    std::uint64_t number = 0;
    Ready ready;
  };
  std::string wait_;  // the state in which the round waits for other machines; "": it does not
  std::vector<Plan> plans_;
  std::uint64_t plan_number_ = 0;
  transport::asio::steady_timer retry_;
  transport::asio::steady_timer during_wait_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  modules::ModuleFetches fetches_;  // last: it calls the others
};

}  // namespace agent::runtime

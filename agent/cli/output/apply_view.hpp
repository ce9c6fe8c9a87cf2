// What `opsagent apply` shows while it works: for people, with a live line on a terminal, or for programs.
#pragma once

#include <memory>

#include "agent/cli/options/options.hpp"
#include "agent/cli/pump.hpp"
#include "terminal/console.hpp"

namespace agent::cli {

class ApplyView : public EventView {
 public:
  // True if the recipe was gone through and every state succeeded.
  bool converged() const { return converged_; }
  // True if there was a round, however it ended.
  bool had_round() const { return had_round_; }

 protected:
  void note(const engine::Event& event);

 private:
  bool converged_ = false;
  bool had_round_ = false;
};

std::unique_ptr<ApplyView> make_text_view(const Options& options, terminal::Console& console);
std::unique_ptr<ApplyView> make_json_view(terminal::Console& console);

// Said behind the reason why there was no round at all.
inline constexpr std::string_view kNothingDone = "nothing was applied";

// "2 changed, 7 kept, 1 not reached in 1.23 s"
std::string round_summary(const engine::RoundEnd& end);
std::string duration_text(std::chrono::microseconds duration);
// "1 state", "2 states"
std::string states_text(std::size_t number);

}  // namespace agent::cli

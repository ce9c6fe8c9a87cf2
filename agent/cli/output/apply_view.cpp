#include "agent/cli/output/apply_view.hpp"

#include <array>
#include <cstdio>

#include "agent/cli/output/event_json.hpp"
#include "base/text.hpp"

namespace agent::cli {

namespace {

class JsonView final : public ApplyView {
 public:
  explicit JsonView(terminal::Console& console) : console_(console) {}

  void show(const engine::Event& event) override {
    note(event);
    const auto* end = std::get_if<engine::RoundEnd>(&event);
    if (end && !end->problem.empty())
      return show(engine::Notice{engine::Notice::Level::warning, end->problem});
    if (std::holds_alternative<engine::Stopped>(event) && !had_round())
      show(engine::Notice{engine::Notice::Level::warning, std::string(kNothingDone)});
    console_.out.json(event_json(event));
  }
  void settle() override { console_.out.flush(); }
  void stopping(engine::Stop::When when) override {
    show(engine::Notice{engine::Notice::Level::info, when == engine::Stop::When::wait
                                                         ? "stopping after the running state"
                                                         : "stopping now"});
  }

 private:
  terminal::Console& console_;
};

}  // namespace

void ApplyView::note(const engine::Event& event) {
  const auto* end = std::get_if<engine::RoundEnd>(&event);
  if (!end || !end->problem.empty()) return;
  had_round_ = true;
  converged_ = end->not_reached == 0;
  for (std::size_t i = 0; i < engine::kOutcomes; ++i)
    if (end->counts[i] > 0 && !engine::is_success(static_cast<engine::Outcome>(i))) converged_ = false;
}

std::unique_ptr<ApplyView> make_json_view(terminal::Console& console) {
  return std::make_unique<JsonView>(console);
}

std::string duration_text(std::chrono::microseconds duration) {
  std::array<char, 32> text{};
  const double seconds = static_cast<double>(duration.count()) / 1e6;
  const auto whole = static_cast<long long>(seconds);
  int length = 0;
  if (seconds < 0.01)
    length = std::snprintf(text.data(), text.size(), "%.1f ms", seconds * 1000);
  else if (seconds < 1)
    length = std::snprintf(text.data(), text.size(), "%.0f ms", seconds * 1000);
  else if (seconds < 10)
    length = std::snprintf(text.data(), text.size(), "%.2f s", seconds);
  else if (seconds < 120)
    length = std::snprintf(text.data(), text.size(), "%.0f s", seconds);
  else
    length = std::snprintf(text.data(), text.size(), "%lld min %lld s", whole / 60, whole % 60);
  return {text.data(), static_cast<std::size_t>(length)};
}

std::string states_text(std::size_t number) {
  return std::to_string(number) + (number == 1 ? " state" : " states");
}

std::string round_summary(const engine::RoundEnd& end) {
  constexpr std::array kOrder{engine::Outcome::failed,    engine::Outcome::timed_out,
                              engine::Outcome::cancelled, engine::Outcome::changed,
                              engine::Outcome::kept,      engine::Outcome::skipped};
  std::vector<std::string> parts;
  for (const engine::Outcome outcome : kOrder) {
    const std::size_t number = end.counts[static_cast<std::size_t>(outcome)];
    std::string name(outcome == engine::Outcome::timed_out ? "timed out" : engine::outcome_name(outcome));
    if (number > 0) parts.push_back(std::to_string(number) + " " + name);
  }
  if (end.not_reached > 0) parts.push_back(std::to_string(end.not_reached) + " not reached");
  if (parts.empty()) parts.emplace_back("no states");
  return base::join(parts, ", ") + " in " + duration_text(end.duration);
}

}  // namespace agent::cli

// For tests of the update's table: events go in, a text of the actions comes out.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "update/update_table.hpp"

namespace tests {

inline constexpr int kUpdatePhases = static_cast<int>(update::Phase::refused) + 1;

// Of an update from 1-aa to 2-bb.
inline update::Record update_record(update::Phase phase) {
  return {.phase = phase, .action_id = "a", .version = "2", .from = "1-aa", .to = "2-bb", .release = 7};
}

// An event with what always comes with it.
inline update::Input with_data(update::Event event) {
  using update::Event;
  update::Input input{.event = event};
  if (event == Event::failed || event == Event::refused || event == Event::unhealthy ||
      event == Event::self_test_timed_out)
    input.why = update::Why{.reason = "because"};
  if (event == Event::asked)
    input.record = {.phase = update::Phase::requested, .action_id = "b", .version = "3", .from = "1-aa"};
  if (event == Event::thread_busy) input.busy = update::Action::download;
  return input;
}

inline std::string text_of(const update::Actions& actions) {
  std::string text;
  for (const update::Action action : actions)
    text.append(text.empty() ? "" : " ").append(name_of(action));
  return text;
}

// An update whose journal is written, or is not.
class UpdatePlay {
 public:
  explicit UpdatePlay(update::Phase phase) { progress.record = update_record(phase); }
  explicit UpdatePlay(update::Step first) { text_ = perform(std::move(first)); }

  // "-> the phase: the actions", those after a write included; "refused" when the event means nothing.
  std::string take(const update::Input& input) {
    auto taken = update::step(progress, input);
    return taken ? perform(std::move(*taken)) : "refused";
  }
  std::string take(update::Event event) { return take(with_data(event)); }
  const std::string& first() const { return text_; }
  const update::Record& record() const { return *progress.record; }

  update::Progress progress;
  bool is_writable = true;

 private:
  std::string perform(update::Step taken) {
    update::Actions all;
    for (std::optional<update::Step> next = std::move(taken); next;) {
      progress = std::move(next->next);
      all.insert(all.end(), next->actions.begin(), next->actions.end());
      const bool writes =
          std::ranges::find(next->actions, update::Action::write_journal) != next->actions.end();
      if (writes)
        next = update::step(progress,
                            {.event = is_writable ? update::Event::written : update::Event::not_written});
      else
        next.reset();
    }
    const std::string phase(progress.record ? name_of(progress.record->phase) : "none");
    return "-> " + phase + (all.empty() ? "" : ": " + text_of(all));
  }

  std::string text_;
};

}  // namespace tests

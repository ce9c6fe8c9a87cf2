#include "agent/engine/records/recovery.hpp"

#include <algorithm>

namespace agent::engine {

namespace {

using Entries = std::vector<Journal::Entry>;

bool is_same_report(const Journal::Entry& a, const Journal::Entry& b) {
  return a.begun_in == b.begun_in && a.index == b.index;
}

// A state that is tried again is begun again, with all that was begun before.
Entries last_of_each(Entries entries) {
  Entries last;
  for (auto entry = entries.begin(); entry != entries.end(); ++entry)
    if (std::none_of(entry + 1, entries.end(),
                     [&](const Journal::Entry& later) { return is_same_report(*entry, later); }))
      last.push_back(*entry);
  return last;
}

StateResult result_of(const Journal::Entry& entry, Outcome outcome, std::string comment) {
  return {.id = entry.id,
          .module = entry.module,
          .run_id = entry.begun_in.run_id,
          .version = entry.version,
          .round = entry.begun_in.round,
          .index = entry.index,
          .outcome = outcome,
          .comment = std::move(comment),
          .changes = entry.changes,
          .resumed = true,
          .started = std::chrono::system_clock::now()};
}

StateResult as_reported(const Journal::Entry& entry, const Entries& all) {
  // A round goes on only when a state has succeeded.
  const bool is_made = std::ranges::any_of(all, [&](const Journal::Entry& later) {
    return later.begun_in == entry.begun_in && later.index > entry.index;
  });
  if (is_made)
    return result_of(entry, Outcome::changed, "Made by a run that was killed before it could say so");
  return as_uncertain(entry, "another recipe has taken its place");
}

}  // namespace

StateResult as_uncertain(const Journal::Entry& entry, std::string_view why) {
  return result_of(entry, Outcome::cancelled,
                   "The run was killed while it made this change, and " + std::string(why) +
                       ": the change may have been made, in part or in whole");
}

Recovery recover(Entries unfinished, const recipe::Recipe* recipe, const std::string& root) {
  const Entries entries = last_of_each(std::move(unfinished));
  Recovery recovery;
  for (auto entry = entries.begin(); entry != entries.end(); ++entry) {
    const auto is_for_state = [&](const Journal::Entry& other) {
      return recipe && other.digest == recipe->digest() && other.root == root && other.index == entry->index;
    };
    // Only the last one of a state is what the state's plan will find.
    const bool is_looked_at = is_for_state(*entry) && entry->index < recipe->states().size() &&
                              std::none_of(entry + 1, entries.end(), is_for_state);
    if (is_looked_at)
      recovery.begun.push_back(*entry);
    else
      recovery.others.push_back(as_reported(*entry, entries));
  }
  return recovery;
}

}  // namespace agent::engine

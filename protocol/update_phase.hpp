// UpdatePhase: how far an agent's update is, and the word for each phase. The same words are on the wire
// (UpdateStatus), in the agent's update journal and in the backend's database: none of them may ever change.
//
// Pure, any thread. Header only, and nothing but the standard library: the launcher uses it and must not link
// the protocol.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

namespace protocol {

// In the order of the steps in docs/self-update.md.
enum class UpdatePhase {
  requested,
  metadata,
  downloading,
  verifying,
  staged,
  draining,
  armed,
  switched,
  restarting,
  trial,
  confirmed,
  rolled_back,
  failed,
  refused  // one of the last four closes an action
};

// By UpdatePhase.
inline constexpr std::array<std::string_view, 14> kUpdatePhaseWords{
    "requested", "metadata",   "downloading", "verifying", "staged",      "draining", "armed",
    "switched",  "restarting", "trial",       "confirmed", "rolled_back", "failed",   "refused"};
static_assert(kUpdatePhaseWords.size() == static_cast<std::size_t>(UpdatePhase::refused) + 1);

constexpr std::string_view name_of(UpdatePhase phase) {
  return kUpdatePhaseWords[static_cast<std::size_t>(phase)];
}

// Nothing: no phase has this name.
constexpr std::optional<UpdatePhase> update_phase_of(std::string_view name) {
  const auto* const found = std::ranges::find(kUpdatePhaseWords, name);
  if (found == kUpdatePhaseWords.end()) return std::nullopt;
  return static_cast<UpdatePhase>(found - kUpdatePhaseWords.begin());
}

constexpr bool is_closed(UpdatePhase phase) {
  return phase >= UpdatePhase::confirmed;
}

// The version before runs, and works on the update. After that there is a deadline.
constexpr bool is_before_switch(UpdatePhase phase) {
  return phase < UpdatePhase::armed;
}

}  // namespace protocol

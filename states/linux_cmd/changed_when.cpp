#include "states/linux_cmd/changed_when.hpp"

#include <algorithm>
#include <optional>

#include "base/text.hpp"

namespace states::linux_cmd {

namespace {

constexpr std::string_view kOutput = "output:";
constexpr int kLargestStatus = 255;

base::Error illegal(std::string message) {
  return {base::ErrorCode::invalid, "Illegal changed_when: " + std::move(message)};
}

}  // namespace

base::Result<ChangedWhen> read_changed_when(List entries) {
  ChangedWhen when;
  for (const std::string_view entry : entries) {
    if (entry == "never" || entry == "false") {
      when.never = true;
    } else if (const auto status = base::parse_integer(entry)) {
      if (*status < 0 || *status > kLargestStatus)
        return illegal("'" + std::string(entry) + "' is no exit status (0 to 255)");
      when.statuses.push_back(static_cast<int>(*status));
    } else {
      std::string_view text = entry;
      if (text.starts_with(kOutput)) text = base::trim(text.substr(kOutput.size()));
      if (text.empty()) return illegal("'output:' without a text");
      when.texts.push_back(text);
    }
  }
  if (when.never && entries.size() > 1) return illegal("'never' stands alone");
  return when;
}

Ended judge_ending(const ChangedWhen& when, const base::Completed& completed, std::string_view output) {
  if (completed.ending != base::Ending::exited) return Ended::failed;
  if (std::ranges::find(when.statuses, completed.exit_code) != when.statuses.end()) return Ended::changed;
  if (!completed.ok()) return Ended::failed;
  if (when.never) return Ended::unchanged;
  if (!when.is_given()) return Ended::changed;
  const bool is_said = std::ranges::any_of(
      when.texts, [&](std::string_view text) { return output.find(text) != output.npos; });
  return is_said || (!when.texts.empty() && completed.dropped_bytes > 0) ? Ended::changed : Ended::unchanged;
}

}  // namespace states::linux_cmd

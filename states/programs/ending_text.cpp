#include "states/programs/ending_text.hpp"

#include <string.h>

#include <algorithm>

#include "base/text.hpp"

namespace states::programs {

namespace {

constexpr std::size_t kLongestShown = 200;

}  // namespace

std::string ending_of(const base::Completed& completed) {
  if (completed.ending != base::Ending::signalled) return "exit " + std::to_string(completed.exit_code);
  const char* name = ::sigabbrev_np(completed.signal);
  return "signal " + (name ? std::string(name) : std::to_string(completed.signal));
}

std::string shortened(std::string_view text, const Context& context) {
  const std::string shown = context.without_secrets(text);
  std::size_t end = 0;
  while (end < shown.size() && end < kLongestShown)
    end += std::max<std::size_t>(base::utf8_length(shown, end), 1);
  return shown.substr(0, end) + (end < shown.size() ? "…" : "");
}

}  // namespace states::programs

#include "states/packages/lists.hpp"

#include <cctype>
#include <span>

#include "base/text.hpp"

namespace states::packages {

std::string bounded_list(const std::vector<std::string>& names) {
  constexpr std::size_t kMostListed = 20;
  if (names.size() <= kMostListed) return base::join(names, ", ");
  return base::join(std::span(names).first(kMostListed), ", ") + " and " +
         std::to_string(names.size() - kMostListed) + " more";
}

void append_list(std::string& text, std::string_view word, const std::vector<std::string>& names) {
  if (names.empty()) return;
  text.append(text.empty() ? "" : "; ").append(word).append(" ").append(base::join(names, ", "));
}

void capitalise(std::string& text) {
  if (!text.empty()) text.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(text.front())));
}

}  // namespace states::packages

#include "backend/domain/selectors/text_pattern.hpp"

namespace backend::domain {

TextPattern TextPattern::parse(std::string_view written) {
  TextPattern pattern;
  for (const char c : written) {
    if (c == '*')
      pattern.pieces.emplace_back();
    else
      pattern.pieces.back() += c;
  }
  return pattern;
}

bool TextPattern::matches(std::string_view text) const {
  if (pieces.size() == 1) return text == pieces[0];
  if (!text.starts_with(pieces.front())) return false;
  text.remove_prefix(pieces.front().size());
  // The leftmost place of each piece between leaves the most room for the rest.
  for (std::size_t i = 1; i + 1 < pieces.size(); ++i) {
    const std::size_t at = text.find(pieces[i]);
    if (at == std::string_view::npos) return false;
    text.remove_prefix(at + pieces[i].size());
  }
  return text.ends_with(pieces.back());
}

bool TextPattern::covers(const TextPattern& other) const {
  if (other.pieces.size() == 1) return matches(other.pieces[0]);
  if (pieces == other.pieces) return true;
  return pieces.size() == 2 && other.pieces.front().starts_with(pieces.front()) &&
         other.pieces.back().ends_with(pieces.back()) && (pieces.front().empty() || pieces.back().empty());
}

}  // namespace backend::domain

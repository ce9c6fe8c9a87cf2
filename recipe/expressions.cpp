#include "recipe/expressions.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace recipe {

namespace {

// Behind the "}}" that ends the expression which begins at `at`; npos: there is none. A "}}" in a text or in
// brackets does not end it.
std::size_t end_of_expression(std::string_view text, std::size_t at) {
  int open = 0;
  char quote = 0;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (quote != 0) {
      if (c == '\\')
        ++at;
      else if (c == quote)
        quote = 0;
    } else if (c == '\'' || c == '"') {
      quote = c;
    } else if (c == '(' || c == '[' || c == '{') {
      ++open;
    } else if (c == '}' && open == 0 && text.substr(at).starts_with(kExpressionEnd)) {
      return at + kExpressionEnd.size();
    } else if (c == ')' || c == ']' || c == '}') {
      --open;
    }
  }
  return std::string_view::npos;
}

// The byte where the value at `offset` begins.
std::size_t byte_of(const Document& document, std::uint32_t offset) {
  if (document.syntax == Syntax::json) return offset;
  std::size_t at = 0;
  for (std::uint32_t counted = 0; counted < offset && at < document.text.size(); ++counted)
    at += std::max<std::size_t>(base::utf8_length(document.text, at), 1);
  return at;
}

Position position_of(const Document& document, std::size_t byte) {
  const std::string_view before = std::string_view(document.text).substr(0, byte);
  const std::size_t newline = before.rfind('\n');
  const std::size_t start = newline == std::string_view::npos ? 0 : newline + 1;
  Position position{1, 1};
  for (const char c : before)
    if (c == '\n') ++position.line;
  for (std::size_t at = start; at < byte; ++position.column)
    at += std::max<std::size_t>(base::utf8_length(document.text, at), 1);
  return position;
}

}  // namespace

bool looks_like_template(std::string_view text) {
  const auto is_part = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
  };
  std::size_t end = 0;
  for (std::size_t at = 0; (at = text.find("{{", at)) != std::string_view::npos; at += 2) {
    if (at > 0 && text[at - 1] == '$') continue;
    if (end < at + 2) end = text.find("}}", at + 2);
    if (end == std::string_view::npos) return false;
    const std::string_view inner = base::trim(text.substr(at + 2, end - at - 2));
    if (!inner.empty() && std::ranges::all_of(inner, is_part)) return true;
  }
  return false;
}

std::variant<std::vector<Piece>, PieceProblem> parse_pieces(std::string_view text) {
  std::vector<Piece> pieces;
  std::size_t at = 0;
  for (std::size_t number = 0; at < text.size(); ++number) {
    const std::size_t begin = text.find(kExpressionBegin, at);
    if (begin == std::string_view::npos) break;
    if (number == kMostPieces)
      return PieceProblem{
          "the text has more than " + std::to_string(kMostPieces) + " expressions: write a template", 0};
    const std::size_t end = end_of_expression(text, begin + kExpressionBegin.size());
    if (end == std::string_view::npos)
      return PieceProblem{
          "the expression has no end: '}}' is missing; to write '${{' itself, say ${{ '${{' }}", number};
    if (begin > at) pieces.push_back({text.substr(at, begin - at), nullptr, number});
    const std::size_t inner = begin + kExpressionBegin.size();
    auto parsed =
        templates::Template::parse_expression("", text.substr(inner, end - kExpressionEnd.size() - inner));
    if (auto* problem = std::get_if<templates::Problem>(&parsed))
      return PieceProblem{std::move(problem->message), number, problem->line, problem->column};
    pieces.push_back({text.substr(begin, end - begin), std::get<0>(std::move(parsed)), number});
    at = end;
  }
  if (at < text.size()) pieces.push_back({text.substr(at), nullptr, 0});
  return pieces;
}

Position locate_expression(const Document& document, std::uint32_t offset, std::size_t number,
                           std::size_t line, std::size_t column) {
  std::size_t at = byte_of(document, offset);
  for (std::size_t i = 0; i <= number; ++i) {
    const std::size_t found = document.text.find(kExpressionBegin, i == 0 ? at : at + 1);
    if (found == std::string::npos) return position_of(document, at);  // an anchor's text stands before
    at = found;
  }
  Position position = position_of(document, at + kExpressionBegin.size());
  if (line > 1) return {position.line + line - 1, column};
  position.column += column - 1;
  return position;
}

Position locate_in_text(const Document& document, std::uint32_t offset, std::size_t line,
                        std::size_t column) {
  const std::size_t at = byte_of(document, offset);
  const std::string_view text = document.text;
  Position position = position_of(document, at);
  const bool is_block = document.syntax == Syntax::yaml && at < text.size() && (text[at] == '|');
  if (is_block) {
    // The block's indentation is that of its first line with anything in it.
    std::size_t start = text.find('\n', at);
    std::size_t indent = 0;
    while (start != std::string_view::npos) {
      const std::size_t first = text.find_first_not_of(' ', start + 1);
      if (first == std::string_view::npos) break;
      if (text[first] != '\n') {
        indent = first - start - 1;
        break;
      }
      start = first;
    }
    return {position.line + line, column + indent};
  }
  const bool is_quoted = at < text.size() && (text[at] == '"' || text[at] == '\'');
  if (line > 1) return {position.line, position.column};
  return {position.line, position.column + column - 1 + (is_quoted ? 1 : 0)};
}

}  // namespace recipe

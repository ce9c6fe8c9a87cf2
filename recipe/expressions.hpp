// Texts of a recipe with expressions in them: "port=${{ vars.port }}".
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "recipe/document.hpp"
#include "templates/templates.hpp"

namespace recipe {

inline constexpr std::string_view kExpressionBegin = "${{";
inline constexpr std::string_view kExpressionEnd = "}}";

inline constexpr std::size_t kMostPieces = 20'000;  // expressions of one text

inline bool has_expression(std::string_view text) {
  return text.find(kExpressionBegin) != std::string_view::npos;
}

// Whether a text that is no template looks as if it was meant to be one: "{{ name }}", "{{ name.part }}".
bool looks_like_template(std::string_view text);

// A part of a text: an expression, or what stands between two.
struct Piece {
  std::string_view text;  // as it stands there, of an expression with its signs
  std::shared_ptr<const templates::Template> expression;  // null: plain text
  std::size_t number = 0;                                 // of the expression in its text, from 0
};

// What is wrong with an expression of a text.
struct PieceProblem {
  std::string message;
  std::size_t number = 0;            // of the expression
  std::size_t line = 1, column = 1;  // in what stands behind "${{"
};

// The pieces are views into `text`.
std::variant<std::vector<Piece>, PieceProblem> parse_pieces(std::string_view text);

// Where the given expression of the text that begins at `offset` stands in the document, or what is so far
// behind it.
Position locate_expression(const Document& document, std::uint32_t offset, std::size_t number,
                           std::size_t line = 1, std::size_t column = 1);
// The same for a place in a text of several lines, such as a template.
Position locate_in_text(const Document& document, std::uint32_t offset, std::size_t line, std::size_t column);

}  // namespace recipe

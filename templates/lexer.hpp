// Text to tokens, with Jinja2's rules for tags, white space around them and raw parts.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "templates/memory.hpp"
#include "templates/value.hpp"

namespace templates {

struct Options {
  bool trim_blocks = true;            // a newline behind a block goes, as in Ansible
  bool lstrip_blocks = false;         // blanks before a block that begins its line go
  bool keep_trailing_newline = true;  // as in Ansible; Jinja2 by itself drops it
};

enum class TokenKind : std::uint8_t {
  data,
  variable_begin,
  variable_end,
  block_begin,
  block_end,
  name,
  text,
  number,
  sign,  // an operator or bracket: its text says which
  end,
};

struct Token {
  TokenKind kind = TokenKind::end;
  std::uint32_t at = 0;
  std::string_view text{};  // data, names, signs
  Value value{};            // of texts and numbers

  bool is(std::string_view sign) const { return kind == TokenKind::sign && text == sign; }
  bool is_name(std::string_view name) const { return kind == TokenKind::name && text == name; }
};

// A failure while text is read, with its place.
struct SyntaxFailure {
  std::string message;
  std::uint32_t at;
};

// "\r\n" and "\r" as "\n", and without the last newline if that is not to be kept.
std::string normalized(std::string_view source, const Options& options);

// `source` is normalized and stays; texts are made in `memory`. Throws SyntaxFailure.
std::vector<Token> tokenize(std::string_view source, const Options& options, Memory& memory);
// The same for one expression, without "{{" and "}}".
std::vector<Token> tokenize_expression(std::string_view source, Memory& memory);

}  // namespace templates

#include "templates/lexer.hpp"

#include <algorithm>
#include <array>

#include "base/text.hpp"
#include "templates/print.hpp"
#include "templates/text.hpp"

namespace templates {

std::string normalized(std::string_view source, const Options& options) {
  std::string text;
  text.reserve(source.size());
  for (std::size_t i = 0; i < source.size(); ++i) {
    if (source[i] != '\r') {
      text += source[i];
      continue;
    }
    text += '\n';
    if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
  }
  if (!options.keep_trailing_newline && text.ends_with('\n')) text.pop_back();
  return text;
}

namespace {

bool is_digit_byte(char c) {
  return c >= '0' && c <= '9';
}

class Lexer {
 public:
  Lexer(std::string_view source, const Options& options, Memory& memory)
      : source_(source), options_(options), memory_(memory) {}

  std::vector<Token> run() {
    while (at_ < source_.size())
      root();
    return finish();
  }

  std::vector<Token> run_expression() {
    while (at_ < source_.size())
      token();
    return finish();
  }

 private:
  std::vector<Token> finish() {
    tokens_.push_back({TokenKind::end, static_cast<std::uint32_t>(source_.size())});
    return std::move(tokens_);
  }

  [[noreturn]] static void fail(std::string message, std::size_t at) {
    throw SyntaxFailure{std::move(message), static_cast<std::uint32_t>(at)};
  }

  void add(TokenKind kind, std::size_t at, std::string_view text = {}) {
    tokens_.push_back({kind, static_cast<std::uint32_t>(at), text});
  }

  std::string_view rest(std::size_t at) const { return source_.substr(std::min(at, source_.size())); }

  std::size_t skip_space(std::size_t at) const {
    while (at < source_.size()) {
      const std::string_view text = rest(at);
      const std::size_t size = character_size(text, 0);
      if (!stripped(text.substr(0, size), true, true).empty()) break;
      at += size;
    }
    return at;
  }

  // Text up to the next tag, and the tag's beginning.
  void root() {
    std::size_t tag = at_;
    while (true) {
      tag = source_.find('{', tag);
      if (tag == std::string_view::npos || tag + 1 >= source_.size()) return last_data();
      if (std::string_view("{%#").find(source_[tag + 1]) != std::string_view::npos) break;
      ++tag;
    }
    const char type = source_[tag + 1];
    std::size_t after = tag + 2;
    char sign = 0;
    if (after < source_.size() && (source_[after] == '-' || source_[after] == '+')) sign = source_[after++];
    const std::size_t raw = type == '%' ? raw_begin(after) : 0;
    data(source_.substr(at_, tag - at_), sign, type == '{');
    at_ = after;
    if (raw != 0) {
      at_ = raw;
      line_starting_ = source_[raw - 1] == '\n';
      raw_part(tag);
    } else if (type == '#') {
      comment(tag);
    } else {
      add(type == '{' ? TokenKind::variable_begin : TokenKind::block_begin, tag);
      line_starting_ = false;
      inside(type == '{');
    }
  }

  void last_data() {
    add(TokenKind::data, at_, source_.substr(at_));
    at_ = source_.size();
  }

  void data(std::string_view text, char sign, bool is_variable) {
    if (sign == '-') {
      text = stripped(text, false, true);
    } else if (sign != '+' && options_.lstrip_blocks && !is_variable) {
      const std::size_t newline = text.rfind('\n');
      const std::size_t begin = newline == std::string_view::npos ? 0 : newline + 1;
      if ((begin > 0 || line_starting_) && begin < text.size() &&
          stripped(text.substr(begin), true, true).empty())
        text = text.substr(0, begin);
    }
    if (!text.empty()) add(TokenKind::data, at_, text);
  }

  // Where a "raw" tag ends, whose inside begins at `at`; 0 if it is another tag.
  std::size_t raw_begin(std::size_t at) const {
    at = skip_space(at);
    if (!rest(at).starts_with("raw")) return 0;
    at = skip_space(at + 3);
    if (rest(at).starts_with("%}")) return at + 2;
    return rest(at).starts_with("-%}") ? skip_space(at + 3) : 0;
  }

  // The place behind an end of a tag, if there is one here; 0 otherwise.
  std::size_t tag_end(std::size_t at, std::string_view end, bool is_variable) const {
    if (!is_variable && rest(at).starts_with("+") && rest(at + 1).starts_with(end))
      return at + 1 + end.size();
    if (rest(at).starts_with("-") && rest(at + 1).starts_with(end)) return skip_space(at + 1 + end.size());
    if (!rest(at).starts_with(end)) return 0;
    at += end.size();
    return !is_variable && options_.trim_blocks && rest(at).starts_with('\n') ? at + 1 : at;
  }

  void comment(std::size_t begin) {
    for (std::size_t at = at_; at < source_.size(); ++at) {
      const std::size_t end = tag_end(at, "#}", false);
      if (end == 0) continue;
      at_ = end;
      line_starting_ = source_[end - 1] == '\n';
      return;
    }
    fail("Missing end of comment tag", begin);
  }

  void raw_part(std::size_t begin) {
    for (std::size_t tag = source_.find("{%", at_); tag != std::string_view::npos;
         tag = source_.find("{%", tag + 1)) {
      std::size_t at = tag + 2;
      char sign = 0;
      if (at < source_.size() && (source_[at] == '-' || source_[at] == '+')) sign = source_[at++];
      at = skip_space(at);
      if (!rest(at).starts_with("endraw")) continue;
      const std::size_t end = tag_end(skip_space(at + 6), "%}", false);
      if (end == 0) continue;
      data(source_.substr(at_, tag - at_), sign, false);
      at_ = end;
      line_starting_ = source_[end - 1] == '\n';
      return;
    }
    fail("Missing end of raw directive", begin);
  }

  void inside(bool is_variable) {
    open_.clear();
    const std::string_view end = is_variable ? "}}" : "%}";
    while (true) {
      if (at_ >= source_.size()) return;  // the parser knows what is missing
      if (const std::size_t behind = open_.empty() ? tag_end(at_, end, is_variable) : 0; behind != 0) {
        add(is_variable ? TokenKind::variable_end : TokenKind::block_end, at_);
        at_ = behind;
        line_starting_ = source_[behind - 1] == '\n';
        return;
      }
      token();
    }
  }

  void token() {
    const std::size_t blank = skip_space(at_);
    if (blank > at_) {
      at_ = blank;
      return;
    }
    const char c = source_[at_];
    if (is_digit_byte(c)) return number();
    if (c == '\'' || c == '"') return text(c);
    if (const std::size_t size = name_size(); size > 0) return name(size);
    sign();
  }

  std::size_t name_size() const {
    std::size_t size = 0;
    const std::string_view text = rest(at_);
    while (size < text.size()) {
      const std::size_t bytes = character_size(text, size);
      bool fits = false;
      for_each_character(text.substr(size, bytes), [&](char32_t c, std::string_view) {
        fits = c < 0x80 ? c == '_' || (c >= '0' && c <= '9') || ((c | 0x20U) >= 'a' && (c | 0x20U) <= 'z')
                        : is_word(c);
      });
      if (!fits) break;
      size += bytes;
    }
    return size;
  }

  void name(std::size_t size) {
    add(TokenKind::name, at_, source_.substr(at_, size));
    at_ += size;
  }

  // Digits with single underscores between them.
  std::size_t digits(std::size_t at, bool (*fits)(char)) const {
    while (at < source_.size()) {
      if (fits(source_[at]))
        ++at;
      else if (source_[at] == '_' && at + 1 < source_.size() && fits(source_[at + 1]))
        at += 2;
      else
        break;
    }
    return at;
  }

  std::size_t real_end() const {
    if (at_ > 0 && source_[at_ - 1] == '.') return at_;
    std::size_t end = digits(at_, is_digit_byte);
    bool is_real = false;
    if (end + 1 < source_.size() && source_[end] == '.' && is_digit_byte(source_[end + 1])) {
      end = digits(end + 1, is_digit_byte);
      is_real = true;
    }
    if (end < source_.size() && (source_[end] | 0x20) == 'e') {
      std::size_t exponent = end + 1;
      if (exponent < source_.size() && (source_[exponent] == '+' || source_[exponent] == '-')) ++exponent;
      if (exponent < source_.size() && is_digit_byte(source_[exponent])) {
        end = digits(exponent, is_digit_byte);
        is_real = true;
      }
    }
    return is_real ? end : at_;
  }

  std::size_t integer_end() const {
    const auto with_prefix = [&](char letter, bool (*fits)(char)) -> std::size_t {
      if (source_[at_] != '0' || at_ + 1 >= source_.size() || (source_[at_ + 1] | 0x20) != letter) return 0;
      std::size_t begin = at_ + 2;
      if (begin < source_.size() && source_[begin] == '_') ++begin;
      if (begin >= source_.size() || !fits(source_[begin])) return 0;
      return digits(begin, fits);
    };
    if (const auto end = with_prefix('b', [](char c) { return c == '0' || c == '1'; })) return end;
    if (const auto end = with_prefix('o', [](char c) { return c >= '0' && c <= '7'; })) return end;
    if (const auto end = with_prefix(
            'x', [](char c) { return is_digit_byte(c) || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f'); }))
      return end;
    if (source_[at_] == '0') return digits(at_, [](char c) { return c == '0'; });
    return digits(at_, is_digit_byte);
  }

  void number() {
    const std::size_t real = real_end();
    const std::size_t end = real > at_ ? real : integer_end();
    const std::string_view text = source_.substr(at_, end - at_);
    Token token{TokenKind::number, static_cast<std::uint32_t>(at_), text};
    try {
      if (real > at_)
        token.value = Value::real(parse_real(text).value_or(0));
      else
        token.value = Value::integer(parse_int(text, 0).value_or(0));
    } catch (const Failure& failure) {
      fail(failure.message, at_);
    }
    tokens_.push_back(token);
    at_ = end;
  }

  void text(char quote) {
    const std::size_t begin = at_;
    std::size_t at = at_ + 1;
    while (at < source_.size() && source_[at] != quote)
      at += source_[at] == '\\' ? 2 : 1;
    if (at >= source_.size()) fail("a text is not closed", begin);
    Token token{TokenKind::text, static_cast<std::uint32_t>(begin)};
    token.value = Value::text(unescaped(source_.substr(begin + 1, at - begin - 1), begin + 1));
    tokens_.push_back(token);
    at_ = at + 1;
  }

  std::string_view unescaped(std::string_view text, std::size_t begin) {
    if (text.find('\\') == std::string_view::npos) return text;
    std::string result;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] != '\\') {
        result += text[i];
        continue;
      }
      i = escape(text, i + 1, begin, result);
    }
    return memory_.copy(result);
  }

  // Adds what the escape at `i` stands for; answers its last byte.
  std::size_t escape(std::string_view text, std::size_t i, std::size_t begin, std::string& result) {
    static constexpr std::string_view kLetters = "abfnrtv'\"\\";
    static constexpr std::string_view kMeant = "\a\b\f\n\r\t\v'\"\\";
    const char c = text[i];
    if (c == '\n') return i;
    if (const std::size_t known = kLetters.find(c); known != std::string_view::npos) {
      result += kMeant[known];
      return i;
    }
    const std::size_t count = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    if (count > 0) {
      std::uint32_t code = 0;
      for (std::size_t k = 1; k <= count; ++k) {
        const auto digit = i + k < text.size() ? parse_int(text.substr(i + k, 1), 16) : std::nullopt;
        if (!digit) fail(std::string("truncated \\") + c + " escape", begin + i);
        code = code << 4 | static_cast<std::uint32_t>(*digit);
      }
      add_code(code, begin + i, result);
      return i + count;
    }
    if (c >= '0' && c <= '7') {
      std::uint32_t code = 0;
      std::size_t end = i;
      for (; end < text.size() && end < i + 3 && text[end] >= '0' && text[end] <= '7'; ++end)
        code = code * 8 + static_cast<std::uint32_t>(text[end] - '0');
      add_code(code, begin + i, result);
      return end - 1;
    }
    if (c == 'N') fail("characters by name (\\N{...}) are not supported", begin + i);
    result += '\\';
    // Of a longer character the first byte; its others follow as they are.
    result += c;
    return i;
  }

  static void add_code(std::uint32_t code, std::size_t at, std::string& result) {
    if (code >= 0x110000 || (code >= 0xD800 && code < 0xE000)) fail("an escape that is no character", at);
    append_character(code, result);
  }

  void sign() {
    static constexpr std::array<std::string_view, 6> kTwo{"//", "**", "==", "!=", ">=", "<="};
    static constexpr std::string_view kOne = "+-/*%~[](){}><=.:|,;";
    std::string_view sign = source_.substr(at_, 2);
    if (std::ranges::find(kTwo, sign) == kTwo.end()) {
      sign = source_.substr(at_, 1);
      if (kOne.find(sign[0]) == std::string_view::npos)
        fail("unexpected character '" + std::string(source_.substr(at_, character_size(source_, at_))) + "'",
             at_);
    }
    const char c = sign[0];
    if (c == '(' || c == '[' || c == '{') open_ += c;
    if (c == ')' || c == ']' || c == '}') {
      if (open_.empty()) fail("unexpected '" + std::string(sign) + "'", at_);
      const char expected = open_.back() == '(' ? ')' : open_.back() == '[' ? ']' : '}';
      open_.pop_back();
      if (c != expected)
        fail("unexpected '" + std::string(sign) + "', expected '" + std::string(1, expected) + "'", at_);
    }
    add(TokenKind::sign, at_, sign);
    at_ += sign.size();
  }

  std::string_view source_;
  const Options& options_;
  Memory& memory_;
  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  bool line_starting_ = true;
  std::string open_;  // brackets
};

}  // namespace

std::vector<Token> tokenize(std::string_view source, const Options& options, Memory& memory) {
  return Lexer(source, options, memory).run();
}

std::vector<Token> tokenize_expression(std::string_view source, Memory& memory) {
  const Options options;
  return Lexer(source, options, memory).run_expression();
}

}  // namespace templates

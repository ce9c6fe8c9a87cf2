#include <algorithm>
#include <charconv>
#include <limits>

#include "base/text.hpp"
#include "base/values/json.hpp"

namespace base {

namespace {

// A strict reader of RFC 8259, for one reason: a recipe of ten thousand states is read before each run, and
// with positions and views into the text instead of copies that takes a fraction of what a general parser
// needs. The tests hold it against nlohmann's parser.
class JsonReader {
 public:
  JsonReader(std::string_view text, Arena& arena, DocumentLimits limits)
      : text_(text), builder_(arena, limits) {}

  bool read() {
    skip_blanks();
    if (!read_value()) return false;
    skip_blanks();
    return at_ == text_.size() || fail("something follows the end of the JSON value", at_);
  }

  const Value& root() const { return builder_.root(); }
  SyntaxProblem problem() const { return {problem_, static_cast<std::uint32_t>(problem_at_)}; }

 private:
  bool fail(std::string message, std::size_t at) {
    problem_ = std::move(message);
    problem_at_ = at;
    return false;
  }
  bool checked(std::string wrong, std::size_t at) {
    return wrong.empty() ||
           fail(std::move(wrong), builder_.problem_offset().value_or(static_cast<std::uint32_t>(at)));
  }
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  std::uint32_t offset(std::size_t at) const { return static_cast<std::uint32_t>(at); }

  void skip_blanks() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\r' || text_[at_] == '\t'))
      ++at_;
  }

  // Recursion is bounded: the builder refuses what is nested too deeply.
  bool read_value() {
    const std::size_t start = at_;
    switch (peek()) {
      case '{':
        return read_object();
      case '[':
        return read_list();
      case '"': {
        std::string_view text;
        return read_string(text) && checked(builder_.add(Value::string(text).at(offset(start))), start);
      }
      case 't':
        return read_word("true", Value::boolean(true));
      case 'f':
        return read_word("false", Value::boolean(false));
      case 'n':
        return read_word("null", Value());
      default:
        return read_number();
    }
  }

  bool read_word(std::string_view word, Value value) {
    if (text_.substr(at_, word.size()) != word) return fail("a value is expected here", at_);
    const std::size_t start = at_;
    at_ += word.size();
    return checked(builder_.add(value.at(offset(start))), start);
  }

  bool read_list() {
    if (!checked(builder_.begin_list(offset(at_)), at_)) return false;
    ++at_;
    skip_blanks();
    if (peek() == ']') return ++at_, checked(builder_.end_list(), at_);
    while (true) {
      skip_blanks();
      if (!read_value()) return false;
      skip_blanks();
      const char next = peek();
      if (next != ',' && next != ']') return fail("a comma or ']' is expected here", at_);
      ++at_;
      if (next == ']') return checked(builder_.end_list(), at_);
    }
  }

  bool read_object() {
    if (!checked(builder_.begin_object(offset(at_)), at_)) return false;
    ++at_;
    skip_blanks();
    if (peek() == '}') return ++at_, checked(builder_.end_object(), at_);
    while (true) {
      skip_blanks();
      const std::size_t start = at_;
      std::string_view key;
      if (peek() != '"') return fail("a key in double quotes is expected here", at_);
      if (!read_string(key)) return false;
      builder_.key(key, offset(start));
      skip_blanks();
      if (peek() != ':') return fail("a colon is expected here", at_);
      ++at_;
      skip_blanks();
      if (!read_value()) return false;
      skip_blanks();
      const char next = peek();
      if (next != ',' && next != '}') return fail("a comma or '}' is expected here", at_);
      ++at_;
      if (next == '}') return checked(builder_.end_object(), at_);
    }
  }

  // A view into the text, or, if there is an escape in it, into the arena.
  bool read_string(std::string_view& out) {
    const std::size_t start = ++at_;
    bool escaped = false;
    while (at_ < text_.size()) {
      const auto byte = static_cast<unsigned char>(text_[at_]);
      if (byte == '"') {
        const std::string_view raw = text_.substr(start, at_ - start);
        if (escaped && !unescape(raw, start)) return false;
        out = escaped ? builder_.arena().copy(scratch_) : raw;
        ++at_;
        return true;
      }
      if (byte == '\\') {
        escaped = true;
        at_ += 2;
      } else if (byte < 0x20) {
        return fail("a control character in a text must be written as an escape", at_);
      } else if (byte < 0x80) {
        ++at_;
      } else {
        const std::size_t length = utf8_length(text_, at_);
        if (length == 0) return fail("the text is not valid UTF-8", at_);
        at_ += length;
      }
    }
    return fail("a text has no closing quote", start - 1);
  }

  bool unescape(std::string_view raw, std::size_t start) {
    scratch_.clear();
    for (std::size_t i = 0; i < raw.size();) {
      const std::size_t end = std::min(raw.find('\\', i), raw.size());
      scratch_.append(raw, i, end - i);
      if (end == raw.size()) break;
      i = end + 2;
      switch (raw[end + 1]) {
        case '"':
          scratch_ += '"';
          break;
        case '\\':
          scratch_ += '\\';
          break;
        case '/':
          scratch_ += '/';
          break;
        case 'b':
          scratch_ += '\b';
          break;
        case 'f':
          scratch_ += '\f';
          break;
        case 'n':
          scratch_ += '\n';
          break;
        case 'r':
          scratch_ += '\r';
          break;
        case 't':
          scratch_ += '\t';
          break;
        case 'u':
          if (!unescape_unicode(raw, i)) return fail("a wrong \\u escape", start + end);
          break;
        default:
          return fail("an unknown escape", start + end);
      }
    }
    return true;
  }

  // The four digits at `i`, and the second half of a surrogate pair.
  bool unescape_unicode(std::string_view raw, std::size_t& i) {
    const auto digits = [&](std::size_t at) -> std::optional<unsigned> {
      unsigned value = 0;
      if (at + 4 > raw.size()) return std::nullopt;
      const auto [end, error] = std::from_chars(raw.data() + at, raw.data() + at + 4, value, 16);
      return error == std::errc() && end == raw.data() + at + 4 ? std::optional(value) : std::nullopt;
    };
    const auto first = digits(i);
    if (!first) return false;
    i += 4;
    unsigned code = *first;
    if (code >= 0xDC00 && code <= 0xDFFF) return false;
    if (code >= 0xD800 && code <= 0xDBFF) {
      if (raw.substr(i, 2) != "\\u") return false;
      const auto second = digits(i + 2);
      if (!second || *second < 0xDC00 || *second > 0xDFFF) return false;
      i += 6;
      code = 0x10000 + ((code - 0xD800) << 10) + (*second - 0xDC00);
    }
    append_utf8(code);
    return true;
  }

  void append_utf8(unsigned code) {
    const auto add = [&](unsigned byte) { scratch_ += static_cast<char>(byte); };
    if (code < 0x80) {
      add(code);
    } else if (code < 0x800) {
      add(0xC0 | (code >> 6));
      add(0x80 | (code & 0x3F));
    } else if (code < 0x10000) {
      add(0xE0 | (code >> 12));
      add(0x80 | ((code >> 6) & 0x3F));
      add(0x80 | (code & 0x3F));
    } else {
      add(0xF0 | (code >> 18));
      add(0x80 | ((code >> 12) & 0x3F));
      add(0x80 | ((code >> 6) & 0x3F));
      add(0x80 | (code & 0x3F));
    }
  }

  bool skip_digits() {
    const std::size_t start = at_;
    while (peek() >= '0' && peek() <= '9')
      ++at_;
    return at_ > start;
  }

  bool read_number() {
    const std::size_t start = at_;
    if (peek() == '-') ++at_;
    const std::size_t first_digit = at_;
    if (!skip_digits())
      return fail(at_ < text_.size() ? "a value is expected here" : "the text ends too early", start);
    if (text_[first_digit] == '0' && at_ > first_digit + 1)
      return fail("a number must not begin with 0", start);
    bool is_integer = true;
    if (peek() == '.') {
      is_integer = false;
      ++at_;
      if (!skip_digits()) return fail("digits are expected after the point", at_);
    }
    if (peek() == 'e' || peek() == 'E') {
      is_integer = false;
      ++at_;
      if (peek() == '+' || peek() == '-') ++at_;
      if (!skip_digits()) return fail("digits are expected in the exponent", at_);
    }
    const std::string_view digits = text_.substr(start, at_ - start);
    if (is_integer) {
      const auto value = parse_integer(digits);
      if (!value) return fail("a number is out of range", start);
      return checked(builder_.add(Value::integer(*value).at(offset(start))), start);
    }
    double value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc()) return fail("a number is out of range", start);
    return checked(builder_.add(Value::real(value).at(offset(start))), start);
  }

  const std::string_view text_;
  ValueBuilder builder_;
  std::size_t at_ = 0;
  std::string scratch_;
  std::string problem_;
  std::size_t problem_at_ = 0;
};

}  // namespace

std::variant<Value, SyntaxProblem> parse_json(std::string_view text, Arena& arena, DocumentLimits limits) {
  if (text.size() > std::numeric_limits<std::uint32_t>::max()) return SyntaxProblem{"larger than 4 GiB", 0};
  JsonReader reader(text, arena, limits);
  if (!reader.read()) return reader.problem();
  return reader.root();
}

}  // namespace base

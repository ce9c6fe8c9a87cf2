#include "base/json.hpp"

#include <array>
#include <charconv>
#include <cmath>

#include "base/text.hpp"

namespace base {

namespace {

<<<<<<< HEAD
// JSON has no word for what is not a number.
std::string number_text(double value) {
  if (!std::isfinite(value)) return "null";
  std::array<char, 32> buffer;
  const auto done = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return {buffer.data(), done.ptr};
}
=======
using nlohmann::json;

// Lets the handler see how far the lexer has read: tokens are separated by blanks and punctuation only, so
// the start of each is known without a parser of our own.
class Cursor {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  Cursor(const char* at, const char** seen) : at_(at), seen_(seen) {}
  reference operator*() const { return *at_; }
  Cursor& operator++() {
    *seen_ = ++at_;
    return *this;
  }
  Cursor operator++(int) {
    Cursor old = *this;
    ++*this;
    return old;
  }
  bool operator==(const Cursor& other) const { return at_ == other.at_; }
  bool operator!=(const Cursor& other) const { return at_ != other.at_; }

 private:
  const char* at_;
  const char** seen_;
};

class Handler {
 public:
  Handler(std::string_view text, ValueBuilder& builder)
      : text_(text), builder_(builder), seen_(text.data()) {}

  const char** seen() { return &seen_; }
  const SyntaxProblem& problem() const { return problem_; }

  bool null() { return add(Value()); }
  bool boolean(bool value) { return add(Value::boolean(value)); }
  bool number_integer(json::number_integer_t value) { return add(Value::integer(value)); }
  bool number_unsigned(json::number_unsigned_t value) {
    if (value > static_cast<json::number_unsigned_t>(std::numeric_limits<std::int64_t>::max()))
      return fail("a number is out of range", token_start());
    return add(Value::integer(static_cast<std::int64_t>(value)));
  }
  bool number_float(json::number_float_t value, const std::string& text) {
    // A whole number that fits no integer type comes here, and would lose its last digits.
    if (text.find_first_of(".eE") == std::string::npos)
      return fail("a number is out of range", token_start());
    return add(Value::real(value));
  }
  bool string(std::string& text) {
    if (text.size() > std::numeric_limits<std::uint32_t>::max())
      return fail("a text is too long", token_start());
    return add(Value::string(builder_.arena().copy(text)));
  }
  bool binary(json::binary_t&) { return fail("binary values are not JSON", token_start()); }
  bool start_object(std::size_t) {
    return step([&](std::uint32_t at) { return builder_.begin_object(at); });
  }
  bool start_array(std::size_t) {
    return step([&](std::uint32_t at) { return builder_.begin_list(at); });
  }
  bool end_object() {
    return step([&](std::uint32_t) { return builder_.end_object(); });
  }
  bool end_array() {
    return step([&](std::uint32_t) { return builder_.end_list(); });
  }
  bool key(std::string& name) {
    return step([&](std::uint32_t at) { return builder_.key(name, at); });
  }
  bool parse_error(std::size_t position, const std::string&, const json::exception& error) {
    // "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error while …": ours says the
    // place itself.
    std::string_view what = error.what();
    if (const auto colon = what.find(": "); colon != std::string_view::npos) what.remove_prefix(colon + 2);
    return fail(std::string(what), static_cast<std::uint32_t>(position > 0 ? position - 1 : 0));
  }

 private:
  // Where the token that was just read began.
  std::uint32_t token_start() {
    const char* at = text_.data() + token_end_;
    const char* const end = text_.data() + text_.size();
    while (at < end && (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r' || *at == ',' || *at == ':'))
      ++at;
    return static_cast<std::uint32_t>(at - text_.data());
  }

  template <class Action>
  bool step(Action action) {
    const std::uint32_t start = token_start();
    token_end_ = static_cast<std::size_t>(seen_ - text_.data());
    std::string wrong = action(start);
    return wrong.empty() || fail(std::move(wrong), builder_.problem_offset().value_or(start));
  }
  bool add(Value value) {
    return step([&](std::uint32_t at) { return builder_.add(value.at(at)); });
  }
  bool fail(std::string message, std::uint32_t offset) {
    problem_ = {std::move(message), offset};
    return false;
  }

  std::string_view text_;
  ValueBuilder& builder_;
  const char* seen_;
  std::size_t token_end_ = 0;
  SyntaxProblem problem_;
};
>>>>>>> accounts

void write_json(const Value& value, std::string& out) {
  switch (value.kind()) {
    case Value::Kind::null:
      out += "null";
      break;
    case Value::Kind::boolean:
      out += *value.as_bool() ? "true" : "false";
      break;
    case Value::Kind::integer:
      out += std::to_string(*value.as_integer());
      break;
    case Value::Kind::real:
      out += number_text(*value.as_number());
      break;
    case Value::Kind::string:
    case Value::Kind::plain:
      out += json_quote(value.text());
      break;
    case Value::Kind::list: {
      out += '[';
      const char* separator = "";
      for (const Value& item : value.items()) {
        out += std::exchange(separator, ",");
        write_json(item, out);
      }
      out += ']';
      break;
    }
    case Value::Kind::object: {
      out += '{';
      const char* separator = "";
      for (const Member& member : value.members()) {
        out += std::exchange(separator, ",");
        out += json_quote(member.key) + ':';
        write_json(member.value, out);
      }
      out += '}';
      break;
    }
  }
}

}  // namespace

std::string json_quote(std::string_view text) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  out.reserve(text.size() + 2);
  out += '"';
  for (std::size_t at = 0; at < text.size();) {
    const auto byte = static_cast<unsigned char>(text[at]);
    if (byte >= 0x80) {
      const std::size_t length = utf8_length(text, at);
      out += length == 0 ? "\uFFFD" : text.substr(at, length);
      at += length == 0 ? 1 : length;
      continue;
    }
    ++at;
    switch (byte) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\t':
        out += "\\t";
        break;
      case '\r':
        out += "\\r";
        break;
      default:
        if (byte < 0x20 || byte == 0x7f) {
          out += "\\u00";
          out += kDigits[byte >> 4];
          out += kDigits[byte & 15];
        } else {
          out += static_cast<char>(byte);
        }
    }
  }
  return out += '"';
}

std::string to_json(const Value& value) {
  std::string out;
  write_json(value, out);
  return out;
}

}  // namespace base

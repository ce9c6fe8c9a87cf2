#include "base/values/json.hpp"

#include <array>
#include <charconv>
#include <cmath>

#include "base/text.hpp"

namespace base {

namespace {

// ASCII that stands for itself in a JSON string.
constexpr std::array<bool, 256> kIsPlain = [] {
  std::array<bool, 256> plain{};
  for (std::size_t byte = 0x20; byte < 0x7f; ++byte)
    plain[byte] = byte != '"' && byte != '\\';
  return plain;
}();

// JSON has no word for what is not a number. A large one would be written as an integer that no machine
// number holds, which nobody here reads again.
std::string number_text(double value) {
  if (!std::isfinite(value)) return "null";
  constexpr double kBeyondIntegers = 9'223'372'036'854'775'808.0;
  std::array<char, 32> buffer;
  char* const end = buffer.data() + buffer.size();
  const auto done = std::abs(value) < kBeyondIntegers
                        ? std::to_chars(buffer.data(), end, value)
                        : std::to_chars(buffer.data(), end, value, std::chars_format::scientific);
  return {buffer.data(), done.ptr};
}

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
      append_quoted(value.text(), out);
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
        append_quoted(member.key, out);
        out += ':';
        write_json(member.value, out);
      }
      out += '}';
      break;
    }
  }
}

}  // namespace

void append_quoted(std::string_view text, std::string& out) {
  static constexpr char kDigits[] = "0123456789abcdef";
  out += '"';
  std::size_t plain = 0;  // where the run of bytes that need no escape began
  const auto replace = [&](std::size_t at, std::string_view by) {
    out.append(text, plain, at - plain).append(by);
    plain = at + 1;
  };
  for (std::size_t at = 0; at < text.size();) {
    const auto byte = static_cast<unsigned char>(text[at]);
    if (kIsPlain[byte]) {
      ++at;
      continue;
    }
    if (byte >= 0x80) {
      const std::size_t length = utf8_length(text, at);
      if (length == 0) replace(at, "\uFFFD");
      at += length == 0 ? 1 : length;
      continue;
    }
    switch (byte) {
      case '"':
        replace(at, "\\\"");
        break;
      case '\\':
        replace(at, "\\\\");
        break;
      case '\n':
        replace(at, "\\n");
        break;
      case '\t':
        replace(at, "\\t");
        break;
      case '\r':
        replace(at, "\\r");
        break;
      default:
        replace(at, std::string("\\u00") + kDigits[byte >> 4] + kDigits[byte & 15]);
    }
    ++at;
  }
  out.append(text, plain).append("\"");
}

std::string json_quote(std::string_view text) {
  std::string out;
  out.reserve(text.size() + 2);
  append_quoted(text, out);
  return out;
}

std::string to_json(const Value& value) {
  std::string out;
  write_json(value, out);
  return out;
}

}  // namespace base

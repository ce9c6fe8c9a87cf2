#include "terminal/shown_json.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "base/values/json.hpp"

namespace terminal {

namespace {

bool must_be_escaped(char32_t code) {
  constexpr char32_t kByteOrderMark = 0xfeff;
  return (code >= 0x7f && code < 0xa0) || base::changes_reading(code) || code == kByteOrderMark ||
         code == 0xfffe || code == 0xffff;
}

bool is_ascii(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x7f; });
}

// Where the string that begins at `at` ends, its quotes included.
std::size_t string_end(std::string_view json, std::size_t at) {
  for (++at; at < json.size() && json[at] != '"'; ++at)
    if (json[at] == '\\') ++at;
  return std::min(at + 1, json.size());
}

bool is_name(std::string_view json, std::size_t end) {
  end = json.find_first_not_of(" \t\r\n", end);
  return end != std::string_view::npos && json[end] == ':';
}

}  // namespace

std::string quote_json(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string json = base::json_quote(text);
  if (is_ascii(json)) return json;
  std::string out;
  for (std::size_t at = 0; at < json.size();) {
    const std::size_t length = std::max<std::size_t>(base::utf8_length(json, at), 1);
    const char32_t code = base::utf8_character(std::string_view(json).substr(at, length));
    if (must_be_escaped(code))
      out.append("\\u").append(
          {kDigits[code >> 12], kDigits[code >> 8 & 15], kDigits[code >> 4 & 15], kDigits[code & 15]});
    else
      out.append(json, at, length);
    at += length;
  }
  return out;
}

std::string shown_json(std::string_view json, const base::Redactor& redactor) {
  std::string out;
  out.reserve(json.size());
  for (std::size_t at = 0; at < json.size();) {
    const std::size_t quote = std::min(json.find('"', at), json.size());
    out.append(json, at, quote - at);
    if (quote == json.size()) break;
    at = string_end(json, quote);
    const std::string_view string = json.substr(quote, at - quote);
    // Read before it is searched: in "\nabc" the letters "nabc" are none of the text.
    base::Arena arena;
    const auto parsed = base::parse_json(string, arena);
    const auto* value = std::get_if<base::Value>(&parsed);
    const std::string_view text = value ? value->text() : string;
    if (!is_name(json, at) && redactor.is_needed(text))
      out += quote_json(redactor.redact(text));
    else if (value && is_ascii(string))
      out += string;
    else
      out += quote_json(text);
  }
  return out;
}

}  // namespace terminal

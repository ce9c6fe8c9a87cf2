#include "ctl/output/document_text.hpp"

#include <algorithm>
#include <array>

#include "base/text.hpp"
#include "base/values/json.hpp"
#include "terminal/shown_json.hpp"

namespace ctl {

namespace {

using base::Member;
using base::Value;

std::string leaf(const Value& value) {
  return value.is_text() ? terminal::quote_json(value.text()) : base::to_json(value);
}

bool is_nested(const Value& value) {
  return !value.items().empty() || !value.members().empty();
}

// ---- JSON

void add_json(std::string& out, const Value& value, std::size_t depth) {
  if (!is_nested(value)) {
    out += leaf(value);
    return;
  }
  const std::string indent(2 * (depth + 1), ' ');
  out += value.is_list() ? "[\n" : "{\n";
  bool first = true;
  const auto separate = [&] {
    if (!first) out += ",\n";
    first = false;
    out += indent;
  };
  for (const Value& item : value.items()) {
    separate();
    add_json(out, item, depth + 1);
  }
  for (const Member& member : value.members()) {
    separate();
    out.append(terminal::quote_json(member.key)).append(": ");
    add_json(out, member.value, depth + 1);
  }
  out.append("\n").append(2 * depth, ' ').append(value.is_list() ? "]" : "}");
}

// ---- YAML

// Words that YAML 1.1 or 1.2 readers take for something else than text.
constexpr std::array<std::string_view, 9> kReserved{"true", "false", "yes", "no", "on",
                                                    "off",  "null",  "y",   "n"};

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool can_be_plain(std::string_view text) {
  if (text.empty() || !(is_letter(text.front()) || text.front() == '/' || text.front() == '_')) return false;
  const bool safe = std::ranges::all_of(text, [](char c) {
    return is_letter(c) || (c >= '0' && c <= '9') ||
           std::string_view("_./-+@").find(c) != std::string_view::npos;
  });
  return safe &&
         std::ranges::none_of(kReserved, [&](auto word) { return base::equal_ignoring_case(word, text); });
}

// Several lines, nothing that a block would lose.
bool can_be_block(std::string_view text) {
  if (text.find('\n') == std::string_view::npos || text.ends_with("\n\n")) return false;
  if (text.front() == ' ' || text.front() == '\n' || text.front() == '\t') return false;
  return std::ranges::all_of(text, [](char c) { return c == '\n' || c == '\t' || (c >= 0x20 && c < 0x7f); });
}

std::string scalar(std::string_view text) {
  return can_be_plain(text) ? std::string(text) : terminal::quote_json(text);
}

std::string block(std::string_view text, std::size_t depth) {
  const bool ends_line = text.ends_with('\n');
  std::string out = ends_line ? "|\n" : "|-\n";
  if (ends_line) text.remove_suffix(1);
  for (const std::string_view line : base::split(text, '\n')) {
    if (!line.empty()) out.append(2 * depth, ' ').append(line);
    out += '\n';
  }
  return out;
}

void add_yaml(std::string& out, const Value& value, std::size_t depth);

// What stands behind "key:" or "-".
void add_below(std::string& out, const Value& value, std::size_t depth) {
  if (is_nested(value)) {
    out += '\n';
    add_yaml(out, value, depth);
  } else if (value.is_text() && can_be_block(value.text())) {
    out.append(" ").append(block(value.text(), depth));
  } else {
    out.append(" ").append(value.is_text() ? scalar(value.text()) : leaf(value)).append("\n");
  }
}

void add_yaml(std::string& out, const Value& value, std::size_t depth) {
  for (const Value& item : value.items()) {
    out.append(2 * depth, ' ').append("-");
    if (!item.members().empty()) {  // the first member stands beside the dash
      std::string members;
      add_yaml(members, item, depth + 1);
      out.append(" ").append(members.substr(2 * (depth + 1)));
    } else {
      add_below(out, item, depth + 1);
    }
  }
  for (const Member& member : value.members()) {
    out.append(2 * depth, ' ').append(scalar(member.key)).append(":");
    add_below(out, member.value, depth + 1);
  }
}

}  // namespace

std::string pretty_json(const Value& value) {
  std::string out;
  add_json(out, value, 0);
  return out + "\n";
}

std::string yaml_text(const Value& value) {
  std::string out;
  if (is_nested(value)) {
    add_yaml(out, value, 0);
    return out;
  }
  return leaf(value) + "\n";
}

}  // namespace ctl

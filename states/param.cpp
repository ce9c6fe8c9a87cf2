#include "states/param.hpp"

#include <algorithm>
#include <vector>

#include "base/text.hpp"

namespace states {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;
using base::Value;

Error wrong_type(const Param& param) {
  return Error(ErrorCode::invalid,
               "Parameter '" + std::string(param.name) + "' must be " + std::string(wire_name(param.wire)));
}

Error illegal(const Param& param, std::string_view value) {
  return Error(ErrorCode::invalid, "Illegal " + std::string(param.name) + " '" + std::string(value) + "'");
}

Error not_a_choice(const Param& param, std::string_view value) {
  std::string text = "Parameter '" + std::string(param.name) + "' must be one of";
  for (const std::string_view choice : param.choices)
    text += (choice.data() == param.choices.front().data() ? " '" : ", '") + std::string(choice) + "'";
  return Error(ErrorCode::invalid, text + ", not '" + base::quote_of(value) + "'");
}

// Programs and system calls end a text at a NUL, so that what is checked would not be what is used; only
// longer texts such as file contents may have one.
Result<std::string_view> without_nul(const Param& param, std::string_view text) {
  if (param.wire != Wire::text && text.find('\0') != std::string_view::npos)
    return Error(ErrorCode::invalid, "Parameter '" + std::string(param.name) + "' must not contain NUL");
  return text;
}

Result<std::string_view> read_line(const Param& param, const Value& value, base::Arena& arena) {
  const auto line = value.as_line(arena);
  if (!line) return wrong_type(param);
  return without_nul(param, *line);
}

// The texts of a list; a bare text is a list with one element. Elements that are null or empty are skipped; a
// list of nothing else (the empty row of a form) counts as not given.
Result<bool> read_texts(std::vector<std::string_view>& texts, const Param& param, const Value& value,
                        base::Arena& arena) {
  if (is_absent(value)) return false;
  if (!value.is_list()) {
    auto line = read_line(param, value, arena);
    if (!line) return std::move(line).error();
    if (!line->empty()) texts.push_back(*line);
    return !line->empty();
  }
  for (const Value& item : value.items()) {
    if (is_absent(item)) continue;
    auto line = read_line(param, item, arena);
    if (!line) return std::move(line).error();
    if (!line->empty()) texts.push_back(*line);
  }
  return !texts.empty() || value.items().empty();
}

// The value of a pair: null, missing and "" are all "no value".
Result<std::string_view> pair_value(const Param& param, const Value& value, base::Arena& arena) {
  if (is_absent(value)) return std::string_view();
  if (value.kind() == Value::Kind::boolean) return std::string_view(*value.as_bool() ? "true" : "false");
  return read_line(param, value, arena);
}

Result<bool> read_pair_item(std::vector<Pair>& pairs, const Param& param, const Value& item,
                            base::Arena& arena) {
  if (is_absent(item)) return false;
  if (!item.is_object()) {
    auto key = read_line(param, item, arena);
    if (!key) return std::move(key).error();
    if (!key->empty()) pairs.push_back({*key, {}});
    return true;
  }
  const Value* key = item.find("key");
  const Value* value = item.find("value");
  if (!key && !value && !item.members().empty()) {  // [{nginx: latest}], which people write in YAML
    for (const base::Member& member : item.members()) {
      auto text = pair_value(param, member.value, arena);
      if (!text) return std::move(text).error();
      if (!member.key.empty()) pairs.push_back({member.key, *text});
    }
    return true;
  }
  if (!key || is_absent(*key)) return false;
  auto name = read_line(param, *key, arena);
  if (!name) return std::move(name).error();
  auto text = value ? pair_value(param, *value, arena) : Result<std::string_view>(std::string_view());
  if (!text) return std::move(text).error();
  if (!name->empty()) pairs.push_back({*name, *text});
  return true;
}

void split_assignments(std::vector<Pair>& pairs, std::string_view text) {
  for (std::string_view word : base::split_words(text)) {
    const std::size_t equals = word.find('=');
    if (equals == 0) continue;
    const bool has_value = equals != std::string_view::npos;
    pairs.push_back({word.substr(0, equals), has_value ? word.substr(equals + 1) : std::string_view()});
  }
}

}  // namespace

bool is_absent(const Value& value) {
  return value.is_null() || (value.kind() == Value::Kind::plain &&
                             (value.text().empty() || value.text() == "~" || value.text() == "null"));
}

Result<bool> read_field(std::string_view& field, const Param& param, const Value& value, base::Arena& arena) {
  // An empty plain scalar (`content:` with nothing behind it) is an absence even where "" is a value.
  if (is_absent(value)) return false;
  if (value.is_list() && param.joins_lists) {
    std::vector<std::string_view> lines;
    auto counts = read_texts(lines, param, value, arena);
    if (!counts) return counts;
    std::string joined;
    for (std::string_view line : lines)
      joined.append(joined.empty() ? "" : "\n").append(line);
    if (joined.empty()) return false;
    field = arena.copy(joined);
    return true;
  }
  auto line = read_line(param, value, arena);
  if (!line) return std::move(line).error();
  if (line->empty() && !param.keeps_empty) return false;
  if (!param.choices.empty() && std::ranges::find(param.choices, *line) == param.choices.end())
    return not_a_choice(param, *line);
  field = *line;
  return true;
}

Result<bool> read_field(bool& field, const Param& param, const Value& value, base::Arena&) {
  if (is_absent(value) || (value.is_text() && value.text().empty())) return false;
  const auto given = value.as_bool();
  if (!given) return wrong_type(param);
  field = *given;
  return true;
}

Result<bool> read_field(std::int64_t& field, const Param& param, const Value& value, base::Arena& arena) {
  std::string_view text;
  auto counts = read_field(text, param, value, arena);
  if (!counts || !*counts) return counts;
  const auto number = text.size() <= kMostDigits + 1 ? base::parse_integer(text) : std::nullopt;
  if (!number) return wrong_type(param);
  if (*number < param.least || *number > param.most) {
    const bool has_least = param.least != std::numeric_limits<std::int64_t>::min();
    return Error(ErrorCode::invalid,
                 "Parameter '" + std::string(param.name) + "' must be " +
                     (*number < param.least && has_least ? "at least " + std::to_string(param.least)
                                                         : "at most " + std::to_string(param.most)) +
                     ", not " + std::to_string(*number));
  }
  field = *number;
  return true;
}

Result<bool> read_field(List& field, const Param& param, const Value& value, base::Arena& arena) {
  std::vector<std::string_view> texts;
  auto counts = read_texts(texts, param, value, arena);
  if (!counts) return counts;
  if (value.is_list() && texts.empty() && param.is_required)
    return Error(ErrorCode::invalid, "Parameter '" + std::string(param.name) + "' has no usable entry");
  if (!*counts) return false;
  field = arena.copy(List(texts));
  return true;
}

Result<bool> read_field(Pairs& field, const Param& param, const Value& value, base::Arena& arena) {
  if (is_absent(value)) return false;
  std::vector<Pair> pairs;
  if (value.is_list()) {
    for (const Value& item : value.items()) {
      auto used = read_pair_item(pairs, param, item, arena);
      if (!used) return used;
    }
  } else if (value.is_object()) {
    for (const base::Member& member : value.members()) {
      auto text = pair_value(param, member.value, arena);
      if (!text) return std::move(text).error();
      if (!member.key.empty()) pairs.push_back({member.key, *text});
    }
  } else if (value.is_text() && param.splits_words) {
    split_assignments(pairs, value.text());
  } else if (value.is_text()) {
    if (!value.text().empty()) pairs.push_back({value.text(), {}});
  } else {
    return wrong_type(param);
  }
  for (const Pair& pair : pairs)  // their keys may be keys of the document, which nobody has looked at yet
    for (const std::string_view text : {pair.key, pair.value})
      if (auto clean = without_nul(param, text); !clean) return std::move(clean).error();
  if (pairs.empty() && param.is_required)
    return Error(ErrorCode::invalid, "Parameter '" + std::string(param.name) + "' has no usable entry");
  field = arena.copy(std::span<const Pair>(pairs));
  return true;
}

Result<bool> read_field(Mode& field, const Param& param, const Value& value, base::Arena& arena) {
  // Other readers of YAML make 420 of 0644 and hand that on as JSON. A number may mean either; text does not.
  if (value.kind() == Value::Kind::integer || value.kind() == Value::Kind::real)
    return Error(ErrorCode::invalid, "Parameter '" + std::string(param.name) +
                                         "' must be octal text such as \"0644\", with quotes: the number " +
                                         std::string(*value.as_line(arena)) +
                                         " may be meant as octal or as decimal");
  std::string_view text;
  auto counts = read_field(text, param, value, arena);
  if (!counts || !*counts) return counts;
  const bool octal = std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '7'; });
  if (!octal || text.size() < 3 || text.size() > 4) return illegal(param, text);
  field.bits = 0;
  for (char digit : text)
    field.bits = field.bits * 8 + static_cast<mode_t>(digit - '0');
  return true;
}

Result<bool> read_field(Seconds& field, const Param& param, const Value& value, base::Arena& arena) {
  std::string_view text;
  auto counts = read_field(text, param, value, arena);
  if (!counts || !*counts) return counts;
  const auto number = base::parse_integer(text);
  if (!number || *number <= 0 || *number > kLongestSeconds) return illegal(param, text);
  field.value = std::chrono::seconds(*number);
  return true;
}

Result<bool> read_field(Watch& field, const Param& param, const Value& value, base::Arena& arena) {
  if (value.kind() == Value::Kind::boolean ||
      (value.kind() == Value::Kind::plain && !value.text().starts_with('/') && value.as_bool())) {
    field.always = *value.as_bool();
    return true;
  }
  return read_field(field.paths, param, value, arena);
}

Result<bool> read_field(References& field, const Param&, const Value& value, base::Arena&) {
  field.value = value;
  return true;
}

}  // namespace states

// Jinja2's filters for texts.
#include <algorithm>
#include <array>
#include <string>

#include "templates/builtins.hpp"
#include "templates/operators.hpp"
#include "templates/print.hpp"
#include "templates/text.hpp"

namespace templates {

namespace {

using A = const Arguments&;

Value made(A a, std::string_view text) {
  return new_text(a.memory(), text);
}

template <std::string (*kChange)(std::string_view)>
Value change(A a) {
  return made(a, kChange(a.text(0)));
}

// Words begin behind blanks and opening brackets; str.title() has another rule.
Value title(A a) {
  const std::string_view text = a.text(0);
  std::string result;
  std::size_t begin = 0, at = 0;
  const auto add_word = [&](std::size_t end) {
    if (end == begin) return;
    const std::size_t first = character_size(text, begin);
    result += to_upper(text.substr(begin, first));
    result += to_lower(text.substr(begin + first, end - begin - first));
  };
  for_each_character(text, [&](char32_t c, std::string_view bytes) {
    if (is_space(c) || c == '-' || c == '(' || c == '{' || c == '[' || c == '<') {
      add_word(at);
      result += bytes;
      begin = at + bytes.size();
    }
    at += bytes.size();
  });
  add_word(at);
  return made(a, result);
}

Value trim(A a) {
  const std::string_view text = a.text(0);
  if (!a.has(1) || defined(a[1]).is_none()) return Value::text(stripped(text, true, true));
  return Value::text(stripped(text, a.only_text(1), true, true));
}

Value replace(A a) {
  const bool all = !a.has(3) || a[3].is_none();
  return made(a,
              replaced(a.text(0), a.text(1), a.text(2), all ? -1 : a.integer(3), a.memory().limits().output));
}

Value text_of(A a) {
  return defined(a[0]).is_text() ? a[0] : Value::text(a.text(0));
}

Value escape(A a) {
  if (defined(a[0]).is_text() && a[0].is_markup()) return a[0];
  return Value::markup(a.memory().copy(escaped(a.text(0))));
}
Value force_escape(A a) {
  return Value::markup(a.memory().copy(escaped(a.text(0))));
}
Value safe(A a) {
  return Value::markup(a.text(0));
}

Value center(A a) {
  const std::string_view text = a.text(0);
  const auto size = static_cast<std::int64_t>(count_characters(text));
  const std::int64_t width = a.integer(1, 80), missing = std::max<std::int64_t>(0, width - size);
  a.memory().check_text(static_cast<std::size_t>(missing));
  const std::int64_t left = missing / 2 + (missing & width & 1);
  return made(a, std::string(static_cast<std::size_t>(left), ' ') + std::string(text) +
                     std::string(static_cast<std::size_t>(missing - left), ' '));
}

Value indent(A a) {
  const std::string_view text = a.only_text(0);
  std::string by;
  if (a.has(1) && defined(a[1]).is_text()) {
    by = a[1].text();
  } else {
    const auto width = static_cast<std::size_t>(std::max<std::int64_t>(0, a.integer(1, 4)));
    a.memory().check_text(width);
    by.assign(width, ' ');
  }
  const bool first = a.flag(2), blank = a.flag(3);
  const std::string ended = std::string(text) + "\n";
  std::string result;
  bool is_first = true;
  for (const std::string_view line : lines_of(ended)) {
    if (!is_first) result += "\n";
    if (is_first ? first : (blank || !line.empty())) result += by;
    is_first = false;
    result += line;
    a.memory().check_text(result.size());
  }
  return made(a, result);
}

Value truncate(A a) {
  const std::int64_t spare = a.has(4) && !a[4].is_none() ? a.integer(4) : 5;
  if (!a[0].is_text() && static_cast<std::int64_t>(length(a[0])) <= a.integer(1, 255) + spare) return a[0];
  const std::string_view text = a.only_text(0);
  const std::int64_t wanted = a.integer(1, 255);
  const std::string_view end = a.has(3) ? a.only_text(3) : "...";
  const std::int64_t leeway = a.has(4) && !a[4].is_none() ? a.integer(4) : 5;
  const auto end_size = static_cast<std::int64_t>(count_characters(end));
  if (wanted < end_size) throw Failure("truncate: the length is less than that of the end");
  if (leeway < 0) throw Failure("truncate: the leeway is less than 0");
  if (static_cast<std::int64_t>(count_characters(text)) <= wanted + leeway) return Value::text(text);
  std::string_view kept = text.substr(0, byte_of(text, static_cast<std::size_t>(wanted - end_size)));
  if (!a.flag(2))
    if (const std::size_t blank = kept.rfind(' '); blank != std::string_view::npos)
      kept = kept.substr(0, blank);
  return made(a, std::string(kept) + std::string(end));
}

Value word_count(A a) {
  std::int64_t words = 0;
  bool inside = false;
  for_each_character(a.text(0), [&](char32_t c, std::string_view) {
    if (is_word(c) && !inside) ++words;
    inside = is_word(c);
  });
  return Value::integer(words);
}

Value format(A a) {
  const Call& call = a.call();
  const std::string_view text = text_view(call.values[0], a.memory());
  if (call.values.size() > 1 && !call.named.empty())
    throw Failure("format: values and names cannot be given together");
  if (!call.named.empty()) {
    Dict* names = a.memory().make<Dict>();
    for (const NamedValue& each : call.named)
      names->set(a.memory(), Value::text(each.name), each.value);
    return made(a, format_percent(text, Value::dict(names), a.memory()));
  }
  List* values = new_list(a.memory());
  for (const Value& each : call.values.subspan(1))
    values->add(a.memory(), each);
  return made(a, format_percent(text, Value::tuple(values), a.memory()));
}

std::string quoted_for_url(std::string_view text, bool for_query) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string result;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = (byte >= '0' && byte <= '9') || ((byte | 0x20U) >= 'a' && (byte | 0x20U) <= 'z') ||
                       std::string_view("_.-~").find(c) != std::string_view::npos || (c == '/' && !for_query);
    if (plain)
      result += c;
    else if (c == ' ' && for_query)
      result += '+';
    else
      result.append("%").append(1, kHex[byte >> 4]).append(1, kHex[byte & 15U]);
  }
  return result;
}

Value url_encode(A a) {
  const Value& value = defined(a[0]);
  if (value.is_text() || !is_iterable(value)) return made(a, quoted_for_url(a.text(0), false));
  const Value pairs =
      value.is(Kind::dict) ? Value::of(a.memory().make<View>(View{&value.dict(), View::What::items})) : value;
  std::string result;
  for (const Value& pair : *to_list(pairs, a.memory())) {
    const List& both = *to_list(pair, a.memory());
    if (both.size != 2) throw Failure("urlencode wants pairs");
    if (!result.empty()) result += '&';
    result += quoted_for_url(to_text(both.items[0], a.memory()), true) + "=" +
              quoted_for_url(to_text(both.items[1], a.memory()), true);
  }
  return made(a, result);
}

Value xml_attributes(A a) {
  if (!defined(a[0]).is(Kind::dict)) throw Failure("xmlattr wants a dict");
  std::string result;
  for (const Dict::Entry& entry : a[0].dict()) {
    if (!entry.is_live || entry.value.is_none() || entry.value.is_undefined()) continue;
    if (!entry.key.is_text()) throw Failure("xmlattr wants texts as keys");
    const std::string_view key = entry.key.text();
    if (key.find_first_of(" \t\n\r\f\v/>=") != std::string_view::npos)
      throw Failure("Invalid character in attribute name");
    const std::string_view value = text_view(entry.value, a.memory());
    const bool is_safe = entry.value.is_text() && entry.value.is_markup();
    if (!result.empty() || a.flag(1, true)) result += ' ';
    result += escaped(key) + "=\"" + (is_safe ? std::string(value) : escaped(value)) + "\"";
  }
  return made(a, result);
}

Value to_json(A a) {
  JsonStyle style{.sorted = true};
  if (a.has(1) && !a[1].is_none()) {
    style.indent = static_cast<int>(std::clamp<std::int64_t>(a.integer(1), 0, 100));
    style.between = ",";
  }
  std::string text;
  append_json(a[0], style, text, a.memory());
  std::string result;
  for (const char c : text) {
    if (c == '<')
      result += "\\u003c";
    else if (c == '>')
      result += "\\u003e";
    else if (c == '&')
      result += "\\u0026";
    else if (c == '\'')
      result += "\\u0027";
    else
      result += c;
  }
  return Value::markup(a.memory().copy(result));
}

constexpr auto kFilters = std::to_array<Builtin>({
    {"upper", {"s"}, 1, change<to_upper>},
    {"lower", {"s"}, 1, change<to_lower>},
    {"capitalize", {"s"}, 1, change<capitalized>},
    {"title", {"s"}, 1, title},
    {"trim", {"value", "chars"}, 1, trim},
    {"replace", {"s", "old", "new", "count"}, 3, replace},
    {"string", {"object"}, 1, text_of},
    {"escape", {"s"}, 1, escape},
    {"e", {"s"}, 1, escape},
    {"forceescape", {"value"}, 1, force_escape},
    {"safe", {"value"}, 1, safe},
    {"center", {"value", "width"}, 1, center},
    {"indent", {"s", "width", "first", "blank"}, 1, indent},
    {"truncate", {"s", "length", "killwords", "end", "leeway"}, 1, truncate},
    {"wordcount", {"s"}, 1, word_count},
    {"format", {"value"}, 1, format, true},
    {"urlencode", {"value"}, 1, url_encode},
    {"xmlattr", {"d", "autospace"}, 1, xml_attributes},
    {"tojson", {"value", "indent"}, 1, to_json},
});

}  // namespace

Rows text_filters() {
  return kFilters;
}

}  // namespace templates

// Those of Ansible's filters that need nothing but their arguments. What is left out, and why, is in
// docs/templates.md.
#include <algorithm>
#include <array>
#include <string>

#include "base/sha256.hpp"
#include "base/text.hpp"
#include "base/values/json.hpp"
#include "templates/builtins.hpp"
#include "templates/from_document.hpp"
#include "templates/operators.hpp"
#include "templates/print.hpp"
#include "templates/text.hpp"

namespace templates {

namespace {

using A = const Arguments&;

Value made(A a, std::string_view text) {
  return new_text(a.memory(), text);
}

Value to_json(A a) {
  std::string text;
  append_json(a[0], {}, text, a.memory());
  return made(a, text);
}
Value to_nice_json(A a) {
  JsonStyle style{.indent = static_cast<int>(std::clamp<std::int64_t>(a.integer(1, 4), 0, 100)),
                  .between = ",",
                  .sorted = true};
  std::string text;
  append_json(a[0], style, text, a.memory());
  return made(a, text);
}
Value from_json(A a) {
  base::Arena arena;
  const auto parsed = base::parse_json(a.only_text(0), arena);
  if (const auto* wrong = std::get_if<base::SyntaxProblem>(&parsed))
    throw Failure("from_json: " + wrong->message);
  return from_document(std::get<base::Value>(parsed), a.memory(), false);
}

constexpr std::string_view kBase64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

Value encode_base64(A a) {
  const std::string_view text = a.text(0);
  std::string result;
  for (std::size_t at = 0; at < text.size(); at += 3) {
    std::uint32_t bits = 0;
    const std::size_t count = std::min<std::size_t>(3, text.size() - at);
    for (std::size_t i = 0; i < 3; ++i)
      bits = bits << 8 | (i < count ? static_cast<unsigned char>(text[at + i]) : 0U);
    for (std::size_t i = 0; i < 4; ++i)
      result += i <= count ? kBase64[bits >> (18 - 6 * i) & 63U] : '=';
  }
  return made(a, result);
}

Value decode_base64(A a) {
  std::string_view text = a.only_text(0);
  const std::size_t whole = text.size();
  while (text.ends_with('=') && whole - text.size() < 2)
    text.remove_suffix(1);
  if (whole % 4 != 0) throw Failure("b64decode: this is not base64");
  std::string result;
  std::uint32_t bits = 0;
  unsigned count = 0;
  for (const char c : text) {
    const std::size_t digit = kBase64.find(c);
    if (digit == std::string_view::npos) throw Failure("b64decode: this is not base64");
    bits = bits << 6 | static_cast<std::uint32_t>(digit);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    result += static_cast<char>(bits >> count & 0xFFU);
  }
  if (!base::is_utf8(result)) throw Failure("b64decode: what comes out is not UTF-8 text");
  return made(a, result);
}

Value to_bool(A a) {
  const Value& value = defined(a[0]);
  if (value.is_none() || value.is(Kind::boolean)) return value;
  const std::string word = to_lower(a.text(0));
  const bool yes = word == "yes" || word == "on" || word == "1" || word == "true";
  return Value::boolean(yes || (value.is(Kind::real) && value.real() == 1));
}

Value mandatory(A a) {
  if (a[0].is_undefined())
    throw Failure(a.has(1) ? std::string(a.text(1)) : std::string(a[0].text()) + ", and it is mandatory");
  return a[0];
}

Value ternary(A a) {
  if (a.has(3) && a[0].is_none()) return a[3];
  return is_true(a[0]) ? a[1] : a[2];
}

Value hash(A a) {
  const std::string_view type = a.has(1) ? a.text(1) : "sha1";
  if (type != "sha256") throw Failure("hash: only 'sha256' is there, not '" + std::string(type) + "'");
  return made(a, base::sha256_hex(a.text(0)));
}

Value base_name(A a) {
  const std::string_view path = a.only_text(0);
  return Value::text(path.substr(path.rfind('/') + 1));
}
Value folder_name(A a) {
  const std::string_view path = a.only_text(0);
  const std::size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return Value::text({});
  const std::string_view head = path.substr(0, slash + 1);
  const std::size_t last = head.find_last_not_of('/');
  return Value::text(last == std::string_view::npos ? head : head.substr(0, last + 1));
}

// As Python's shlex.quote().
Value quote(A a) {
  const std::string_view text = a.text(0);
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string_view::npos) return Value::text(text);
  return made(a, "'" + replaced(text, "'", "'\"'\"'", -1, a.memory().limits().output) + "'");
}

Value split(A a) {
  const Builtin* method = nullptr;
  for (const Builtin& row : text_methods())
    if (row.name == "split") method = &row;
  const Value text = Value::text(a.only_text(0));
  return run(*method, &text, {a.call().values.subspan(1), a.call().named}, a.memory());
}

void merge(Dict& into, const Dict& from, bool deep, Memory& memory) {
  for (const Dict::Entry& entry : from) {
    if (!entry.is_live) continue;
    memory.step();
    const Dict::Entry* present = into.find(entry.key);
    if (deep && present && present->value.is(Kind::dict) && entry.value.is(Kind::dict)) {
      Dict* both = memory.make<Dict>();
      merge(*both, present->value.dict(), true, memory);
      merge(*both, entry.value.dict(), true, memory);
      into.set(memory, entry.key, Value::dict(both));
    } else {
      into.set(memory, entry.key, entry.value);
    }
  }
}

Value combine(A a) {
  bool deep = false;
  for (const NamedValue& each : a.call().named) {
    if (each.name != "recursive")
      throw Failure("combine: there is no argument '" + std::string(each.name) + "'");
    deep = is_true(each.value);
  }
  Dict* result = a.memory().make<Dict>();
  const auto add = [&](const Value& value) {
    if (!defined(value).is(Kind::dict)) throw Failure("combine wants dicts");
    merge(*result, value.dict(), deep, a.memory());
  };
  for (const Value& each : a.call().values) {
    if (!each.is(Kind::list)) {
      add(each);
      continue;
    }
    for (const Value& inner : each.list())
      add(inner);
  }
  return Value::dict(result);
}

Value to_items(A a) {
  if (!defined(a[0]).is(Kind::dict)) throw Failure("dict2items wants a dict");
  const Value key = Value::text(a.has(1) ? a.text(1) : "key"),
              value = Value::text(a.has(2) ? a.text(2) : "value");
  List* list = new_list(a.memory());
  for (const Dict::Entry& entry : a[0].dict()) {
    if (!entry.is_live) continue;
    Dict* pair = a.memory().make<Dict>();
    pair->set(a.memory(), key, entry.key);
    pair->set(a.memory(), value, entry.value);
    list->add(a.memory(), Value::dict(pair));
  }
  return Value::list(list);
}

Value from_items(A a) {
  const Value key = Value::text(a.has(1) ? a.text(1) : "key"),
              value = Value::text(a.has(2) ? a.text(2) : "value");
  Dict* dict = a.memory().make<Dict>();
  for (const Value& pair : *to_list(a[0], a.memory())) {
    const Dict::Entry* k = defined(pair).is(Kind::dict) ? pair.dict().find(key) : nullptr;
    const Dict::Entry* v = k ? pair.dict().find(value) : nullptr;
    if (!v)
      throw Failure("items2dict wants dicts with '" + std::string(key.text()) + "' and '" +
                    std::string(value.text()) + "'");
    dict->set(a.memory(), k->value, v->value);
  }
  return Value::dict(dict);
}

void flatten_into(List& to, const Value& value, std::int64_t levels, Memory& memory, int depth) {
  constexpr int kDeepest = 100;
  if (depth > kDeepest) throw Failure("flatten: the lists are nested too deep", true);
  for (const Value& item : *to_list(value, memory)) {
    if (item.is_none() || (item.is_text() && (item.text() == "None" || item.text() == "null"))) continue;
    if (item.is_sequence() && levels != 0)
      flatten_into(to, item, levels - 1, memory, depth + 1);
    else
      to.add(memory, item);
  }
}
Value flatten(A a) {
  List* list = new_list(a.memory());
  const bool all = !a.has(1) || a[1].is_none();
  flatten_into(*list, a[0], all ? -1 : a.integer(1), a.memory(), 0);
  return Value::list(list);
}

// Each item once, in the order of the lists.
template <bool kInFirst, bool kInSecond, bool kInBoth>
Value together(A a) {
  List* result = new_list(a.memory());
  const Value x = Value::list(to_list(a[0], a.memory())), y = Value::list(to_list(a[1], a.memory()));
  const Value made_so_far = Value::list(result);
  const auto add = [&](const Value& item, bool wanted) {
    if (wanted && !contains(made_so_far, item, a.memory())) result->add(a.memory(), item);
  };
  for (const Value& item : x.list())
    add(item, contains(y, item, a.memory()) ? kInBoth : kInFirst);
  for (const Value& item : y.list())
    add(item, contains(x, item, a.memory()) ? kInBoth : kInSecond);
  return Value::list(result);
}

Value zip(A a) {
  std::vector<List*> lists;
  for (const Value& each : a.call().values)
    lists.push_back(to_list(each, a.memory()));
  if (!a.call().named.empty()) throw Failure("zip takes lists only");
  List* rows = new_list(a.memory());
  std::size_t size = lists.front()->size;
  for (const List* each : lists)
    size = std::min(size, each->size);
  for (std::size_t i = 0; i < size; ++i) {
    List* row = new_list(a.memory());
    for (const List* each : lists)
      row->add(a.memory(), each->items[i]);
    rows->add(a.memory(), Value::tuple(row));
  }
  return Value::of(a.memory().make<Iterator>(Iterator{rows}));
}

constexpr auto kFilters = std::to_array<Builtin>({
    {"to_json", {"value"}, 1, to_json},
    {"to_nice_json", {"value", "indent"}, 1, to_nice_json},
    {"from_json", {"value"}, 1, from_json},
    {"b64encode", {"value"}, 1, encode_base64},
    {"b64decode", {"value"}, 1, decode_base64},
    {"bool", {"value"}, 1, to_bool},
    {"mandatory", {"value", "msg"}, 1, mandatory},
    {"ternary", {"value", "true_val", "false_val", "none_val"}, 3, ternary},
    {"hash", {"value", "hashtype"}, 1, hash},
    {"basename", {"path"}, 1, base_name},
    {"dirname", {"path"}, 1, folder_name},
    {"quote", {"value"}, 1, quote},
    {"split", {"value", "sep", "maxsplit"}, 1, split},
    {"combine", {}, 0, combine, true},
    {"dict2items", {"value", "key_name", "value_name"}, 1, to_items},
    {"items2dict", {"value", "key_name", "value_name"}, 1, from_items},
    {"flatten", {"value", "levels"}, 1, flatten},
    {"union", {"a", "b"}, 2, together<true, true, true>},
    {"intersect", {"a", "b"}, 2, together<false, false, true>},
    {"difference", {"a", "b"}, 2, together<true, false, false>},
    {"symmetric_difference", {"a", "b"}, 2, together<true, true, false>},
    {"zip", {}, 0, zip, true},
});

}  // namespace

Rows ansible_filters() {
  return kFilters;
}

}  // namespace templates

// The methods of texts, lists, tuples and dicts, and the global functions.
#include <algorithm>
#include <array>

#include "templates/builtins.hpp"
#include "templates/operators.hpp"
#include "templates/print.hpp"
#include "templates/text.hpp"

namespace templates {

namespace {

using A = const Arguments&;

std::string_view own(A a) {
  return a.self().text();
}
// A part of the text, or what it became: escaped already if the text was.
Value like_own(A a, std::string_view text) {
  return a.self().is_markup() ? Value::markup(text) : Value::text(text);
}
Value made(A a, std::string_view text) {
  return like_own(a, a.memory().copy(text));
}
Value number(std::size_t value) {
  return Value::integer(static_cast<std::int64_t>(value));
}

template <std::string (*kChange)(std::string_view)>
Value change(A a) {
  return made(a, kChange(own(a)));
}

template <bool kLeft, bool kRight>
Value strip(A a) {
  if (!a.has(0) || a[0].is_none()) return like_own(a, stripped(own(a), kLeft, kRight));
  return like_own(a, stripped(own(a), a.only_text(0), kLeft, kRight));
}

Value list_of(A a, const std::vector<std::string_view>& parts) {
  a.memory().step(parts.size());
  List* list = new_list(a.memory(), parts.size());
  for (const std::string_view part : parts)
    list->add(a.memory(), like_own(a, part));
  return Value::list(list);
}

// Between runs of blanks.
std::vector<std::string_view> split_blanks(std::string_view text, std::int64_t most) {
  std::vector<std::string_view> parts;
  text = stripped(text, true, false);
  while (!text.empty()) {
    if (most >= 0 && static_cast<std::int64_t>(parts.size()) == most) {
      parts.push_back(text);
      break;
    }
    std::size_t end = 0;
    while (end < text.size() && !stripped(text.substr(end, character_size(text, end)), true, true).empty())
      end += character_size(text, end);
    parts.push_back(text.substr(0, end));
    text = stripped(text.substr(end), true, false);
  }
  return parts;
}

std::vector<std::string_view> rsplit_blanks(std::string_view text, std::int64_t most) {
  std::vector<std::string_view> all = split_blanks(text, -1);
  if (most < 0 || static_cast<std::int64_t>(all.size()) <= most) return all;
  if (most == 0) return {stripped(text, false, true)};
  const std::size_t first = all.size() - static_cast<std::size_t>(most);
  const char* const end = all[first - 1].data() + all[first - 1].size();
  std::vector<std::string_view> parts{text.substr(0, static_cast<std::size_t>(end - text.data()))};
  parts.insert(parts.end(), all.begin() + static_cast<std::ptrdiff_t>(first), all.end());
  return parts;
}

std::string_view separator_of(A a) {
  const std::string_view separator = a.only_text(0);
  if (separator.empty()) throw Failure("empty separator");
  return separator;
}

Value split(A a) {
  const std::int64_t most = a.integer(1, -1);
  if (!a.has(0) || defined(a[0]).is_none()) return list_of(a, split_blanks(own(a), most));
  const std::string_view separator = separator_of(a);
  std::vector<std::string_view> parts;
  std::string_view rest = own(a);
  for (std::size_t at = 0; most < 0 || static_cast<std::int64_t>(parts.size()) < most;) {
    at = rest.find(separator);
    if (at == std::string_view::npos) break;
    parts.push_back(rest.substr(0, at));
    rest.remove_prefix(at + separator.size());
  }
  parts.push_back(rest);
  return list_of(a, parts);
}

Value rsplit(A a) {
  const std::int64_t most = a.integer(1, -1);
  if (!a.has(0) || defined(a[0]).is_none()) return list_of(a, rsplit_blanks(own(a), most));
  const std::string_view separator = separator_of(a);
  std::vector<std::string_view> parts;
  std::string_view rest = own(a);
  while (most < 0 || static_cast<std::int64_t>(parts.size()) < most) {
    const std::size_t at = rest.rfind(separator);
    if (at == std::string_view::npos) break;
    parts.push_back(rest.substr(at + separator.size()));
    rest = rest.substr(0, at);
  }
  parts.push_back(rest);
  std::ranges::reverse(parts);
  return list_of(a, parts);
}

Value split_lines(A a) {
  return list_of(a, lines_of(own(a), a.flag(0)));
}

template <bool kAtEnd>
Value begins(A a) {
  if (a.has(1)) throw Failure("places in startswith() and endswith() are not supported; use a slice");
  const auto fits = [&](const Value& value) {
    if (!defined(value).is_text()) throw Failure("startswith() and endswith() take texts");
    return kAtEnd ? own(a).ends_with(value.text()) : own(a).starts_with(value.text());
  };
  if (!a[0].is(Kind::tuple)) return Value::boolean(fits(a[0]));
  return Value::boolean(std::any_of(a[0].list().begin(), a[0].list().end(), fits));
}

// The part of the text between two places, and how many characters come before it.
std::string_view part_of(A a, std::size_t& before) {
  const Value part =
      slice(Value::text(own(a)), a.get(1, Value::none()), a.get(2, Value::none()), Value::none(), a.memory());
  const auto size = static_cast<std::int64_t>(length(Value::text(own(a))));
  std::int64_t start = a.has(1) && !a[1].is_none() ? a.integer(1) : 0;
  if (start < 0) start = std::max<std::int64_t>(0, start + size);
  before = static_cast<std::size_t>(start);
  return part.text();
}

template <bool kLast, bool kMust>
Value find(A a) {
  std::size_t before = 0;
  const std::string_view part = part_of(a, before);
  const bool past_end = before > length(Value::text(own(a)));
  const std::size_t at = past_end ? std::string_view::npos
                         : kLast  ? part.rfind(a.only_text(0))
                                  : part.find(a.only_text(0));
  if (at != std::string_view::npos) return number(before + count_characters(part.substr(0, at)));
  if (kMust) throw Failure("substring not found");
  return Value::integer(-1);
}

Value count(A a) {
  std::size_t before = 0;
  const std::string_view part = part_of(a, before), wanted = a.only_text(0);
  if (wanted.empty()) return number(count_characters(part) + 1);
  std::size_t found = 0;
  for (std::size_t at = part.find(wanted); at != std::string_view::npos;
       at = part.find(wanted, at + wanted.size()))
    ++found;
  return number(found);
}

Value replace(A a) {
  const std::size_t largest = a.memory().limits().output;
  return made(a, replaced(own(a), a.only_text(0), a.only_text(1), a.integer(2, -1), largest));
}

Value join(A a) {
  std::string text;
  Walk walk(a[0], a.memory());
  bool first = true;
  for (Value item; walk.next(item); first = false) {
    if (!defined(item).is_text())
      throw Failure("join() takes texts, not " + std::string(type_name(item)) +
                    "; the filter 'join' takes all");
    if (!first) text += own(a);
    text += item.text();
    a.memory().check_text(text.size());
  }
  return made(a, text);
}

Value format(A a) {
  List values;
  for (const Value& each : a.call().values)
    values.add(a.memory(), each);
  Dict names;
  for (const NamedValue& each : a.call().named)
    names.set(a.memory(), Value::text(each.name), each.value);
  return made(a, format_braces(own(a), values, &names, a.memory()));
}

template <bool (*kFits)(char32_t)>
Value all_are(A a) {
  bool all = !own(a).empty();
  for_each_character(own(a), [&all](char32_t c, std::string_view) { all = all && kFits(c); });
  return Value::boolean(all);
}

template <bool kUpper>
Value has_case(A a) {
  return Value::boolean(is_cased(own(a), kUpper));
}

Value is_titled(A a) {
  bool inside = false, any = false, fine = true;
  for_each_character(own(a), [&](char32_t c, std::string_view) {
    const bool high = is_upper(c) || is_title(c), low = is_lower(c);
    fine = fine && !(high && inside) && !(low && !inside);
    any = any || high || low;
    inside = high || low;
  });
  return Value::boolean(any && fine);
}

enum class Side { left, right, both };

template <Side kSide>
Value pad(A a) {
  const std::string_view fill = a.has(1) ? a.only_text(1) : " ";
  if (count_characters(fill) != 1) throw Failure("The fill character must be exactly one character long");
  const auto size = static_cast<std::int64_t>(count_characters(own(a)));
  const std::int64_t missing = std::max<std::int64_t>(0, a.integer(0) - size);
  a.memory().check_text(static_cast<std::size_t>(missing) * fill.size());
  const std::int64_t width = a.integer(0);
  // Python's rule for what cannot be halved.
  const std::int64_t half = missing / 2 + (missing & width & 1);
  const std::int64_t left = kSide == Side::left ? missing : kSide == Side::right ? 0 : half;
  std::string text;
  for (std::int64_t i = 0; i < left; ++i)
    text += fill;
  text += own(a);
  for (std::int64_t i = left; i < missing; ++i)
    text += fill;
  return made(a, text);
}

Value zero_fill(A a) {
  std::string_view text = own(a);
  const auto size = static_cast<std::int64_t>(count_characters(text));
  const std::int64_t missing = std::max<std::int64_t>(0, a.integer(0) - size);
  a.memory().check_text(static_cast<std::size_t>(missing));
  std::string result;
  if (!text.empty() && (text[0] == '+' || text[0] == '-')) {
    result += text[0];
    text.remove_prefix(1);
  }
  result.append(static_cast<std::size_t>(missing), '0').append(text);
  return made(a, result);
}

template <bool kLast>
Value partition(A a) {
  const std::string_view separator = separator_of(a), text = own(a);
  const std::size_t at = kLast ? text.rfind(separator) : text.find(separator);
  const Value whole = like_own(a, text), empty = like_own(a, {});
  if (at == std::string_view::npos)
    return kLast ? new_tuple(a.memory(), {empty, empty, whole})
                 : new_tuple(a.memory(), {whole, empty, empty});
  return new_tuple(a.memory(), {like_own(a, text.substr(0, at)), like_own(a, separator),
                                like_own(a, text.substr(at + separator.size()))});
}

Value remove_prefix(A a) {
  return like_own(a, own(a).starts_with(a.only_text(0)) ? own(a).substr(a.only_text(0).size()) : own(a));
}
Value remove_suffix(A a) {
  const std::string_view text = own(a), end = a.only_text(0);
  return like_own(a, text.ends_with(end) ? text.substr(0, text.size() - end.size()) : text);
}

constexpr auto kTextMethods = std::to_array<Builtin>({
    {"upper", {}, 0, change<to_upper>},
    {"lower", {}, 0, change<to_lower>},
    {"casefold", {}, 0, change<to_lower>},
    {"capitalize", {}, 0, change<capitalized>},
    {"title", {}, 0, change<titled>},
    {"swapcase", {}, 0, change<swapped_case>},
    {"strip", {"chars"}, 0, strip<true, true>},
    {"lstrip", {"chars"}, 0, strip<true, false>},
    {"rstrip", {"chars"}, 0, strip<false, true>},
    {"split", {"sep", "maxsplit"}, 0, split},
    {"rsplit", {"sep", "maxsplit"}, 0, rsplit},
    {"splitlines", {"keepends"}, 0, split_lines},
    {"startswith", {"prefix", "start"}, 1, begins<false>},
    {"endswith", {"suffix", "start"}, 1, begins<true>},
    {"find", {"sub", "start", "end"}, 1, find<false, false>},
    {"rfind", {"sub", "start", "end"}, 1, find<true, false>},
    {"index", {"sub", "start", "end"}, 1, find<false, true>},
    {"rindex", {"sub", "start", "end"}, 1, find<true, true>},
    {"count", {"sub", "start", "end"}, 1, count},
    {"replace", {"old", "new", "count"}, 2, replace},
    {"join", {"iterable"}, 1, join},
    {"format", {}, 0, format, true},
    {"isalpha", {}, 0, all_are<is_alphabetic>},
    {"isdigit", {}, 0, all_are<is_digit>},
    {"isdecimal", {}, 0, all_are<is_decimal>},
    {"isnumeric", {}, 0, all_are<is_numeric>},
    {"isalnum", {}, 0, all_are<is_alphanumeric>},
    {"isspace", {}, 0, all_are<is_space>},
    {"isupper", {}, 0, has_case<true>},
    {"islower", {}, 0, has_case<false>},
    {"istitle", {}, 0, is_titled},
    {"center", {"width", "fillchar"}, 1, pad<Side::both>},
    {"ljust", {"width", "fillchar"}, 1, pad<Side::right>},
    {"rjust", {"width", "fillchar"}, 1, pad<Side::left>},
    {"zfill", {"width"}, 1, zero_fill},
    {"partition", {"sep"}, 1, partition<false>},
    {"rpartition", {"sep"}, 1, partition<true>},
    {"removeprefix", {"prefix"}, 1, remove_prefix},
    {"removesuffix", {"suffix"}, 1, remove_suffix},
});

void check_own(bool is_frozen) {
  if (is_frozen)
    throw Failure(
        "a template cannot change what it was given; make a copy first, as in 'x | list' or 'dict(x)'");
}

List& changed_list(A a) {
  check_own(a.self().list().is_frozen);
  return a.self().list();
}
Dict& changed_dict(A a) {
  check_own(a.self().dict().is_frozen);
  return a.self().dict();
}

Value append(A a) {
  changed_list(a).add(a.memory(), a[0]);
  return Value::none();
}
Value extend(A a) {
  List& list = changed_list(a);
  for (const Value& item : *to_list(a[0], a.memory()))
    list.add(a.memory(), item);
  return Value::none();
}
Value insert(A a) {
  List& list = changed_list(a);
  const auto size = static_cast<std::int64_t>(list.size);
  std::int64_t at = a.integer(0);
  at = std::clamp<std::int64_t>(at < 0 ? at + size : at, 0, size);
  list.add(a.memory(), a[1]);
  std::rotate(list.items + at, list.items + size, list.items + size + 1);
  return Value::none();
}
std::size_t place(const List& list, std::int64_t index) {
  const auto size = static_cast<std::int64_t>(list.size);
  if (index < 0) index += size;
  if (index < 0 || index >= size) throw Failure("pop index out of range");
  return static_cast<std::size_t>(index);
}
Value pop(A a) {
  List& list = changed_list(a);
  if (list.size == 0) throw Failure("pop from empty list");
  const std::size_t at = place(list, a.integer(0, -1));
  const Value taken = list.items[at];
  std::copy(list.items + at + 1, list.end(), list.items + at);
  --list.size;
  return taken;
}
Value remove(A a) {
  List& list = changed_list(a);
  Value* const found =
      std::find_if(list.begin(), list.end(), [&](const Value& item) { return equal(item, a[0]); });
  if (found == list.end()) throw Failure("list.remove(x): x not in list");
  std::copy(found + 1, list.end(), found);
  --list.size;
  return Value::none();
}
Value reverse(A a) {
  std::reverse(changed_list(a).begin(), changed_list(a).end());
  return Value::none();
}
Value sort(A a) {
  List& list = changed_list(a);
  const bool backwards = a.flag(0);
  a.memory().step(list.size * 20);
  std::stable_sort(list.begin(), list.end(), [backwards](const Value& x, const Value& y) {
    return backwards ? less(y, x) : less(x, y);
  });
  return Value::none();
}
Value clear_list(A a) {
  changed_list(a).size = 0;
  return Value::none();
}
Value copy_list(A a) {
  return Value::list(to_list(a.self(), a.memory()));
}
Value index(A a) {
  const List& list = a.self().list();
  for (std::size_t i = 0; i < list.size; ++i)
    if (equal(list.items[i], a[0])) return number(i);
  throw Failure("the value is not in the list");
}
Value count_items(A a) {
  const List& list = a.self().list();
  return number(static_cast<std::size_t>(
      std::count_if(list.begin(), list.end(), [&](const Value& item) { return equal(item, a[0]); })));
}

constexpr auto kListMethods = std::to_array<Builtin>({
    {"append", {"object"}, 1, append},
    {"extend", {"iterable"}, 1, extend},
    {"insert", {"index", "object"}, 2, insert},
    {"pop", {"index"}, 0, pop},
    {"remove", {"value"}, 1, remove},
    {"reverse", {}, 0, reverse},
    {"sort", {"reverse"}, 0, sort},
    {"clear", {}, 0, clear_list},
    {"copy", {}, 0, copy_list},
    {"index", {"value"}, 1, index},
    {"count", {"value"}, 1, count_items},
});
constexpr auto kTupleMethods =
    std::to_array<Builtin>({{"index", {"value"}, 1, index}, {"count", {"value"}, 1, count_items}});

template <View::What kWhat>
Value view(A a) {
  return Value::of(a.memory().make<View>(View{&a.self().dict(), kWhat}));
}
Value get(A a) {
  const Dict::Entry* entry = a.self().dict().find(a[0]);
  return entry ? entry->value : a.get(1, Value::none());
}
void add_pairs(Dict& dict, A a) {
  for (const Value& given : a.call().values) {
    if (defined(given).is(Kind::dict)) {
      const Dict& from = given.dict();
      for (std::size_t i = 0; i < from.used; ++i)
        if (from.entries[i].is_live) dict.set(a.memory(), from.entries[i].key, from.entries[i].value);
      continue;
    }
    for (const Value& pair : *to_list(given, a.memory())) {
      const List& both = *to_list(pair, a.memory());
      if (both.size != 2) throw Failure("a dict is made of pairs");
      dict.set(a.memory(), both.items[0], both.items[1]);
    }
  }
  for (const NamedValue& each : a.call().named)
    dict.set(a.memory(), Value::text(each.name), each.value);
  if (a.call().values.size() > 1) throw Failure("at most one dict is taken");
}
Value update(A a) {
  add_pairs(changed_dict(a), a);
  return Value::none();
}
Value pop_key(A a) {
  Dict& dict = changed_dict(a);
  Dict::Entry* entry = dict.find(a[0]);
  if (!entry && !a.has(1)) throw Failure("the key to take out is not in the dict");
  if (!entry) return a[1];
  const Value taken = entry->value;
  dict.erase(entry);
  return taken;
}
Value pop_last(A a) {
  Dict& dict = changed_dict(a);
  for (std::size_t i = dict.used; i-- > 0;)
    if (dict.entries[i].is_live) {
      dict.erase(&dict.entries[i]);
      return new_tuple(a.memory(), {dict.entries[i].key, dict.entries[i].value});
    }
  throw Failure("popitem(): dictionary is empty");
}
Value set_default(A a) {
  if (const Dict::Entry* entry = a.self().dict().find(a[0])) return entry->value;
  changed_dict(a).set(a.memory(), a[0], a.get(1, Value::none()));
  return a.get(1, Value::none());
}
Value clear_dict(A a) {
  changed_dict(a).clear();
  return Value::none();
}
Dict* new_dict(A a) {
  Dict* dict = a.memory().make<Dict>();
  add_pairs(*dict, a);
  return dict;
}
Value copy_dict(A a) {
  Dict* dict = a.memory().make<Dict>();
  for (const Dict::Entry& entry : a.self().dict())
    if (entry.is_live) dict->set(a.memory(), entry.key, entry.value);
  return Value::dict(dict);
}

constexpr auto kDictMethods = std::to_array<Builtin>({
    {"items", {}, 0, view<View::What::items>},
    {"keys", {}, 0, view<View::What::keys>},
    {"values", {}, 0, view<View::What::values>},
    {"get", {"key", "default"}, 1, get},
    {"update", {}, 0, update, true},
    {"pop", {"key", "default"}, 1, pop_key},
    {"popitem", {}, 0, pop_last},
    {"setdefault", {"key", "default"}, 1, set_default},
    {"clear", {}, 0, clear_dict},
    {"copy", {}, 0, copy_dict},
});

Value cycler_next(A a) {
  Cycler& cycler = a.self().as<Cycler>();
  const Value value = cycler.items->items[cycler.next];
  cycler.next = (cycler.next + 1) % cycler.items->size;
  return value;
}
Value cycler_reset(A a) {
  a.self().as<Cycler>().next = 0;
  return Value::none();
}
constexpr auto kCyclerMethods =
    std::to_array<Builtin>({{"next", {}, 0, cycler_next}, {"reset", {}, 0, cycler_reset}});

Value range(A a) {
  const std::int64_t first = a.integer(0);
  const std::int64_t start = a.has(1) ? first : 0, stop = a.has(1) ? a.integer(1) : first,
                     step = a.integer(2, 1);
  if (step == 0) throw Failure("range() arg 3 must not be zero");
  std::int64_t distance = 0;
  if (__builtin_sub_overflow(stop, start, &distance) || step == std::numeric_limits<std::int64_t>::min())
    too_large_integer();
  const bool empty = step > 0 ? distance <= 0 : distance >= 0;
  const std::int64_t size = empty ? 0 : (std::abs(distance) - 1) / std::abs(step) + 1;
  return Value::of(a.memory().make<Range>(Range{start, stop, step, static_cast<std::size_t>(size)}));
}
Value dict(A a) {
  return Value::dict(new_dict(a));
}
Value space(A a) {
  return Value::space(new_dict(a));
}
Value cycler(A a) {
  if (a.call().values.empty() || !a.call().named.empty())
    throw Failure("at least one item has to be provided");
  List* items = new_list(a.memory());
  for (const Value& each : a.call().values)
    items->add(a.memory(), each);
  return Value::cycler(a.memory().make<Cycler>(Cycler{items}));
}
Value joiner(A a) {
  return Value::joiner(a.memory().make<Cycler>(Cycler{nullptr, 0, a.has(0) ? a.text(0) : ", "}));
}

constexpr auto kGlobals = std::to_array<Builtin>({
    {"range", {"start", "stop", "step"}, 1, range},
    {"dict", {}, 0, dict, true},
    {"namespace", {}, 0, space, true},
    {"cycler", {}, 0, cycler, true},
    {"joiner", {"sep"}, 0, joiner},
});

}  // namespace

Rows text_methods() {
  return kTextMethods;
}
Rows list_methods() {
  return kListMethods;
}
Rows tuple_methods() {
  return kTupleMethods;
}
Rows dict_methods() {
  return kDictMethods;
}
Rows cycler_methods() {
  return kCyclerMethods;
}

const Builtin* find_global(std::string_view name) {
  const auto found = std::ranges::find(kGlobals, name, &Builtin::name);
  return found == kGlobals.end() ? nullptr : &*found;
}
std::vector<std::string_view> global_names() {
  std::vector<std::string_view> names;
  for (const Builtin& row : kGlobals)
    names.push_back(row.name);
  return names;
}

}  // namespace templates

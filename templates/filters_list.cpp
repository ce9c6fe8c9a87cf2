// Jinja2's filters for lists and dicts, and default().
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

Value without_case(const Value& value, bool case_sensitive, Memory& memory) {
  return value.is_text() && !case_sensitive ? new_text(memory, to_lower(value.text())) : value;
}

Value default_of(A a) {
  const bool missing = a[0].is_undefined() || (a.flag(2) && !is_true(a[0]));
  return missing ? a.get(1, Value::text({})) : a[0];
}

Value count(A a) {
  return Value::integer(static_cast<std::int64_t>(length(a[0])));
}

Value list(A a) {
  return Value::list(to_list(a[0], a.memory()));
}

Value first(A a) {
  Walk walk(a[0], a.memory());
  Value item;
  return walk.next(item) ? item : Value::undefined("there is no first item: the list is empty");
}

Value last(A a) {
  if (defined(a[0]).is(Kind::iterator))
    throw Failure("'generator' object is not reversible; use '| list' before");
  const List& items = *to_list(a[0], a.memory());
  return items.size > 0 ? items.items[items.size - 1]
                        : Value::undefined("there is no last item: the list is empty");
}

Value join(A a) {
  const std::string_view between = a.has(1) ? a.text(1) : std::string_view();
  const bool by_path = a.has(2) && !a[2].is_none();
  const Path path(by_path ? a[2] : Value::none(), a.memory());
  std::string text;
  Walk walk(a[0], a.memory());
  bool is_first = true;
  for (Value item; walk.next(item); is_first = false) {
    if (!is_first) text += between;
    append_text(by_path ? path.follow(item, Value::none(), a.memory()) : item, text, a.memory());
    a.memory().check_text(text.size());
  }
  return new_text(a.memory(), text);
}

Value iterator(A a, List* items) {
  return Value::of(a.memory().make<Iterator>(Iterator{items}));
}

Value reverse(A a) {
  if (defined(a[0]).is_text()) {
    std::u32string codes = decoded(a[0].text());
    std::ranges::reverse(codes);
    return new_text(a.memory(), encoded(codes));
  }
  List* items = to_list(a[0], a.memory());
  std::reverse(items->begin(), items->end());
  return a[0].is(Kind::iterator) ? Value::list(items) : iterator(a, items);
}

struct Keyed {
  Value key;
  Value item;
};

List* sorted(std::vector<Keyed>& items, bool backwards, Memory& memory) {
  memory.step(items.size() * 20);
  std::stable_sort(items.begin(), items.end(), [backwards](const Keyed& x, const Keyed& y) {
    return backwards ? less(y.key, x.key) : less(x.key, y.key);
  });
  List* list = new_list(memory, items.size());
  for (const Keyed& each : items)
    list->add(memory, each.item);
  return list;
}

Value sort(A a) {
  std::vector<Path> paths;
  const Value attribute = a.get(3, Value::none());
  if (attribute.is_text()) {
    std::string_view rest = attribute.text();
    for (std::size_t comma = 0; comma != std::string_view::npos;) {
      comma = rest.find(',');
      paths.emplace_back(Value::text(rest.substr(0, comma)), a.memory());
      if (comma != std::string_view::npos) rest.remove_prefix(comma + 1);
    }
  } else {
    paths.emplace_back(attribute, a.memory());
  }
  std::vector<Keyed> items;
  for (const Value& item : *to_list(a[0], a.memory())) {
    List* key = new_list(a.memory(), paths.size());
    for (const Path& path : paths)
      key->add(a.memory(), without_case(path.follow(item, Value::none(), a.memory()), a.flag(2), a.memory()));
    items.push_back({Value::list(key), item});
  }
  return Value::list(sorted(items, a.flag(1), a.memory()));
}

Value sort_dict(A a) {
  if (!defined(a[0]).is(Kind::dict)) throw Failure("dictsort wants a dict");
  const std::string_view by = a.has(2) ? a.text(2) : "key";
  if (by != "key" && by != "value") throw Failure("dictsort: 'by' must be 'key' or 'value'");
  std::vector<Keyed> items;
  for (const Dict::Entry& entry : a[0].dict())
    if (entry.is_live)
      items.push_back({without_case(by == "key" ? entry.key : entry.value, a.flag(1), a.memory()),
                       new_tuple(a.memory(), {entry.key, entry.value})});
  return Value::list(sorted(items, a.flag(3), a.memory()));
}

Value unique(A a) {
  const Path path(a.get(2, Value::none()), a.memory());
  Dict seen;
  List* items = new_list(a.memory());
  for (const Value& item : *to_list(a[0], a.memory())) {
    const Value key = without_case(path.follow(item, Value::none(), a.memory()), a.flag(1), a.memory());
    if (seen.find(key)) continue;
    seen.set(a.memory(), key, Value::none());
    items->add(a.memory(), item);
  }
  return iterator(a, items);
}

template <bool kLargest>
Value extreme(A a) {
  const Path path(a.get(2, Value::none()), a.memory());
  Walk walk(a[0], a.memory());
  Value best, best_key;
  if (!walk.next(best)) return Value::undefined("there is no smallest or largest item: the list is empty");
  const auto key_of = [&](const Value& item) {
    return without_case(path.follow(item, Value::none(), a.memory()), a.flag(1), a.memory());
  };
  best_key = key_of(best);
  for (Value item; walk.next(item);) {
    const Value key = key_of(item);
    if (kLargest ? compare(key, best_key, ">") != 1 : compare(key, best_key, "<") != -1) continue;
    best = item;
    best_key = key;
  }
  return best;
}

Value sum(A a) {
  const bool by_path = a.has(1) && !a[1].is_none();
  const Path path(by_path ? a[1] : Value::none(), a.memory());
  Value total = a.get(2, Value::integer(0));
  if (total.is_text()) throw Failure("sum() can't sum strings; use '| join'");
  Walk walk(a[0], a.memory());
  for (Value item; walk.next(item);)
    total = add(total, by_path ? path.follow(item, Value::none(), a.memory()) : item, a.memory());
  return total;
}

Value slice_into(A a) {
  const List& items = *to_list(a[0], a.memory());
  const std::int64_t count = a.integer(1);
  if (count == 0) throw Failure("slice: integer division or modulo by zero");
  List* slices = new_list(a.memory());
  const auto size = static_cast<std::int64_t>(items.size);
  const std::int64_t each = count > 0 ? size / count : 0, longer = count > 0 ? size % count : 0;
  std::int64_t at = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    a.memory().step();
    List* part = new_list(a.memory());
    for (const std::int64_t end = at + each + (i < longer ? 1 : 0); at < end; ++at)
      part->add(a.memory(), items.items[at]);
    if (a.has(2) && !a[2].is_none() && i >= longer) part->add(a.memory(), a[2]);
    slices->add(a.memory(), Value::list(part));
  }
  return iterator(a, slices);
}

Value batch(A a) {
  const List& items = *to_list(a[0], a.memory());
  const std::int64_t size = a.integer(1);
  List* batches = new_list(a.memory());
  List* part = new_list(a.memory());
  for (const Value& item : items) {
    if (static_cast<std::int64_t>(part->size) == size) {
      batches->add(a.memory(), Value::list(part));
      part = new_list(a.memory());
    }
    part->add(a.memory(), item);
  }
  if (part->size > 0) {
    if (a.has(2) && !a[2].is_none())
      while (static_cast<std::int64_t>(part->size) < size) {
        a.memory().step();
        part->add(a.memory(), a[2]);
      }
    batches->add(a.memory(), Value::list(part));
  }
  return iterator(a, batches);
}

Value items_of(A a) {
  if (a[0].is_undefined()) return iterator(a, new_list(a.memory()));
  if (!a[0].is(Kind::dict)) throw Failure("Can only get item pairs from a mapping.");
  return iterator(
      a, to_list(Value::of(a.memory().make<View>(View{&a[0].dict(), View::What::items})), a.memory()));
}

Value attribute_of(A a) {
  // Items of dicts do not count; values have no other attributes than methods.
  if (defined(a[0]).is(Kind::dict) && a[0].dict().find(a.only_text(1)))
    return Value::undefined("'attr' finds no items of dicts");
  return attribute(a[0], a.only_text(1), a.memory());
}

Value group(A a) {
  const Path path(a[1], a.memory());
  const Value otherwise = a.get(2, Value::none());
  std::vector<Keyed> items;
  for (const Value& item : *to_list(a[0], a.memory()))
    items.push_back({without_case(path.follow(item, otherwise, a.memory()), a.flag(3), a.memory()), item});
  const List* in_order = sorted(items, false, a.memory());
  List* groups = new_list(a.memory());
  for (std::size_t at = 0; at < items.size();) {
    List* members = new_list(a.memory());
    const Value key = items[at].key;
    const Value shown = path.follow(in_order->items[at], otherwise, a.memory());
    for (; at < items.size() && equal(items[at].key, key); ++at)
      members->add(a.memory(), items[at].item);
    const Value both = new_tuple(a.memory(), {a.flag(3) ? key : shown, Value::list(members)});
    both.list().is_group = true;
    groups->add(a.memory(), both);
  }
  return Value::list(groups);
}

// Items until one fails: that failure comes when somebody arrives there.
template <class Function>
Value lazily(A a, Function each) {
  const Call& call = a.call();
  List* made = new_list(a.memory());
  Iterator* result = a.memory().make<Iterator>(Iterator{made});
  try {
    if (!is_true(call.values[0])) return Value::of(result);
    Walk walk(call.values[0], a.memory());
    for (Value item; walk.next(item);)
      each(item, *made);
  } catch (const Failure& failure) {
    if (failure.limit) throw;
    result->failure = a.memory().copy(failure.message);
  }
  return Value::of(result);
}

Value map(A a) {
  const Call& call = a.call();
  Memory& memory = a.memory();
  if (call.values.size() > 1)
    return lazily(a, [&](const Value& item, List& to) {
      const Value& name = defined(call.values[1]);
      const Builtin* filter = name.is_text() ? find_filter(name.text()) : nullptr;
      if (!filter) throw Failure("map: there is no filter '" + to_text(name, memory) + "'");
      to.add(memory, apply(*filter, item, {call.values.subspan(2), call.named}, memory));
    });
  return lazily(a, [&](const Value& item, List& to) {
    Value wanted, otherwise = Value::none();
    bool has_wanted = false;
    for (const NamedValue& each : call.named) {
      if (each.name == "attribute") {
        wanted = each.value;
        has_wanted = true;
      } else if (each.name == "default") {
        otherwise = each.value;
      } else {
        throw Failure("map: there is no argument '" + std::string(each.name) + "'");
      }
    }
    if (!has_wanted) throw Failure("map needs a filter or 'attribute'");
    to.add(memory, Path(wanted, memory).follow(item, otherwise, memory));
  });
}

template <bool kWanted, bool kByAttribute>
Value choose(A a) {
  const Call& call = a.call();
  Memory& memory = a.memory();
  constexpr std::size_t kTest = kByAttribute ? 2 : 1;
  return lazily(a, [&](const Value& item, List& to) {
    if (kByAttribute && call.values.size() < 2) throw Failure("the name of an attribute is missing");
    const Value asked =
        kByAttribute ? Path(call.values[1], memory).follow(item, Value::none(), memory) : item;
    bool fits = false;
    if (call.values.size() > kTest) {
      const Value& name = defined(call.values[kTest]);
      const Builtin* test = name.is_text() ? find_test(name.text()) : nullptr;
      if (!test) throw Failure("there is no test '" + to_text(name, memory) + "'");
      fits = is_true(apply(*test, asked, {call.values.subspan(kTest + 1), call.named}, memory));
    } else {
      fits = is_true(asked);
    }
    if (fits == kWanted) to.add(memory, item);
  });
}

constexpr auto kFilters = std::to_array<Builtin>({
    {"default", {"value", "default_value", "boolean"}, 1, default_of},
    {"d", {"value", "default_value", "boolean"}, 1, default_of},
    {"count", {"obj"}, 1, count},
    {"length", {"obj"}, 1, count},
    {"list", {"value"}, 1, list},
    {"first", {"seq"}, 1, first},
    {"last", {"seq"}, 1, last},
    {"join", {"value", "d", "attribute"}, 1, join},
    {"reverse", {"value"}, 1, reverse},
    {"sort", {"value", "reverse", "case_sensitive", "attribute"}, 1, sort},
    {"dictsort", {"value", "case_sensitive", "by", "reverse"}, 1, sort_dict},
    {"unique", {"value", "case_sensitive", "attribute"}, 1, unique},
    {"min", {"value", "case_sensitive", "attribute"}, 1, extreme<false>},
    {"max", {"value", "case_sensitive", "attribute"}, 1, extreme<true>},
    {"sum", {"iterable", "attribute", "start"}, 1, sum},
    {"slice", {"value", "slices", "fill_with"}, 2, slice_into},
    {"batch", {"value", "linecount", "fill_with"}, 2, batch},
    {"items", {"value"}, 1, items_of},
    {"attr", {"obj", "name"}, 2, attribute_of},
    {"groupby", {"value", "attribute", "default", "case_sensitive"}, 2, group},
});

constexpr auto kChoices = std::to_array<Builtin>({
    {"map", {}, 0, map, true},
    {"select", {}, 0, choose<true, false>, true},
    {"reject", {}, 0, choose<false, false>, true},
    {"selectattr", {}, 0, choose<true, true>, true},
    {"rejectattr", {}, 0, choose<false, true>, true},
});

}  // namespace

Rows list_filters() {
  return kFilters;
}
Rows choice_filters() {
  return kChoices;
}

}  // namespace templates

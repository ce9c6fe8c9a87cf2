#include "recipe/format/format.hpp"

#include <algorithm>
#include <array>
#include <map>

namespace recipe::format {

namespace {

using Strings = std::span<const std::string_view>;

// The keys in their order; "" is the place of all others, which stay as they are among themselves.
constexpr std::array<std::string_view, 20> kStateKeys{"id",
                                                      "stateid",
                                                      "state_id",
                                                      "when",
                                                      "each",
                                                      "include",
                                                      "module",
                                                      "",
                                                      "parameter",
                                                      "vars",
                                                      "timeout",
                                                      "retries",
                                                      "sensitive",
                                                      "on_change_of",
                                                      "restart_on",
                                                      "reload_on",
                                                      "require",
                                                      "once",
                                                      "continue_on_failure",
                                                      "_lint"};
constexpr std::array<std::string_view, 9> kRecipeKeys{
    "version", "recipe", "module", "recipe_version", "continue_on_failure", "vars", "", "states", "files"};

const Node* find(const Node& object, std::string_view key) {
  if (object.kind != Kind::object) return nullptr;
  for (const Entry* entry : object.entries)
    if (entry->key->value == key) return &entry->value;
  return nullptr;
}

bool has_anchors(const Node& node) {
  if (node.kind == Kind::alias || !node.anchor.empty()) return true;
  return std::ranges::any_of(node.entries, [](const Entry* entry) { return has_anchors(entry->value); });
}

void order_keys(Node& node, Strings order) {
  // An anchor must stand before what names it.
  if (node.kind != Kind::object || has_anchors(node)) return;
  node.keys_may_move = true;
  const auto others = std::ranges::find(order, "") - order.begin();
  const auto rank = [&](const Entry* entry) {
    const auto found = std::ranges::find(order, entry->key->value);
    return found == order.end() || entry->key->value.empty() ? others : found - order.begin();
  };
  if (node.entries.empty()) return;
  Entry* const first = node.entries.front();
  std::ranges::stable_sort(node.entries, {}, rank);
  // What stands above all keys, and a blank line there, is not the first key's.
  if (Entry* const now = node.entries.front(); now != first) {
    now->before.insert(now->before.begin(), first->before.begin(), first->before.end());
    first->before.clear();
    std::swap(now->blank_before, first->blank_before);
  }
}

void order_all_keys(Layout& layout) {
  Node& root = layout.root.value;
  Node* states = root.kind == Kind::list ? &root : nullptr;
  for (const std::string_view key : {"states", "state"})
    if (!states) states = const_cast<Node*>(find(root, key));
  if (!states)
    if (const Node* component = find(root, "component"))
      if (const Node* init = find(*component, "init")) states = const_cast<Node*>(find(*init, "state"));
  if (!states || states->kind != Kind::list) return;
  for (Entry* entry : states->entries)
    order_keys(entry->value, kStateKeys);
  if (find(root, "states")) order_keys(root, kRecipeKeys);
}

// Whether two texts mean the same. Aliases are compared by their names: what they stand for is compared
// where it stands.
bool same(const Node& a, const Node& b) {
  if (a.kind != b.kind || a.anchor != b.anchor || a.value != b.value) return false;
  if (a.kind == Kind::scalar) {
    const bool has_same_quotes = (a.style == Style::plain) == (b.style == Style::plain);
    return has_same_quotes || needs_no_quotes(a.value);
  }
  if (a.entries.size() != b.entries.size()) return false;
  std::map<std::string_view, const Node*> by_key;
  if (a.keys_may_move)
    for (const Entry* entry : b.entries)
      by_key.emplace(entry->key->value, &entry->value);
  for (std::size_t i = 0; i < a.entries.size(); ++i) {
    const Entry& one = *a.entries[i];
    const Entry& other = *b.entries[i];
    if (a.keys_may_move) {
      const auto found = by_key.find(one.key->value);
      if (found == by_key.end() || !same(one.value, *found->second)) return false;
      continue;
    }
    if (one.key && one.key->value != other.key->value) return false;
    if (!same(one.value, other.value)) return false;
  }
  return true;
}

// What stays of a text whose lines end as Windows has it.
std::string normalized(std::string_view text) {
  std::string made;
  made.reserve(text.size());
  for (std::size_t at = 0; at < text.size(); ++at)
    if (text[at] != '\r' || at + 1 == text.size() || text[at + 1] != '\n') made += text[at];
  return made;
}

std::optional<Refusal> refuse(std::string message) {
  return Refusal{std::move(message)};
}

// As recipes are read, and then with all that this leaves out.
std::optional<Refusal> read_both(Layout& layout) {
  Document document;
  document.text = layout.text;
  const auto parsed = parse_yaml(document.text, document.arena, {.depth = 64, .values = kMostValues});
  if (const auto* problem = std::get_if<base::SyntaxProblem>(&parsed))
    return Refusal{problem->message, LineIndex(document).locate(problem->offset)};
  return read_layout(layout);
}

std::optional<Refusal> read(Layout& layout) {
  for (const std::string_view other : {"\r", "\xC2\x85", "\xE2\x80\xA8", "\xE2\x80\xA9"})
    if (layout.text.find(other) != std::string::npos)
      return refuse("a line ends with something else than a newline, and cannot be kept");
  if (layout.text.find("\xEF\xBB\xBF") != std::string::npos)
    return refuse("there is a byte order mark in it, with which recipes are not read; take it out");
  return read_both(layout);
}

std::vector<std::string_view> sorted(std::vector<std::string_view> comments) {
  std::ranges::sort(comments);
  return comments;
}

// One pass, with the proof that nothing is lost. `after` holds the result, read.
std::optional<Refusal> format_once(Layout& before, Layout& after) {
  if (auto refusal = read(before)) return refusal;
  order_all_keys(before);
  auto text = write_layout(before, kLargestResult);
  if (!text) return refuse("formatted, it would be larger than 16 MiB");
  after.text = std::move(*text);
  // None of these is known to happen; where one does, the file stays as it is.
  if (read(after)) return refuse("its layout cannot be kept: formatted, it would not be YAML any more");
  if (!same(before.root.value, after.root.value))
    return refuse("its layout cannot be kept: formatted, it would mean something else");
  if (sorted(before.comments) != sorted(after.comments))
    return refuse(
        "its layout cannot be kept: a comment stands where it has no place; move it to a line of its own");
  return std::nullopt;
}

}  // namespace

std::variant<std::string, Refusal> format_recipe(std::string_view text) {
  if (text.size() > kLargest) return Refusal{"it is larger than the limit of 4 MiB"};
  Layout before, formatted, again;
  before.text = normalized(text);
  if (auto refusal = format_once(before, formatted)) return std::move(*refusal);
  if (before.text != text) {  // and not only what was made of it
    Layout raw;
    raw.text = text;
    if (auto refusal = read_both(raw)) return std::move(*refusal);
    order_all_keys(raw);
    if (!same(raw.root.value, formatted.root.value))
      return Refusal{"its layout cannot be kept: with other line ends it would mean something else"};
  }
  Layout second;
  second.text = formatted.text;
  if (auto refusal = format_once(second, again)) return std::move(*refusal);
  if (again.text != formatted.text)
    return Refusal{"its layout cannot be kept: formatted twice, it would be another text"};
  return std::move(formatted.text);
}

}  // namespace recipe::format

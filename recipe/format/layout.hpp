// Layout: a YAML text as it is written, with its comments, blank lines, quotes and anchors. What reading a
// recipe throws away is all here.
//
// A Layout owns its text; everything else points into it. One thread.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "recipe/document.hpp"

namespace recipe::format {

// Why a text cannot be read, or not be kept exactly, and where.
struct Refusal {
  std::string message;
  Position position = {};
};

struct Comment {
  std::string_view text;      // from its '#', without blanks at its end
  std::uint32_t column = 0;   // from 0
  std::uint32_t spaces = 1;   // before it, of one behind something
  bool is_own_line = true;    // nothing stands before it in its line
  bool blank_before = false;  // a blank line, or several
};

enum class Kind { scalar, alias, list, object };
enum class Style { plain, single_quoted, double_quoted, literal, folded };

struct Entry;

struct Node {
  Kind kind = Kind::scalar;
  Style style = Style::plain;
  bool is_flow = false;          // written as [ … ] or { … }
  bool spans_lines = false;      // of flow
  bool keys_may_move = false;    // a state, or the recipe itself: the order of its keys says nothing
  std::string_view source = {};  // a scalar as it is written; of a block its header
  std::string_view body = {};    // of a block: its lines, without the last newline
  std::size_t body_indent = 0;
  std::string value = {};        // what a scalar says
  std::string_view anchor = {};  // of an alias: whose
  std::vector<Entry*> entries = {};

  bool is_block_scalar() const {
    return kind == Kind::scalar && (style == Style::literal || style == Style::folded);
  }
  bool is_collection() const { return kind == Kind::list || kind == Kind::object; }
};

// An item of a list, or a member of an object.
struct Entry {
  std::optional<Node> key;
  Node value;
  std::vector<Comment> before;          // own lines above it
  std::optional<Comment> behind_key;    // in its line, where its value begins in another one
  std::optional<Comment> behind_value;  // in the line in which its value ends
  std::vector<Comment> after;           // own lines below it, that belong to it and not to what follows
  bool blank_before = false;
  std::uint32_t column = 0;  // in the text
};

// Above it, and below what stands there already. A blank line above the entry stays above all.
inline void put_above(Entry& entry, Comment comment) {
  comment.is_own_line = true;
  comment.blank_before = entry.before.empty() && std::exchange(entry.blank_before, false);
  entry.before.push_back(comment);
}

struct Layout {
  std::string text;
  std::deque<Entry> pool;
  Entry root;  // its value is the document
  bool has_start_mark = false;
  bool has_anchors = false;
  std::vector<std::string_view> comments;  // all of them

  Layout() = default;
  Layout(const Layout&) = delete;
  Layout& operator=(const Layout&) = delete;
};

// Fills `layout` from its text. The text must be one that parse_yaml() reads, within the given limits.
std::optional<Refusal> read_layout(Layout& layout);

// Writes it in the form that docs/lint.md describes. Comments may change their owners on the way. Nothing
// when it would become larger than `most` bytes.
std::optional<std::string> write_layout(Layout& layout, std::size_t most);

// Whether the text means the same with quotes and without, to every reader.
bool needs_no_quotes(std::string_view text);

}  // namespace recipe::format

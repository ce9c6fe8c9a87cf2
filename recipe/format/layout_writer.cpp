// Layout to text: two spaces a level, `[a, b]` and `{ a: b }` where they fit in a line.
#include <algorithm>
#include <array>

#include "base/text.hpp"
#include "base/values/value.hpp"
#include "recipe/format/format.hpp"
#include "recipe/format/layout.hpp"

namespace recipe::format {

namespace {

std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string written_scalar(const Node& node) {
  if (node.style == Style::plain) return std::string(node.source);
  if (needs_no_quotes(node.value)) return node.value;
  const bool fits_in_double = node.value.find_first_of("\"\\\n") == std::string::npos;
  if (node.style == Style::single_quoted && fits_in_double &&
      node.source.find('\n') == std::string_view::npos)
    return '"' + node.value + '"';
  return std::string(node.source);
}

// A list or an object that is one line, if it may be and fits into so many characters.
class InOneLine {
 public:
  explicit InOneLine(std::size_t most) : most_(most) {}

  std::optional<std::string> write(const Node& node) {
    return add(node) ? std::optional(std::move(text_)) : std::nullopt;
  }

 private:
  bool put(std::string_view piece) {
    width_ += width_of(piece);
    text_ += piece;
    return width_ <= most_;
  }

  bool add(const Node& node) {
    if (node.kind == Kind::alias) return put("*" + std::string(node.anchor));
    if (!node.anchor.empty() && !put("&" + std::string(node.anchor) + " ")) return false;
    if (node.kind == Kind::scalar) {
      if (node.is_block_scalar() || node.source.empty() || node.source.find('\n') != std::string_view::npos)
        return false;
      return put(written_scalar(node));
    }
    if (!node.is_flow || (node.spans_lines && !node.entries.empty())) return false;
    const bool is_list = node.kind == Kind::list;
    if (node.entries.empty()) return put(is_list ? "[]" : "{}");
    if (!put(is_list ? "[" : "{ ")) return false;
    for (std::size_t i = 0; i < node.entries.size(); ++i) {
      const Entry& entry = *node.entries[i];
      const bool has_comments =
          !entry.before.empty() || !entry.after.empty() || entry.behind_key || entry.behind_value;
      if (has_comments || (i > 0 && !put(", "))) return false;
      if (entry.key && !put(written_scalar(*entry.key) + ": ")) return false;
      if (!add(entry.value)) return false;
    }
    return put(is_list ? "]" : " }");
  }

  const std::size_t most_;
  std::size_t width_ = 0;
  std::string text_;
};

class Writer {
 public:
  explicit Writer(std::size_t most) : most_(most) {}

  std::optional<std::string> write(Layout& layout) {
    Entry& root = layout.root;
    Node& node = root.value;
    if (layout.has_start_mark) text_ += "---\n";
    // What stands behind brackets has no place there.
    for (auto* place : {&root.behind_key, &root.behind_value})
      if (*place) root.before.push_back(*std::exchange(*place, std::nullopt));
    comments(root.before, 0);
    if (const auto line = one_line(node, 0)) {
      text_ += *line + "\n";
    } else {
      entries(node, 0, false);
    }
    comments(root.after, 0);
    if (text_.size() > most_) return std::nullopt;
    return std::move(text_);
  }

 private:
  void indent(std::size_t columns) { text_.append(columns, ' '); }

  void comments(const std::vector<Comment>& all, std::size_t columns) {
    for (const Comment& comment : all) {
      if (comment.blank_before) blank_line();
      indent(columns);
      text_.append(comment.text).append("\n");
      is_behind_kept_ = false;
    }
  }

  // Behind "|+" it would be one of its lines.
  void blank_line() {
    if (!text_.empty() && !is_behind_kept_) text_ += '\n';
  }

  void behind(const std::optional<Comment>& comment) {
    if (!comment) return;
    indent(comment->spaces);
    text_ += comment->text;
  }

  std::optional<std::string> one_line(const Node& node, std::size_t column) const {
    if (!node.is_collection()) return std::nullopt;
    // Empty ones have no other form.
    return InOneLine(node.entries.empty() ? kWidth + column : kWidth - std::min(column, kWidth)).write(node);
  }

  void entries(Node& node, std::size_t columns, bool is_first_begun) {
    for (std::size_t i = 0; i < node.entries.size() && text_.size() <= most_; ++i) {
      Entry& entry = *node.entries[i];
      const bool is_begun = i == 0 && is_first_begun;
      hoist(entry, columns);
      if (!is_begun) {
        comments(entry.before, columns);
        if (entry.blank_before) blank_line();
        indent(columns);
      }
      write_entry(entry, columns);
      comments(entry.after, columns);
    }
  }

  // Comments that have no place of their own go above the entry. The same comes out of what was written.
  void hoist(Entry& entry, std::size_t columns) const {
    const auto above = [&](std::optional<Comment>& comment) {
      if (comment) put_above(entry, *std::exchange(comment, std::nullopt));
    };
    Node* value = &entry.value;
    if (!value->is_collection() || value->entries.empty()) {
      if (entry.behind_key && entry.behind_value) above(entry.behind_key);
      if (entry.behind_key) entry.behind_value = std::exchange(entry.behind_key, std::nullopt);
      if (value->is_block_scalar()) above(entry.behind_value);
      return;
    }
    if (is_one_line(entry, columns)) return;
    if (entry.key) {
      if (entry.behind_key) above(entry.behind_value);
      if (entry.behind_value) entry.behind_key = std::exchange(entry.behind_value, std::nullopt);
      return;
    }
    above(entry.behind_key);
    above(entry.behind_value);
    // "- a: b": what stands above the first key stands above the "-".
    if (!value->anchor.empty()) return;
    Entry& first = *value->entries.front();
    hoist(first, columns + 2);
    for (const Comment& comment : std::exchange(first.before, {}))
      put_above(entry, comment);
    first.blank_before = false;
  }

  static std::string head_of(const Entry& entry) {
    return entry.key ? written_scalar(*entry.key) + ":" : "-";
  }
  bool is_one_line(const Entry& entry, std::size_t columns) const {
    return one_line(entry.value, columns + width_of(head_of(entry)) + 1).has_value();
  }

  void write_entry(Entry& entry, std::size_t columns) {
    Node& value = entry.value;
    std::string head = head_of(entry);
    if (!value.anchor.empty() && value.kind != Kind::alias && !value.is_collection())
      head += " &" + std::string(value.anchor);
    text_ += head;
    is_behind_kept_ = false;
    if (!value.is_collection()) {
      write_scalar(value, columns);
      behind(entry.behind_value);
      text_ += '\n';
      if (value.is_block_scalar()) write_body(value, columns);
      return;
    }
    const std::size_t column = columns + width_of(head) + 1;
    if (const auto line = one_line(value, column)) {
      text_ += ' ' + *line;
      behind(entry.behind_value);
      text_ += '\n';
      return;
    }
    write_block(entry, columns);
  }

  void write_block(Entry& entry, std::size_t columns) {
    Node& value = entry.value;
    if (!value.anchor.empty()) text_ += " &" + std::string(value.anchor);
    if (!entry.key && value.anchor.empty()) {
      text_ += ' ';
      return entries(value, columns + 2, true);
    }
    behind(entry.behind_key);
    text_ += '\n';
    entries(value, columns + 2, false);
  }

  void write_scalar(const Node& value, std::size_t columns) {
    if (value.kind == Kind::alias) {
      text_ += " *" + std::string(value.anchor);
    } else if (value.is_block_scalar()) {
      text_ += ' ' + header(value);
    } else if (value.source.find('\n') != std::string_view::npos) {
      write_lines(value, columns);
    } else if (const std::string text = written_scalar(value); !text.empty()) {
      text_ += ' ' + text;
    }
  }

  // A text of several lines in quotes, or without: blanks around its line breaks do not count.
  void write_lines(const Node& value, std::size_t columns) {
    bool is_first = true;
    std::string_view rest = value.source;
    while (true) {
      const std::size_t newline = std::min(rest.find('\n'), rest.size());
      std::string_view line = rest.substr(0, newline);
      const std::size_t first = is_first ? 0 : std::min(line.find_first_not_of(" \t"), line.size());
      line.remove_prefix(first);
      if (value.style != Style::double_quoted && newline < rest.size())
        line = line.substr(0, line.find_last_not_of(" \t") + 1);
      if (is_first)
        text_ += ' ';
      else if (!line.empty())
        indent(columns + 2);
      text_ += line;
      is_first = false;
      if (newline == rest.size()) return;
      text_ += '\n';
      rest.remove_prefix(newline + 1);
    }
  }

  // ---- blocks: "|" and ">"

  template <class Take>
  static void for_each_line(std::string_view body, const Take& take) {
    while (true) {
      const std::size_t newline = body.find('\n');
      take(body.substr(0, newline));
      if (newline == std::string_view::npos) return;
      body.remove_prefix(newline + 1);
    }
  }

  // The line without its indentation.
  static std::string_view bare(std::string_view line, std::size_t columns) {
    const std::size_t spaces = std::min(line.find_first_not_of(' '), line.size());
    return line.substr(std::min(spaces, columns));
  }

  static std::string header(const Node& value) {
    const std::string_view source = value.source;
    const std::size_t signs_end = std::min(source.find_first_of(" \t#"), source.size());
    const std::string_view signs = source.substr(0, signs_end);
    std::string text(1, source.front());
    // Where the first line begins with blanks, they would be taken for its indentation.
    bool is_decided = false, needs_number = false;
    if (value.body.data())
      for_each_line(value.body, [&](std::string_view line) {
        const std::string_view inner = bare(line, value.body_indent);
        if (is_decided || inner.empty()) return;
        needs_number = inner.front() == ' ';
        is_decided = inner.find_first_not_of(' ') != std::string_view::npos || needs_number;
      });
    if (needs_number) text += '2';
    const bool lacks_newline = !value.value.empty() && value.value.back() != '\n';
    if (signs.find('-') != std::string_view::npos || lacks_newline)
      text += '-';
    else if (signs.find('+') != std::string_view::npos)
      text += '+';
    const std::string_view rest = base::trim(source.substr(signs_end));
    if (!rest.empty()) text.append(" ").append(rest);
    return text;
  }

  void write_body(const Node& value, std::size_t columns) {
    is_behind_kept_ = header(value).find('+') != std::string::npos;
    if (!value.body.data()) return;
    for_each_line(value.body, [&](std::string_view line) {
      const std::string_view inner = bare(line, value.body_indent);
      if (!inner.empty()) indent(columns + 2);
      text_.append(inner).append("\n");
    });
  }

  const std::size_t most_;
  std::string text_;
  bool is_behind_kept_ = false;
};

}  // namespace

bool needs_no_quotes(std::string_view text) {
  // What some reader takes for something else than text.
  static constexpr std::array<std::string_view, 14> kWords{
      "true", "false", "yes", "no", "on", "off", "y", "n", "null", "nil", "none", "nan", "inf", "infinity"};
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const auto fits = [&](char c) {
    return is_letter(c) || (c >= '0' && c <= '9') ||
           std::string_view(" _./@%+=-").find(c) != std::string_view::npos;
  };
  if (text.empty() || (!is_letter(text.front()) && text.front() != '/')) return false;
  if (text.back() == ' ' || text.find("  ") != std::string_view::npos) return false;
  if (!std::ranges::all_of(text, fits)) return false;
  return std::ranges::none_of(kWords,
                              [&](std::string_view word) { return base::equal_ignoring_case(text, word); });
}

std::optional<std::string> write_layout(Layout& layout, std::size_t most) {
  return Writer(most).write(layout);
}

}  // namespace recipe::format

// libyaml's events and the text between them to Layout.
#include <algorithm>

#include <yaml.h>

#include "base/text.hpp"
#include "recipe/format/layout.hpp"

namespace recipe::format {

namespace {

constexpr std::size_t kDeepest = 64;

std::string_view text_of(const yaml_char_t* text) {
  return text ? std::string_view(reinterpret_cast<const char*>(text)) : std::string_view();
}

bool is_blank(char c) {
  return c == ' ' || c == '\t';
}

class Reader {
 public:
  explicit Reader(Layout& layout) : layout_(layout), text_(layout.text) {
    yaml_parser_initialize(&parser_);
    yaml_parser_set_encoding(&parser_, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(text_.data()),
                                 text_.size());
  }
  ~Reader() {
    yaml_event_delete(&event_);
    yaml_parser_delete(&parser_);
  }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  std::optional<Refusal> read() {
    if (next() && next()) document();
    return std::move(refusal_);
  }

 private:
  // ---- events

  bool next() {
    if (refusal_) return false;
    yaml_event_delete(&event_);
    if (yaml_parser_parse(&parser_, &event_) == 1) return true;
    return refuse(parser_.problem ? parser_.problem : "not YAML", byte_of(parser_.problem_mark.index));
  }

  bool refuse(std::string message, std::size_t byte) {
    if (refusal_) return false;
    const std::string_view before = text_.substr(0, byte);
    Position position{1 + static_cast<std::size_t>(std::ranges::count(before, '\n')), 1};
    position.column += column_of(byte);
    refusal_ = Refusal{std::move(message), position};
    return false;
  }

  // libyaml counts characters. Events come in the order of the text, so the way is short.
  std::size_t byte_of(std::size_t character) {
    const auto continues = [&](std::size_t at) {
      return (static_cast<unsigned char>(text_[at]) & 0xC0) == 0x80;
    };
    while (known_character_ > character && known_byte_ > 0) {
      do
        --known_byte_;
      while (known_byte_ > 0 && continues(known_byte_));
      --known_character_;
    }
    while (known_character_ < character && known_byte_ < text_.size()) {
      do
        ++known_byte_;
      while (known_byte_ < text_.size() && continues(known_byte_));
      ++known_character_;
    }
    return known_byte_;
  }

  std::uint32_t column_of(std::size_t byte) const {
    const std::size_t newline = byte == 0 ? std::string_view::npos : text_.rfind('\n', byte - 1);
    std::uint32_t column = 0;
    for (std::size_t at = newline == std::string_view::npos ? 0 : newline + 1; at < byte; ++at)
      if ((static_cast<unsigned char>(text_[at]) & 0xC0) != 0x80) ++column;
    return column;
  }

  // ---- what stands between contents

  // The comments from the end of the last content to `to`; whether a blank line stands before what follows.
  bool read_gap(std::size_t to) {
    gap_.clear();
    std::size_t newlines = 0;
    bool is_line_begun = true;  // something stands in this line
    bool is_behind_content = true;
    for (std::size_t at = cursor_; at < to;) {
      const char c = text_[at];
      if (c == '\n') {
        ++newlines;
        is_line_begun = is_behind_content = false;
        ++at;
      } else if (c == '#') {
        at = read_comment(at, newlines, is_line_begun, is_behind_content);
        newlines = 0;
        is_line_begun = is_behind_content = false;
      } else {
        is_line_begun = is_line_begun || !is_blank(c);
        ++at;
      }
    }
    if (cursor_ < to) cursor_ = to;
    return newlines > 1;
  }

  std::size_t read_comment(std::size_t at, std::size_t newlines, bool is_line_begun, bool is_behind_content) {
    const std::size_t end = std::min(text_.find('\n', at), text_.size());
    std::string_view comment = text_.substr(at, end - at);
    while (is_blank(comment.back()))
      comment.remove_suffix(1);
    std::uint32_t spaces = 0;
    while (spaces < at && is_blank(text_[at - spaces - 1]))
      ++spaces;
    // Behind a '-' it belongs to what follows.
    const std::uint32_t column = is_line_begun && !is_behind_content ? 0 : column_of(at);
    gap_.push_back({.text = comment,
                    .column = column,
                    .spaces = std::max(spaces, 1U),
                    .is_own_line = !is_behind_content,
                    .blank_before = newlines > 1});
    layout_.comments.push_back(comment);
    return end;
  }

  // Those that stand behind the last content.
  void take_behind_content() {
    if (gap_.empty() || gap_.front().is_own_line) return;
    if (!last_) {
      layout_.root.before.push_back(gap_.front());
    } else if (auto& place = is_last_key_ ? last_->behind_key : last_->behind_value; !place) {
      place = gap_.front();
    } else {
      put_above(*last_, gap_.front());
    }
    gap_.erase(gap_.begin());
  }

  // The deepest entry, of those at this depth or below, that begins no further right.
  Entry* owner_at(std::uint32_t column, std::size_t depth) {
    for (std::size_t at = path_.size(); at > depth; --at)
      if (path_[at - 1]->column <= column) return path_[at - 1];
    return nullptr;
  }

  void begin_entry(Entry& entry, std::size_t at, std::size_t depth, bool is_flow) {
    entry.blank_before = read_gap(at);
    take_behind_content();
    for (const Comment& comment : gap_) {
      Entry* owner = nullptr;
      if (!is_flow && entry.before.empty() && comment.column > entry.column)
        owner = owner_at(comment.column, depth);
      (owner ? owner->after : entry.before).push_back(comment);
    }
    path_.resize(depth);
    path_.push_back(&entry);
  }

  void before_value(Entry& owner, std::size_t at) {
    read_gap(at);
    take_behind_content();
    for (const Comment& comment : gap_)
      put_above(owner, comment);
  }

  void before_end_of_flow(Entry& owner, Node& node, std::size_t at) {
    read_gap(at);
    take_behind_content();
    for (const Comment& comment : gap_)
      if (node.entries.empty())
        put_above(owner, comment);
      else
        node.entries.back()->after.push_back(comment);
  }

  void at_end() {
    read_gap(text_.size());
    take_behind_content();
    for (const Comment& comment : gap_) {
      Entry* owner = nullptr;
      if (layout_.root.after.empty() && comment.column > 0) owner = owner_at(comment.column, 0);
      (owner ? owner : &layout_.root)->after.push_back(comment);
    }
  }

  // ---- contents

  void document() {
    if (event_.type == YAML_STREAM_END_EVENT) return void(refuse("the file is empty", 0));
    const auto& start = event_.data.document_start;
    if (start.version_directive || start.tag_directives.start != start.tag_directives.end)
      return void(refuse("a '%' directive cannot be kept; take it out", byte_of(event_.start_mark.index)));
    layout_.has_start_mark = start.implicit == 0;
    if (!next()) return;
    const bool is_collection =
        event_.type == YAML_SEQUENCE_START_EVENT || event_.type == YAML_MAPPING_START_EVENT;
    if (!is_collection) return void(refuse("this is no recipe, and no file of variables", 0));
    if (!node(layout_.root, layout_.root.value, 0)) return;
    if (!layout_.root.value.anchor.empty())
      return void(refuse("an anchor of the whole document cannot be kept", 0));
    if (!next() || !next()) return;
    if (event_.type != YAML_STREAM_END_EVENT)
      return void(refuse("more than one YAML document", byte_of(event_.start_mark.index)));
    at_end();
  }

  // The event's value, which is an entry's. `depth`: of its own entries.
  bool node(Entry& owner, Node& node, std::size_t depth) {
    if (depth > kDeepest) return refuse("nested too deeply", cursor_);
    switch (event_.type) {
      case YAML_SCALAR_EVENT:
        return scalar(owner, node);
      case YAML_ALIAS_EVENT: {
        node.kind = Kind::alias;
        layout_.has_anchors = true;
        const std::size_t at = byte_of(event_.start_mark.index);
        node.anchor = text_.substr(at + 1, text_of(event_.data.alias.anchor).size());
        before_value(owner, at);
        return value_ends(owner, at + 1 + node.anchor.size());
      }
      case YAML_SEQUENCE_START_EVENT:
        return collection(owner, node, depth, Kind::list, event_.data.sequence_start.anchor,
                          event_.data.sequence_start.tag,
                          event_.data.sequence_start.style == YAML_FLOW_SEQUENCE_STYLE);
      case YAML_MAPPING_START_EVENT:
        return collection(owner, node, depth, Kind::object, event_.data.mapping_start.anchor,
                          event_.data.mapping_start.tag,
                          event_.data.mapping_start.style == YAML_FLOW_MAPPING_STYLE);
      default:
        return refuse("the structure cannot be read", cursor_);
    }
  }

  bool value_ends(Entry& owner, std::size_t at) {
    cursor_ = std::max(cursor_, at);
    last_ = &owner;
    is_last_key_ = false;
    return true;
  }

  // Where the content begins behind an anchor, of which it takes the name; where it begins without one.
  std::optional<std::size_t> content_of(Node& node, const yaml_char_t* anchor, const yaml_char_t* tag) {
    std::size_t at = byte_of(event_.start_mark.index);
    if (tag) {
      refuse("a tag such as !!str cannot be kept; write quotes around a text instead", at);
      return std::nullopt;
    }
    if (!anchor) return at;
    layout_.has_anchors = true;
    node.anchor = text_.substr(at + 1, text_of(anchor).size());
    at += 1 + node.anchor.size();
    while (at < text_.size() && (is_blank(text_[at]) || text_[at] == '\n' || text_[at] == '#'))
      at = text_[at] == '#' ? std::min(text_.find('\n', at), text_.size()) : at + 1;
    return at;
  }

  bool collection(Entry& owner, Node& node, std::size_t depth, Kind kind, const yaml_char_t* anchor,
                  const yaml_char_t* tag, bool is_flow) {
    node.kind = kind;
    node.is_flow = is_flow;
    const auto begins = content_of(node, anchor, tag);
    if (!begins) return false;
    const std::size_t begin = *begins;
    // In [ a: b ] the object has no brackets of its own.
    const bool has_brackets =
        is_flow && begin < text_.size() && text_[begin] == (kind == Kind::list ? '[' : '{');
    if (has_brackets) {
      before_value(owner, begin);
      cursor_ = begin + 1;
      last_ = &owner;
      is_last_key_ = true;
    }
    // Within brackets it says nothing.
    const std::uint32_t column = is_flow ? 0 : column_of(begin);
    const yaml_event_type_t end = kind == Kind::list ? YAML_SEQUENCE_END_EVENT : YAML_MAPPING_END_EVENT;
    while (true) {
      if (!next()) return false;
      if (event_.type == end) break;
      Entry& entry = layout_.pool.emplace_back();
      entry.column = column;
      node.entries.push_back(&entry);
      if (!(kind == Kind::list ? item(entry, depth, is_flow) : member(entry, depth, is_flow))) return false;
    }
    if (!has_brackets) return true;
    const std::size_t closes = byte_of(event_.start_mark.index);
    before_end_of_flow(owner, node, closes);
    path_.resize(std::min(path_.size(), depth));
    node.spans_lines = text_.substr(begin, closes - begin).find('\n') != std::string_view::npos;
    return value_ends(owner, closes + 1);
  }

  bool item(Entry& entry, std::size_t depth, bool is_flow) {
    begin_entry(entry, std::max(cursor_, byte_of(event_.start_mark.index)), depth, is_flow);
    // A comment behind an empty item is behind that one, and not behind the one before.
    return node(entry, entry.value, depth + 1);
  }

  bool member(Entry& entry, std::size_t depth, bool is_flow) {
    if (event_.type != YAML_SCALAR_EVENT) return refuse("this key cannot be kept", cursor_);
    const std::size_t at = byte_of(event_.start_mark.index);
    if (event_.data.scalar.anchor || event_.data.scalar.tag)
      return refuse("an anchor or a tag on a key cannot be kept", at);
    if (event_.data.scalar.style == YAML_LITERAL_SCALAR_STYLE ||
        event_.data.scalar.style == YAML_FOLDED_SCALAR_STYLE)
      return refuse("a key of several lines cannot be kept", at);
    begin_entry(entry, std::max(cursor_, at), depth, is_flow);
    Node key;
    take_scalar(key, at, byte_of(event_.end_mark.index));
    if (key.source.find('\n') != std::string_view::npos)
      return refuse("a key of several lines cannot be kept", at);
    if (key.source.empty()) return refuse("an empty key cannot be kept", at);
    cursor_ = at + key.source.size();
    entry.key = std::move(key);
    last_ = &entry;
    is_last_key_ = true;
    return next() && node(entry, entry.value, depth + 1);
  }

  void take_scalar(Node& node, std::size_t begin, std::size_t end) {
    const auto& scalar = event_.data.scalar;
    switch (scalar.style) {
      case YAML_SINGLE_QUOTED_SCALAR_STYLE:
        node.style = Style::single_quoted;
        break;
      case YAML_DOUBLE_QUOTED_SCALAR_STYLE:
        node.style = Style::double_quoted;
        break;
      case YAML_LITERAL_SCALAR_STYLE:
        node.style = Style::literal;
        break;
      case YAML_FOLDED_SCALAR_STYLE:
        node.style = Style::folded;
        break;
      default:
        node.style = Style::plain;
    }
    node.value.assign(reinterpret_cast<const char*>(scalar.value), scalar.length);
    node.source = text_.substr(begin, end > begin ? end - begin : 0);
  }

  bool scalar(Entry& owner, Node& node) {
    const auto begins = content_of(node, event_.data.scalar.anchor, event_.data.scalar.tag);
    if (!begins) return false;
    const std::size_t end = byte_of(event_.end_mark.index);
    const bool is_nothing =
        event_.data.scalar.style == YAML_PLAIN_SCALAR_STYLE && event_.data.scalar.length == 0;
    if (is_nothing) {
      // It has no place of its own: what is behind it is what is behind the key.
      take_scalar(node, end, end);
      if (!node.anchor.empty())
        return value_ends(owner, byte_of(event_.start_mark.index) + 1 + node.anchor.size());
      last_ = &owner;
      is_last_key_ = false;
      return true;
    }
    before_value(owner, *begins);
    take_scalar(node, *begins, end);
    if (node.is_block_scalar()) return block(owner, node, *begins);
    return value_ends(owner, end);
  }

  // "|" or ">" and its lines: libyaml's mark for its end is somewhere behind it.
  bool block(Entry& owner, Node& node, std::size_t begin) {
    const std::size_t header_end = std::min(text_.find('\n', begin), text_.size());
    node.source = text_.substr(begin, header_end - begin);
    if (const std::size_t hash = node.source.find('#'); hash != std::string_view::npos)
      layout_.comments.push_back(base::trim(node.source.substr(hash)));
    std::size_t indent = 0;
    const std::size_t signs_end = std::min(node.source.find_first_of(" \t#"), node.source.size());
    const std::string_view signs = node.source.substr(0, signs_end);
    for (const char c : signs)
      if (c >= '1' && c <= '9') indent = owner.column + static_cast<std::size_t>(c - '0');
    const bool keeps = signs.find('+') != std::string_view::npos;
    std::size_t end = header_end;  // of the last line that belongs to it
    std::size_t longest_blank = 0;
    for (std::size_t at = header_end; at < text_.size();) {
      const std::size_t line_begin = at + 1;
      const std::size_t line_end = std::min(text_.find('\n', line_begin), text_.size());
      const std::string_view line =
          line_begin < text_.size() ? text_.substr(line_begin, line_end - line_begin) : std::string_view();
      const std::size_t spaces = std::min(line.find_first_not_of(' '), line.size());
      if (line_begin >= text_.size()) break;
      if (spaces == line.size()) {
        longest_blank = std::max(longest_blank, spaces);
        // Longer than the indentation it has blanks in it that count.
        if (keeps || (indent > 0 && spaces > indent)) end = line_end;
      } else {
        if (indent == 0 && spaces <= owner.column) break;
        if (indent == 0) indent = spaces;
        if (spaces < indent) break;
        end = line_end;
      }
      at = line_end;
    }
    if (indent == 0) indent = std::max<std::size_t>(longest_blank, 1);
    node.body_indent = indent;
    if (end > header_end) node.body = text_.substr(header_end + 1, end - header_end - 1);
    return value_ends(owner, end);
  }

  Layout& layout_;
  const std::string_view text_;
  yaml_parser_t parser_{};
  yaml_event_t event_{};
  std::optional<Refusal> refusal_;
  std::size_t cursor_ = 0;  // behind the last content
  std::size_t known_byte_ = 0, known_character_ = 0;
  std::vector<Comment> gap_;
  std::vector<Entry*> path_;  // of the last entry: by depth
  Entry* last_ = nullptr;     // whose key or value was the last content
  bool is_last_key_ = false;
};

}  // namespace

std::optional<Refusal> read_layout(Layout& layout) {
  return Reader(layout).read();
}

}  // namespace recipe::format

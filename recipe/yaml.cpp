// libyaml's events to Value.
#include <map>
#include <vector>

#include <yaml.h>

#include "recipe/document.hpp"

namespace recipe {

namespace {

using base::SyntaxProblem;
using base::Value;

std::uint32_t offset_of(const yaml_mark_t& mark) {
  return static_cast<std::uint32_t>(mark.index);
}

std::string_view text_of(const yaml_char_t* text, std::size_t size) {
  return {reinterpret_cast<const char*>(text), size};
}
std::string_view text_of(const yaml_char_t* text) {
  return text ? std::string_view(reinterpret_cast<const char*>(text)) : std::string_view();
}

// Owns libyaml's parser and its current event.
class Events {
 public:
  explicit Events(std::string_view text) {
    yaml_parser_initialize(&parser_);
    yaml_parser_set_encoding(&parser_, YAML_UTF8_ENCODING);
    const char* const begin = text.empty() ? "" : text.data();  // the library ends the process for a null
    yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(begin), text.size());
  }
  ~Events() {
    yaml_event_delete(&event_);
    yaml_parser_delete(&parser_);
  }
  Events(const Events&) = delete;
  Events& operator=(const Events&) = delete;

  // Null on a syntax error, which problem() then describes.
  const yaml_event_t* next() {
    yaml_event_delete(&event_);
    return yaml_parser_parse(&parser_, &event_) == 1 ? &event_ : nullptr;
  }
  SyntaxProblem problem() const {
    std::string message = parser_.problem ? parser_.problem : "not YAML";
    if (parser_.context) message += std::string(" (") + parser_.context + ")";
    const bool reader = parser_.error == YAML_READER_ERROR;
    return {std::move(message),
            reader ? static_cast<std::uint32_t>(parser_.problem_offset) : offset_of(parser_.problem_mark)};
  }

 private:
  yaml_parser_t parser_{};
  yaml_event_t event_{};
};

class Reader {
 public:
  Reader(base::Arena& arena, base::DocumentLimits limits) : builder_(arena, limits) {}

  const Value& root() const { return builder_.root(); }
  std::optional<std::uint32_t> problem_offset() const { return builder_.problem_offset(); }

  // What aliases may add, as whoever goes through the document meets it: each time anew. They can stand for
  // other aliases, so a few lines would be more than any memory holds.
  static constexpr std::size_t kMostRepeated = 64 * 1024 * 1024;

  // An error text, or an empty one.
  std::string take(const yaml_event_t& event) {
    switch (event.type) {
      case YAML_DOCUMENT_START_EVENT:
        return ++documents_ > 1 ? "more than one YAML document" : "";
      case YAML_SCALAR_EVENT:
        return scalar(event);
      case YAML_ALIAS_EVENT:
        return alias(event);
      case YAML_SEQUENCE_START_EVENT:
        return open(event, event.data.sequence_start.anchor, false);
      case YAML_MAPPING_START_EVENT:
        return open(event, event.data.mapping_start.anchor, true);
      case YAML_SEQUENCE_END_EVENT:
        return close(builder_.end_list());
      case YAML_MAPPING_END_EVENT:
        return close(builder_.end_object());
      default:
        return {};
    }
  }

 private:
  struct Open {
    bool is_object;
    bool expects_key;
    std::string anchor;
    std::size_t size_before;
  };
  struct Anchored {
    Value value;
    std::size_t size;  // with all aliases in it
  };
  static constexpr std::size_t kSizeOfValue = 64;  // besides its text

  bool expects_key() const { return !open_.empty() && open_.back().is_object && open_.back().expects_key; }
  void value_done() {
    if (!open_.empty()) open_.back().expects_key = true;
  }

  std::string scalar(const yaml_event_t& event) {
    const auto& scalar = event.data.scalar;
    const std::string_view text = text_of(scalar.value, scalar.length);
    if (expects_key()) {
      open_.back().expects_key = false;
      builder_.key(builder_.arena().copy(text), offset_of(event.start_mark));
      size_ += text.size();
      return {};
    }
    size_ += kSizeOfValue + text.size();
    const std::string_view copy = builder_.arena().copy(text);
    // "!!str 0644" and quotes both say: text, whatever it looks like.
    const bool is_plain = scalar.style == YAML_PLAIN_SCALAR_STYLE && scalar.plain_implicit != 0;
    const Value value = (is_plain ? Value::plain(copy) : Value::string(copy)).at(offset_of(event.start_mark));
    if (scalar.anchor) note(std::string(text_of(scalar.anchor)), value, kSizeOfValue + text.size());
    std::string wrong = builder_.add(value);
    value_done();
    return wrong;
  }

  std::string alias(const yaml_event_t& event) {
    const std::string name(text_of(event.data.alias.anchor));
    if (expects_key()) return "an alias cannot be a key";
    const auto found = anchors_.find(name);
    if (found == anchors_.end()) return "the anchor '" + name + "' is not defined before this place";
    size_ += found->second.size;
    repeated_ += found->second.size;
    if (repeated_ > kMostRepeated)
      return "the aliases stand for more than " + std::to_string(kMostRepeated >> 20) + " MiB together";
    std::string wrong = builder_.add(found->second.value.at(offset_of(event.start_mark)));
    value_done();
    return wrong;
  }

  std::string open(const yaml_event_t& event, const yaml_char_t* anchor, bool is_object) {
    if (expects_key()) return "a list or an object cannot be a key";
    open_.push_back({is_object, true, std::string(text_of(anchor)), size_});
    size_ += kSizeOfValue;
    const std::uint32_t offset = offset_of(event.start_mark);
    return is_object ? builder_.begin_object(offset) : builder_.begin_list(offset);
  }

  std::string close(std::string wrong) {
    if (!wrong.empty()) return wrong;
    const Open closed = std::move(open_.back());
    open_.pop_back();
    if (closed.is_object)
      if (std::string unmerged = merge(); !unmerged.empty()) return unmerged;
    if (!closed.anchor.empty()) note(closed.anchor, builder_.last(), size_ - closed.size_before);
    value_done();
    return {};
  }

  void note(std::string anchor, const Value& value, std::size_t size) {
    anchors_.insert_or_assign(std::move(anchor), Anchored{value, size});
  }

  // "<<: *defaults": the keys of the other object, unless the object has them itself.
  std::string merge() {
    const Value object = builder_.last();
    const Value* sources = object.find("<<");
    if (!sources) return {};
    constexpr std::size_t kMostMerged = 1000;  // each is compared with all before it
    std::vector<base::Member> members;
    const auto add = [&](const base::Member& member) {
      if (members.size() > kMostMerged) return;
      for (const base::Member& present : members)
        if (present.key == member.key) return;
      members.push_back(member);
    };
    for (const base::Member& member : object.members())
      if (member.key != "<<") add(member);
    const auto add_all = [&](const Value& source) {
      for (const base::Member& member : source.members())
        add(member);
      return source.is_object();
    };
    bool fine = sources->is_list() || add_all(*sources);
    for (const Value& source : sources->items())
      fine = add_all(source) && fine;
    if (!fine) return "'<<' wants an object, or a list of objects";
    if (members.size() > kMostMerged) return "too many merged keys";
    const auto kept = builder_.arena().copy(std::span<const base::Member>(members));
    builder_.replace_last(Value::object(kept).at(object.offset()));
    return {};
  }

  base::ValueBuilder builder_;
  std::vector<Open> open_;
  std::map<std::string, Anchored> anchors_;
  std::size_t size_ = 0;      // of all so far, with what aliases stand for
  std::size_t repeated_ = 0;  // of that, what aliases stand for
  int documents_ = 0;
};

}  // namespace

std::variant<Value, SyntaxProblem> parse_yaml(std::string_view text, base::Arena& arena,
                                              base::DocumentLimits limits) {
  Events events(text);
  Reader reader(arena, limits);
  while (true) {
    const yaml_event_t* event = events.next();
    if (!event) return events.problem();
    if (event->type == YAML_STREAM_END_EVENT) return reader.root();
    if (std::string wrong = reader.take(*event); !wrong.empty())
      return SyntaxProblem{std::move(wrong), reader.problem_offset().value_or(offset_of(event->start_mark))};
  }
}

}  // namespace recipe

// Value: what a JSON or YAML document says, before anybody has decided what it should mean.
//
// A Value is a small view into the Arena of the document that made it, and lives no longer than that. It
// remembers where in the text it began, so that a problem found later can be shown with line and column.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/values/arena.hpp"

namespace base {

struct Member;

class Value {
 public:
  enum class Kind : std::uint8_t {
    null,
    boolean,
    integer,
    real,
    string,
    plain,  // a YAML scalar without quotes: its reader decides whether 0644 or no is text, number or bool
    list,
    object,
  };

  Value() : integer_(0) {}
  static Value boolean(bool value);
  static Value integer(std::int64_t value);
  static Value real(double value);
  static Value string(std::string_view text);  // not copied
  static Value plain(std::string_view text);   // not copied
  static Value list(std::span<const Value> items);
  static Value object(std::span<const Member> members);

  Kind kind() const { return kind_; }
  bool is_null() const { return kind_ == Kind::null; }
  bool is_list() const { return kind_ == Kind::list; }
  bool is_object() const { return kind_ == Kind::object; }
  bool is_text() const { return kind_ == Kind::string || kind_ == Kind::plain; }

  // Each is empty when the value is of another kind.
  std::string_view text() const;
  std::span<const Value> items() const;
  std::span<const Member> members() const;
  const Value* find(std::string_view key) const;

  // What a scalar means to a reader that wants a certain type; empty when it cannot mean that.
  std::optional<bool> as_bool() const;  // true/false, yes/no, y/n, on/off, 1/0, any letter case, text or not
  std::optional<std::int64_t> as_integer() const;
  std::optional<double> as_number() const;
  std::optional<std::string_view> as_line(Arena& arena) const;  // text, or the decimal text of a number

  std::uint32_t offset() const { return offset_; }
  Value at(std::uint32_t offset) const {
    Value copy = *this;
    copy.offset_ = offset;
    return copy;
  }

 private:
  union {
    bool boolean_;
    std::int64_t integer_;
    double real_;
    const char* text_;
    const Value* items_;
    const Member* members_;
  };
  std::uint32_t size_ = 0;
  std::uint32_t offset_ = 0;
  Kind kind_ = Kind::null;
};

struct Member {
  std::string_view key;
  Value value;
  std::uint32_t offset = 0;  // of the key
};

// "an object", "a list", "text" …, for messages.
std::string_view kind_name(Value::Kind kind);

// Limits for documents from outside.
struct DocumentLimits {
  std::size_t depth = 64;
  std::size_t values = 4'000'000;
};

// Puts a tree together from a parser's events, in an arena, within the limits. Each call answers an error
// text, or an empty one when all is well.
class ValueBuilder {
 public:
  ValueBuilder(Arena& arena, DocumentLimits limits) : arena_(arena), limits_(limits) {}

  std::string begin_list(std::uint32_t offset);
  std::string begin_object(std::uint32_t offset);
  std::string end_list();
  std::string end_object();
  void key(std::string_view name, std::uint32_t offset);  // not copied
  // Puts another value in the place of the one that was completed last.
  void replace_last(Value value);
  std::string add(Value value);  // text in it must live in the arena already

  Arena& arena() { return arena_; }
  const Value& root() const { return root_; }
  // The value that was completed last, for anchors.
  const Value& last() const { return last_; }
  // Where the error of the last call is, if not at what that call was about: the second of two equal keys.
  std::optional<std::uint32_t> problem_offset() const { return problem_offset_; }

 private:
  struct Open {
    std::size_t first;  // index of its first element in items_ or members_
    std::uint32_t offset;
    bool is_object;
  };
  std::string begin(std::uint32_t offset, bool is_object);

  Arena& arena_;
  DocumentLimits limits_;
  std::vector<Open> open_;
  std::vector<Value> items_;
  std::vector<Member> members_;
  std::size_t count_ = 0;
  Value root_;
  Value last_;
  std::optional<std::uint32_t> problem_offset_;
};

}  // namespace base

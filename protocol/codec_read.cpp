#include <array>
#include <cmath>
#include <initializer_list>
#include <span>
#include <utility>

#include "base/values/json.hpp"
#include "protocol/codec.hpp"
#include "protocol/fields_agent.hpp"
#include "protocol/fields_backend.hpp"
#include "protocol/ids.hpp"

namespace protocol {

namespace {

using base::Value;

constexpr std::string_view kNotJson = "not JSON that is accepted: ";

// Far more than a message within the size limits needs, and an end to what a tree of empty lists may cost.
constexpr base::DocumentLimits kLimits{.depth = kDeepest, .values = 1'000'000};

// What is wrong with a value, written so that the path to it can be put before it: ": text is expected",
// ".repo: text is expected", "[3].id: is missing". Empty when it was read.
using Problem = std::string;

Problem expected(std::string_view what, const Value& value) {
  return std::string(": ").append(what).append(" is expected, not ").append(base::kind_name(value.kind()));
}

class FieldReader;
template <class T>
Problem read(const Value& value, T& out);

// Shows one object's members to the fields of a struct. Stops at the first problem.
class FieldReader {
 public:
  explicit FieldReader(const Value& object) : members_(object.members()) {}

  const Problem& problem() const { return problem_; }

  template <class T>
  void field(std::string_view name, T& out, Rule rule) {
    if (const Value* value = wanted(name, rule)) note(name, read(*value, out));
  }

  void text_or_null(std::string_view name, std::string& out, bool /*is_null*/, Rule rule) {
    field(name, out, rule);
  }

  void id(std::string_view name, std::string& out, Rule rule) {
    if (const Value* value = wanted(name, rule)) note(name, read_id(*value, out, rule));
  }

  // An empty one that may be absent is as good as absent.
  void name(std::string_view name, std::string& out, Rule rule) {
    const Value* value = wanted(name, rule);
    if (value == nullptr) return;
    if (value->kind() != Value::Kind::string) return note(name, expected("text", *value));
    if (value->text().empty() && !rule.required) return;
    if (const auto wrong = problem_of_name(value->text()); !wrong.empty())
      return note(name, std::string(": ").append(wrong));
    out = value->text();
  }

  void tags(std::string_view name, Tags& out, Rule rule) {
    if (const Value* value = wanted(name, rule)) note(name, read_tags(*value, out));
  }

  // The peers are not consistent about the name; they may use several at once if these agree.
  void state_id(std::string& out, Rule rule) {
    const Value* found = nullptr;
    for (const std::string_view name : {"id", "stateid", "state_id"}) {
      const Value* value = wanted(name, kOptional);
      if (value == nullptr) continue;
      std::string id;
      note(name, read_id(*value, id, rule));
      if (found != nullptr && id != out) note(name, ": differs from the id under another name");
      out = std::move(id);
      found = value;
    }
    if (found == nullptr && rule.required) note("id", ": is missing");
  }
  void state_id_of_list(std::string& out) { state_id(out, kRequired); }

  template <class T>
  void version(std::string_view name, T& out, Rule rule) {
    read_version(name, out, 1, rule);
  }
  template <class T>
  void version_or_none(std::string_view name, T& out, Rule rule) {
    read_version(name, out, 0, rule);
  }

  template <class T>
  void choice(std::string_view name, T& out, std::initializer_list<std::string_view> words, Rule rule) {
    choice(name, out, std::span(words.begin(), words.size()), rule);
  }
  template <class T>
  void choice(std::string_view name, T& out, std::span<const std::string_view> words, Rule rule) {
    const Value* value = wanted(name, rule);
    if (value == nullptr) return;
    if (value->kind() != Value::Kind::string) return note(name, expected("text", *value));
    int index = 0;
    for (const std::string_view word : words) {
      if (value->text() == word) {
        out = static_cast<T>(index);
        return;
      }
      ++index;
    }
    Problem wrong = ": must be one of";
    for (const std::string_view word : words)
      if (!word.empty()) wrong.append(" ").append(word);
    note(name, wrong);
  }

  void json_list(std::string_view name, std::optional<Json>& out, Rule rule) {
    const Value* value = wanted(name, rule);
    if (value == nullptr) return;
    note(name, value->is_list() ? read(*value, out) : expected("a list", *value));
  }

  void holds(std::string_view name, std::vector<MachineHold>& out, Rule rule) {
    const Value* value = wanted(name, rule);
    if (value == nullptr) return;
    if (value->is_list() && value->items().size() > kMostHolds)
      return note(name, ": there are more than " + std::to_string(kMostHolds));
    note(name, read(*value, out));
  }

  void variables(std::string_view name, std::optional<Json>& out, Rule rule) {
    const Value* value = wanted(name, rule);
    if (value == nullptr) return;
    if (!value->is_object()) return note(name, expected("an object", *value));
    note(name, read(*value, out));
    if (out && out->text.size() > kLargestVariables)
      note(name, ": is larger than " + std::to_string(kLargestVariables) + " bytes");
  }

 private:
  template <class T>
  void read_version(std::string_view name, T& out, std::int64_t least, Rule rule) {
    const Value* value = wanted(name, rule);
    if (value == nullptr) return;
    std::int64_t number = 0;
    note(name, read(*value, number));
    if (number < least) note(name, ": must be at least " + std::to_string(least));
    out = number;
  }

  // The value under that name; null is as good as absent. A peer that writes the fields in our order is
  // read without searching.
  const Value* wanted(std::string_view name, Rule rule) {
    if (!problem_.empty()) return nullptr;
    for (std::size_t i = 0; i < members_.size(); ++i) {
      if (next_ >= members_.size()) next_ = 0;
      const base::Member& member = members_[next_++];
      if (member.key != name) continue;
      if (!member.value.is_null()) return &member.value;
      break;
    }
    if (rule.required) note(name, ": is missing");
    return nullptr;
  }

  void note(std::string_view name, const Problem& wrong) {
    if (wrong.empty() || !problem_.empty()) return;
    problem_ = std::string(".").append(name).append(wrong);
  }

  static Problem read_id(const Value& value, std::string& out, Rule rule) {
    if (value.kind() != Value::Kind::string) return expected("text", value);
    if (value.text().empty() && rule.required) return ": is empty";
    if (const auto wrong = problem_of_id(value.text()); !wrong.empty())
      return std::string(": ").append(wrong);
    out = value.text();
    return {};
  }

  static Problem read_tags(const Value& value, Tags& out) {
    if (!value.is_object()) return expected("an object", value);
    for (const base::Member& tag : value.members()) {
      if (const auto wrong = problem_of_name(tag.key); !wrong.empty())
        return std::string(": a key ").append(wrong);
      if (Problem wrong = read_id(tag.value, out[std::string(tag.key)], kOptional); !wrong.empty())
        return std::string(".").append(tag.key).append(wrong);
    }
    return {};
  }

  std::span<const base::Member> members_;
  std::size_t next_ = 0;
  Problem problem_;
};

template <class T>
constexpr bool kIsOptional = false;
template <class T>
constexpr bool kIsOptional<std::optional<T>> = true;
template <class T>
constexpr bool kIsList = false;
template <class T>
constexpr bool kIsList<std::vector<T>> = true;
template <class T>
constexpr bool kIsMap = false;
template <class T>
constexpr bool kIsMap<std::map<std::string, T>> = true;

template <class T>
Problem read_list(const Value& value, std::vector<T>& out) {
  if (!value.is_list()) return expected("a list", value);
  out.resize(value.items().size());
  for (std::size_t i = 0; i < out.size(); ++i)
    if (Problem wrong = read(value.items()[i], out[i]); !wrong.empty())
      return "[" + std::to_string(i) + "]" + wrong;
  return {};
}

template <class T>
Problem read_map(const Value& value, std::map<std::string, T>& out) {
  if (!value.is_object()) return expected("an object", value);
  for (const base::Member& member : value.members()) {
    if (const auto wrong = problem_of_id(member.key); !wrong.empty())
      return std::string(": a key ").append(wrong);
    if (Problem wrong = read(member.value, out[std::string(member.key)]); !wrong.empty())
      return std::string(".").append(member.key).append(wrong);
  }
  return {};
}

template <class T>
Problem read(const Value& value, T& out) {
  if constexpr (kIsOptional<T>) {
    return read(value, out.emplace());
  } else if constexpr (kIsList<T>) {
    return read_list(value, out);
  } else if constexpr (kIsMap<T>) {
    return read_map(value, out);
  } else if constexpr (std::same_as<T, Json>) {
    out.text = base::to_json(value);
  } else if constexpr (std::same_as<T, std::string>) {
    if (value.kind() != Value::Kind::string) return expected("text", value);
    out = value.text();
  } else if constexpr (std::same_as<T, bool>) {
    if (value.kind() != Value::Kind::boolean) return expected("a boolean", value);
    out = *value.as_bool();
  } else if constexpr (std::integral<T>) {
    if (value.kind() != Value::Kind::integer) return expected("an integer", value);
    const std::int64_t number = *value.as_integer();
    if (!std::in_range<T>(number) || number > kLargestNumber || number < -kLargestNumber)
      return ": is out of range";
    out = static_cast<T>(number);
  } else if constexpr (std::same_as<T, double>) {
    if (value.kind() != Value::Kind::real && value.kind() != Value::Kind::integer)
      return expected("a number", value);
    out = *value.as_number();
  } else {
    if (!value.is_object()) return expected("an object", value);
    FieldReader reader(value);
    fields(reader, out);
    return reader.problem();
  }
  return {};
}

base::Error refused(std::string message) {
  return {base::ErrorCode::invalid, std::move(message)};
}

// Reads the body as M if that is what the code says.
template <class M, class Message>
bool try_read(std::string_view code, FieldReader& reader, Message& message) {
  if constexpr (!std::same_as<M, Unknown>) {
    static_assert(!kWire<M>.code.empty(), "a message without a code");
    if (code != kWire<M>.code && (kWire<M>.code_in_1.empty() || code != kWire<M>.code_in_1)) return false;
    fields(reader, message.body.template emplace<M>());
    return true;
  }
  return false;
}

template <class... M>
struct Alternatives {};

template <class Message, class... M>
base::Result<Message> parse(std::string_view text, Alternatives<std::variant<M...>>) {
  base::Arena arena;
  const auto parsed = base::parse_json(text, arena, kLimits);
  if (const auto* wrong = std::get_if<base::SyntaxProblem>(&parsed))
    return refused(std::string(kNotJson)
                       .append(wrong->message)
                       .append(" at byte ")
                       .append(std::to_string(wrong->offset)));
  const Value& root = std::get<Value>(parsed);
  if (!root.is_object())
    return refused("a message must be an object, not " + std::string(kind_name(root.kind())));
  const Value* code = root.find("code");
  if (code == nullptr) return refused("a message without a code");
  if (code->kind() != Value::Kind::string) return refused("code" + expected("text", *code));
  if (const auto wrong = problem_of_id(code->text()); !wrong.empty())
    return refused("code: " + std::string(wrong));

  Message message{.body = Unknown{}};
  FieldReader reader(root);
  if (!(try_read<M>(code->text(), reader, message) || ...))
    message.body = Unknown{.code = std::string(code->text())};
  fields(reader, message.envelope);
  if (!reader.problem().empty()) return refused(std::string(code->text()) + reader.problem());
  return message;
}

}  // namespace

base::Result<AgentMessage> parse_agent_message(std::string_view text) {
  return parse<AgentMessage>(text, Alternatives<AgentBody::variant>{});
}
base::Result<BackendMessage> parse_backend_message(std::string_view text) {
  return parse<BackendMessage>(text, Alternatives<BackendBody::variant>{});
}

std::string code_in(std::string_view text) {
  base::Arena arena;
  const auto parsed = base::parse_json(text, arena, kLimits);
  const Value* root = std::get_if<Value>(&parsed);
  const Value* code = root && root->is_object() ? root->find("code") : nullptr;
  if (!code || code->kind() != Value::Kind::string || !problem_of_id(code->text()).empty()) return {};
  return std::string(code->text());
}

unsigned close_code(const base::Error& error) {
  if (error.code() == base::ErrorCode::limit) return kCloseTooLarge;
  return error.message().starts_with(kNotJson) ? kCloseNotJson : kCloseProtocol;
}

}  // namespace protocol

#include <array>
#include <charconv>
#include <initializer_list>
#include <span>

#include "base/values/json.hpp"
#include "protocol/codec.hpp"
#include "protocol/fields_agent.hpp"
#include "protocol/fields_backend.hpp"

namespace protocol {

namespace {

// Writes the fields of one object. What is empty is left out, unless its rule says otherwise.
class FieldWriter {
 public:
  FieldWriter(std::string& out, int version) : out_(out), version_(version) {}

  template <class T>
  void field(std::string_view name, const T& value, Rule rule) {
    if (rule.since > version_ || (!rule.always && is_empty(value))) return;
    key(name);
    write(value);
  }

  void text_or_null(std::string_view name, const std::string& value, bool is_null, Rule rule) {
    if (!is_null || !value.empty()) return field(name, value, rule);
    key(name);
    out_ += "null";
  }
  void id(std::string_view name, const std::string& value, Rule rule) { field(name, value, rule); }
  void name(std::string_view name, const std::string& value, Rule rule) { field(name, value, rule); }
  void tags(std::string_view name, const Tags& value, Rule rule) { field(name, value, rule); }

  void state_id(const std::string& value, Rule rule) {
    field("id", value, rule);
    field("stateid", value, rule);
  }
  // Version 1 has it as state_id here, and only here.
  void state_id_of_list(const std::string& value) {
    field("state_id", value, kRequired);
    state_id(value, kRequired);
  }

  template <class T>
  void version(std::string_view name, const T& value, Rule rule) {
    field(name, value, rule);
  }
  template <class T>
  void version_or_none(std::string_view name, const T& value, Rule rule) {
    field(name, value, rule);
  }

  template <class T>
  void choice(std::string_view name, const T& value, std::initializer_list<std::string_view> words,
              Rule rule) {
    choice(name, value, std::span(words.begin(), words.size()), rule);
  }
  template <class T>
  void choice(std::string_view name, const T& value, std::span<const std::string_view> words, Rule rule) {
    field(name, words[static_cast<std::size_t>(value)],
          Rule{.always = rule.always || value != T{}, .since = rule.since});
  }

  void json_list(std::string_view name, const std::optional<Json>& value, Rule rule) {
    field(name, value, rule);
  }
  void holds(std::string_view name, const std::vector<MachineHold>& value, Rule rule) {
    field(name, value, rule);
  }
  void variables(std::string_view name, const std::optional<Json>& value, Rule rule) {
    field(name, value, rule);
  }

 private:
  template <class T>
  static bool is_empty(const T& value) {
    if constexpr (std::is_arithmetic_v<T>)
      return value == T{};
    else if constexpr (std::same_as<T, Json>)
      return value.text.empty();
    else if constexpr (requires { value.has_value(); })
      return !value.has_value();
    else
      return value.empty();
  }

  void key(std::string_view name) {
    if (out_.back() != '{') out_ += ',';
    out_.append("\"").append(name).append("\":");
  }

  template <class T>
  void write_number(T value) {
    std::array<char, 32> buffer;
    const auto done = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
    out_.append(buffer.data(), done.ptr);
  }

  template <class T>
  void write(const T& value) {
    if constexpr (std::same_as<T, bool>)
      out_ += value ? "true" : "false";
    else if constexpr (std::integral<T>)
      write_number(value);
    else if constexpr (std::same_as<T, double>)
      out_ += base::to_json(base::Value::real(value));
    else if constexpr (std::convertible_to<const T&, std::string_view>)
      out_ += base::json_quote(value);
    else if constexpr (std::same_as<T, Json>)
      out_ += value.text.empty() ? "null" : value.text;
    else
      write_compound(value);
  }

  template <class T>
  void write_compound(const std::optional<T>& value) {
    if (value)
      write(*value);
    else
      out_ += "null";
  }

  template <class T>
  void write_compound(const std::vector<T>& list) {
    out_ += '[';
    for (const T& item : list) {
      if (&item != list.data()) out_ += ',';
      write(item);
    }
    out_ += ']';
  }

  template <class T>
  void write_compound(const std::map<std::string, T>& map) {
    out_ += '{';
    for (const auto& [name, value] : map) {
      if (out_.back() != '{') out_ += ',';
      out_.append(base::json_quote(name)).append(":");
      write(value);
    }
    out_ += '}';
  }

  template <class T>
  void write_compound(const T& object) {
    out_ += '{';
    fields(*this, object);
    out_ += '}';
  }

  std::string& out_;
  const int version_;
};

template <class Body>
std::string_view code_in(const Body& body, int version) {
  if (version == 1) {
    const std::string_view code =
        std::visit([]<class M>(const M&) { return std::string_view(kWire<M>.code_in_1); },
                   static_cast<const typename Body::variant&>(body));
    if (!code.empty()) return code;
  }
  return code_of(body);
}

template <class Message>
std::string encode_message(const Message& message, int version) {
  std::string out;
  out.reserve(512);
  out.append("{\"code\":").append(base::json_quote(code_in(message.body, version)));
  FieldWriter writer(out, version);
  std::visit(
      [&]<class M>(const M& body) {
        if constexpr (!std::same_as<M, Unknown>) fields(writer, body);
      },
      message.body);
  fields(writer, message.envelope);
  out += '}';
  return out;
}

}  // namespace

std::string encode(const AgentMessage& message, int version) {
  return encode_message(message, version);
}
std::string encode(const BackendMessage& message, int version) {
  return encode_message(message, version);
}

}  // namespace protocol

// Templates in the language of Jinja2, with all names strict. docs/templates.md has the language and what
// differs from Jinja2.
//
// A Template is parsed once and never changes; any number of threads may render it. Variables are filled
// once, and not changed by templates. Nothing here reads files, the environment, the clock or the network;
// included templates come from a Loader. Every answer is a value or a Problem; nothing is thrown.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/values/value.hpp"
#include "templates/lexer.hpp"
#include "templates/memory.hpp"

namespace templates {

struct Syntax;

// What is wrong, and where.
struct Problem {
  std::string message;
  std::string name;                  // of the template
  std::size_t line = 0, column = 0;  // from 1
  // Nothing is wrong: it used what is marked as unknown.
  bool is_unknown = false;
};
// "motd.j2:3:7: 'port' is not defined"
std::string describe(const Problem& problem);

template <class T>
using Answer = std::variant<T, Problem>;

// Where the text of a template begins in its file.
struct Place {
  std::uint32_t line = 1, column = 1;
};

class Template {
 public:
  // `name` is for problems.
  static Answer<std::shared_ptr<const Template>> parse(std::string_view name, std::string_view source,
                                                       const Options& options = {}, Place place = {});
  // One expression, without "{{" and "}}".
  static Answer<std::shared_ptr<const Template>> parse_expression(std::string_view name,
                                                                  std::string_view source, Place place = {});

  // What it reads and sets nowhere: whoever renders it has to have them.
  struct Name {
    std::string name;
    std::size_t line, column;
  };
  std::vector<Name> needed_names() const;
  const Syntax& syntax() const { return *syntax_; }

  explicit Template(std::unique_ptr<Syntax> syntax);
  ~Template();
  Template(const Template&) = delete;
  Template& operator=(const Template&) = delete;

 private:
  std::unique_ptr<Syntax> syntax_;
};

// What is known of a value besides what it says: bits of Marks (value.hpp).
inline constexpr std::uint8_t kSecretMark = 1;
inline constexpr std::uint8_t kUnknownMark = 2;
using MarksOf = std::function<std::uint8_t(const base::Value&)>;

// Answers secret('name'). A Problem's message is all that is used of it, or that it is unknown.
// `is_after_secret`: the evaluation has used one before, so that the name may be made of it.
using SecretOf = std::function<Answer<std::string>(std::string_view name, bool is_after_secret)>;

class Variables {
 public:
  // `outer`: has the names that are not set here, and stays.
  explicit Variables(const Variables* outer = nullptr);
  ~Variables();
  Variables(Variables&&) noexcept;
  Variables& operator=(Variables&&) noexcept;
  // Copied. Scalars without quotes are read as YAML's: true, no, null, 12, 1.5; 0644 stays text. Answers an
  // error text when it, or all that was set, is too large, and sets nothing then; an empty one when all is
  // well.
  std::string set(std::string_view name, const base::Value& value, const MarksOf* marks_of = nullptr);
  // The same, copied when an evaluation asks for it first: until then the value has to stay, and what is too
  // large is that evaluation's problem. Nothing of this may be used by two threads at once.
  void set_unread(std::string_view name, const base::Value& value, const MarksOf* marks_of = nullptr);
  bool has(std::string_view name) const;
  // Without one there is no function of that name. Those with an outer one use the outer one's.
  void set_secrets(SecretOf secrets);

  struct Content;
  const Content& content() const { return *content_; }

 private:
  std::unique_ptr<Content> content_;
};

// Finds what is included and imported. Null if there is no template of that name.
class Loader {
 public:
  virtual ~Loader() = default;
  virtual Answer<std::shared_ptr<const Template>> load(std::string_view name) = 0;
};

// What an evaluation has used, added to what is there already.
struct Used {
  bool secret = false;
  std::uint64_t steps = 0;
};

// Of all four: whoever uses a value that is marked as unknown ends with a Problem that says so. `used` may be
// null, and is filled whatever the answer is.
Answer<std::string> render(const Template& given, const Variables& variables, Loader* loader = nullptr,
                           const Limits& limits = {}, Used* used = nullptr);
// What an expression is worth, made in `arena`. A Problem for what a recipe has no value for, such as a
// macro.
Answer<base::Value> evaluate(const Template& expression, const Variables& variables, base::Arena& arena,
                             const Limits& limits = {}, Used* used = nullptr);
// The text that "{{ expression }}" would print.
Answer<std::string> evaluate_text(const Template& expression, const Variables& variables,
                                  const Limits& limits = {}, Used* used = nullptr);
// Whether it is true, as "if" would say.
Answer<bool> evaluate_condition(const Template& expression, const Variables& variables,
                                const Limits& limits = {}, Used* used = nullptr);
// The way of an expression that only leads to a value ("vars.sites"): its names and keys. Nothing for all
// others. What such a one leads to can be had with its marks, without using it.
std::optional<std::vector<std::string>> path_of(const Template& expression);

}  // namespace templates

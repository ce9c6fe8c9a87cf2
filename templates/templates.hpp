// Templates in the language of Jinja2, with all names strict. docs/templates.md has the language and what
// differs from Jinja2.
//
// A Template is parsed once and never changes; any number of threads may render it. Variables are filled
// once, and not changed by templates. Nothing here reads files, the environment, the clock or the network;
// included templates come from a Loader. Every answer is a value or a Problem; nothing is thrown.
#pragma once

#include <memory>
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

class Variables {
 public:
  Variables();
  ~Variables();
  Variables(Variables&&) noexcept;
  Variables& operator=(Variables&&) noexcept;
  // Copied. Scalars without quotes are read as YAML's: true, no, null, 12, 1.5; 0644 stays text.
  void set(std::string_view name, const base::Value& value);
  bool has(std::string_view name) const;

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

Answer<std::string> render(const Template& given, const Variables& variables, Loader* loader = nullptr,
                           const Limits& limits = {});
// What an expression is worth, made in `arena`. A Problem for what a recipe has no value for, such as a
// macro.
Answer<base::Value> evaluate(const Template& expression, const Variables& variables, base::Arena& arena,
                             const Limits& limits = {});
// Whether it is true, as "if" would say.
Answer<bool> evaluate_condition(const Template& expression, const Variables& variables,
                                const Limits& limits = {});

}  // namespace templates

#include "templates/templates.hpp"

#include <algorithm>

#include "templates/evaluator.hpp"
#include "templates/from_document.hpp"
#include "templates/parser.hpp"
#include "templates/print.hpp"
#include "templates/text.hpp"

namespace templates {

namespace {

// A template may be as long as a recipe; its tree is some times its size.
constexpr std::size_t kLongest = 32 * 1024 * 1024;
constexpr Limits kParseLimits{.memory = std::size_t{2} << 30};

Problem problem_at(const Syntax& syntax, std::uint32_t at, std::string message) {
  const std::string_view before = std::string_view(syntax.source).substr(0, at);
  const std::size_t newline = before.rfind('\n');
  const bool first = newline == std::string_view::npos;
  const std::size_t lines = static_cast<std::size_t>(std::ranges::count(before, '\n'));
  const std::size_t column = count_characters(first ? before : before.substr(newline + 1));
  return {std::move(message), syntax.name, syntax.line + lines, column + (first ? syntax.column : 1)};
}

template <class Parse>
Answer<std::shared_ptr<const Template>> parsed(std::string_view name, std::string source, Place place,
                                               Parse parse) {
  auto syntax = std::make_unique<Syntax>(kParseLimits);
  syntax->name = name;
  syntax->line = place.line;
  syntax->column = place.column;
  if (source.size() > kLongest) return problem_at(*syntax, 0, "the template is longer than 32 MiB");
  syntax->source = std::move(source);
  try {
    parse(*syntax);
  } catch (const SyntaxFailure& failure) {
    return problem_at(*syntax, failure.at, failure.message);
  } catch (const Failure& failure) {
    return problem_at(*syntax, 0, failure.message);
  }
  return std::make_shared<const Template>(std::move(syntax));
}

// Runs `use` with an evaluator and makes a Problem of its failure.
template <class T, class Use>
Answer<T> evaluated(const Template& given, const Variables& variables, Loader* loader, const Limits& limits,
                    Used* used, Use use) {
  Evaluator evaluator(variables.content(), loader, limits);
  const auto note = [&] {
    if (!used) return;
    used->secret = used->secret || evaluator.has_used_secret();
    used->steps += evaluator.memory().steps();
  };
  try {
    Answer<T> made = use(evaluator, given.syntax());
    note();
    return made;
  } catch (const Failure& failure) {
    note();
    return problem_at(evaluator.syntax(), evaluator.at(), failure.message);
  } catch (const UsesUnknown&) {
    Problem problem = problem_at(evaluator.syntax(), evaluator.at(), "is not known here");
    problem.is_unknown = true;
    return problem;
  }
}

}  // namespace

std::string describe(const Problem& problem) {
  return problem.name + ":" + std::to_string(problem.line) + ":" + std::to_string(problem.column) + ": " +
         problem.message;
}

Template::Template(std::unique_ptr<Syntax> syntax) : syntax_(std::move(syntax)) {}
Template::~Template() = default;

Answer<std::shared_ptr<const Template>> Template::parse(std::string_view name, std::string_view source,
                                                        const Options& options, Place place) {
  return parsed(name, normalized(source, options), place,
                [&options](Syntax& syntax) { parse_template(syntax, options); });
}

Answer<std::shared_ptr<const Template>> Template::parse_expression(std::string_view name,
                                                                   std::string_view source, Place place) {
  return parsed(name, std::string(source), place,
                [](Syntax& syntax) { templates::parse_expression(syntax); });
}

std::vector<Template::Name> Template::needed_names() const {
  std::vector<Name> names;
  for (const auto& [name, at] : syntax_->free_names) {
    const Problem place = problem_at(*syntax_, at, {});
    names.push_back({std::string(name), place.line, place.column});
  }
  return names;
}

// Not make_unique, which would first clear all of its memory: there is one for each item of a list.
Variables::Variables(const Variables* outer) : content_(std::make_unique_for_overwrite<Content>()) {
  if (outer) content_->outer = outer->content_.get();
}
Variables::~Variables() = default;
Variables::Variables(Variables&&) noexcept = default;
Variables& Variables::operator=(Variables&&) noexcept = default;

std::string Variables::set(std::string_view name, const base::Value& value, const MarksOf* marks_of) {
  content_->forget(name);
  Memory& memory = content_->memory;
  try {
    content_->names.set(memory, Value::text(memory.copy(name)), from_document(value, memory, true, marks_of));
  } catch (const Failure& failure) {
    return failure.message;
  }
  return {};
}

void Variables::set_unread(std::string_view name, const base::Value& value, const MarksOf* marks_of) {
  content_->forget(name);
  content_->waiting.push_back({std::string(name), value, marks_of ? std::optional(*marks_of) : std::nullopt});
}

const Value* Variables::Content::find_here(std::string_view name) const {
  if (const Dict::Entry* entry = names.find(name)) return &entry->value;
  const auto found = std::ranges::find(waiting, name, &Waiting::name);
  if (found == waiting.end()) return nullptr;
  names.set(memory, Value::text(memory.copy(name)),
            from_document(found->value, memory, true, found->marks_of ? &*found->marks_of : nullptr));
  waiting.erase(found);
  return &names.find(name)->value;
}

void Variables::Content::forget(std::string_view name) {
  std::erase_if(waiting, [&](const Waiting& each) { return each.name == name; });
  if (Dict::Entry* entry = names.find(name)) names.erase(entry);
}

bool Variables::has(std::string_view name) const {
  for (const Content* content = content_.get(); content; content = content->outer)
    if (content->names.find(name) ||
        std::ranges::find(content->waiting, name, &Content::Waiting::name) != content->waiting.end())
      return true;
  return false;
}

void Variables::set_secrets(SecretOf secrets) {
  content_->secrets = std::move(secrets);
}

Answer<std::string> render(const Template& given, const Variables& variables, Loader* loader,
                           const Limits& limits, Used* used) {
  return evaluated<std::string>(
      given, variables, loader, limits, used,
      [](Evaluator& evaluator, const Syntax& syntax) { return evaluator.render(syntax); });
}

Answer<base::Value> evaluate(const Template& expression, const Variables& variables, base::Arena& arena,
                             const Limits& limits, Used* used) {
  return evaluated<base::Value>(expression, variables, nullptr, limits, used,
                                [&arena](Evaluator& evaluator, const Syntax& syntax) {
                                  const Value value = evaluator.evaluate(syntax);
                                  return to_document(value, arena, evaluator.memory());
                                });
}

Answer<std::string> evaluate_text(const Template& expression, const Variables& variables,
                                  const Limits& limits, Used* used) {
  return evaluated<std::string>(expression, variables, nullptr, limits, used,
                                [](Evaluator& evaluator, const Syntax& syntax) {
                                  std::string text;
                                  append_text(evaluator.evaluate(syntax), text, evaluator.memory());
                                  return text;
                                });
}

Answer<bool> evaluate_condition(const Template& expression, const Variables& variables, const Limits& limits,
                                Used* used) {
  return evaluated<bool>(
      expression, variables, nullptr, limits, used,
      [](Evaluator& evaluator, const Syntax& syntax) { return is_true(evaluator.evaluate(syntax)); });
}

std::optional<std::vector<std::string>> path_of(const Template& expression) {
  using Form = Expression::Kind;
  std::vector<std::string> path;
  const Expression* at = expression.syntax().expression;
  for (; at && at->kind != Form::name; at = at->first) {
    if (at->kind == Form::attribute)
      path.emplace_back(at->name);
    else if (at->kind == Form::item && at->second->kind == Form::constant && at->second->constant.is_text())
      path.emplace_back(at->second->constant.text());
    else
      return std::nullopt;
  }
  if (!at) return std::nullopt;
  path.emplace_back(at->name);
  std::ranges::reverse(path);
  return path;
}

}  // namespace templates

// Values with expressions in them: parsed once, made as often as there are items.
#include <time.h>

#include <algorithm>

#include "base/text.hpp"
#include "recipe/rendering_parts.hpp"

namespace recipe {

using base::Member;
using base::Value;

namespace {

constexpr templates::Limits kLimits{};

// What a value takes in the arena.
std::size_t size_of(const Value& value) {
  std::size_t size = value.text().size();
  for (const Value& item : value.items())
    size += sizeof(Value) + size_of(item);
  for (const Member& member : value.members())
    size += sizeof(Member) + member.key.size() + size_of(member.value);
  return size;
}

}  // namespace

// ---- parsing

Rendering::Pattern Rendering::pattern_of(const Value& value, Scope& scope, bool& is_fine) {
  Pattern pattern{.value = value};
  if (value.is_text()) {
    if (!has_expression(value.text())) return pattern;
    auto parsed = parse_pieces(value.text());
    if (const auto* problem = std::get_if<PieceProblem>(&parsed)) {
      complain_(problem->message, scope.source,
                is_told() ? locate_expression(*scope.source.document, value.offset(), problem->number,
                                              problem->line, problem->column)
                          : Position());
      is_fine = false;
      return pattern;
    }
    pattern.kind = Pattern::Kind::text;
    pattern.pieces = std::get<0>(std::move(parsed));
    expressions_ += pattern.pieces.size();
    if (expressions_ > kMostExpressions) {
      complain("a state has more than " + std::to_string(kMostExpressions) +
                   " expressions and texts between them: write a template",
               scope, value.offset());
      is_fine = false;
      pattern.pieces.clear();
      return pattern;
    }
    for (const Piece& piece : pattern.pieces) {
      if (!piece.expression) continue;
      const templates::Uses uses = templates::uses_of(*piece.expression);
      note_names_of_secrets(uses);
      const bool fine = check_names(uses, scope, [&](const templates::Use& use) {
        return locate_expression(*scope.source.document, value.offset(), piece.number, use.line, use.column);
      });
      is_fine = is_fine && fine;
    }
    if (const Piece* piece = pattern.single()) pattern.path = templates::path_of(*piece->expression);
    return pattern;
  }
  const auto add = [&](const Value& item) {
    pattern.items.push_back(pattern_of(item, scope, is_fine));
    if (pattern.items.back().kind != Pattern::Kind::fixed)
      pattern.kind = value.is_list() ? Pattern::Kind::list : Pattern::Kind::object;
  };
  for (const Value& item : value.items())
    add(item);
  for (const Member& member : value.members())
    add(member.value);
  if (pattern.kind == Pattern::Kind::fixed) pattern.items.clear();
  return pattern;
}

Rendering::Pattern Rendering::template_pattern(const Value& value, Scope& scope, bool& is_fine) {
  Pattern pattern{.kind = Pattern::Kind::template_text, .value = value};
  const auto refuse = [&](std::string message) {
    complain(std::move(message), scope, value.offset());
    is_fine = false;
    return pattern;
  };
  if (!value.is_text()) return refuse("'template' must be a text");
  const std::string_view trimmed = base::trim(value.text());
  if (trimmed.starts_with(kExpressionBegin) && trimmed.find(kExpressionBegin, 1) == std::string_view::npos &&
      trimmed.find(kExpressionEnd) == trimmed.size() - kExpressionEnd.size())
    return refuse("'template' is a template itself: write {{ … }} in it, or use 'content' for ${{ … }}");
  auto parsed = templates::Template::parse("", value.text());
  if (const auto* problem = std::get_if<templates::Problem>(&parsed)) {
    complain_of_template(pattern, *problem, false, scope);
    is_fine = false;
    return pattern;
  }
  pattern.source = std::get<0>(std::move(parsed));
  const templates::Uses uses = templates::uses_of(*pattern.source);
  note_names_of_secrets(uses);
  const bool fine = check_names(uses, scope, [&](const templates::Use& use) {
    return locate_in_text(*scope.source.document, value.offset(), use.line, use.column);
  });
  is_fine = is_fine && fine;
  return pattern;
}

// ---- files of templates

templates::Answer<std::shared_ptr<const templates::Template>> Rendering::template_of(
    const std::string& name) {
  if (const auto known = templates_.find(name); known != templates_.end()) return known->second;
  auto text = file(name);
  if (!text) return templates::Problem{.message = text.error().message()};
  auto parsed = templates::Template::parse(name, *text);
  if (const auto* made = std::get_if<0>(&parsed)) {
    note_names_of_secrets(templates::uses_of(**made));
    templates_.emplace(name, *made);
  }
  return parsed;
}

templates::Answer<std::shared_ptr<const templates::Template>> Rendering::TemplateFiles::load(
    std::string_view name) {
  auto clean = file_name_in(folder_, name);
  if (!clean) return templates::Problem{.message = clean.error().message()};
  return rendering_.template_of(*clean);
}

// ---- making

std::chrono::nanoseconds Rendering::thread_time() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

// What an evaluation took, of what all of them may take. False when a limit was passed.
bool Rendering::count(const templates::Used& used, std::size_t bytes, const Scope& scope,
                      std::uint32_t offset) {
  if (is_full_) return false;
  const bool is_in_time = thread_time() - begun_ <= kMostTime;
  if (used.steps <= steps_left_ && bytes <= bytes_left_ && is_in_time) {
    steps_left_ -= used.steps;
    bytes_left_ -= bytes;
    return true;
  }
  is_full_ = true;
  if (!is_in_time) {
    complain("all expressions and templates of the recipe together take longer than " +
                 std::to_string(kMostTime.count()) + " s",
             scope, offset);
    return false;
  }
  complain(used.steps > steps_left_ ? "all expressions and templates of the recipe together take more than " +
                                          std::to_string(kMostSteps) + " steps"
                                    : "all that is made of expressions and templates is larger than " +
                                          std::to_string(kMostBytes >> 20) + " MiB",
           scope, offset);
  return false;
}

Rendering::Made Rendering::make(const Pattern& pattern, Scope& scope) {
  using Kind = Pattern::Kind;
  if (is_full_) return {.has_failed = true};
  switch (pattern.kind) {
    case Kind::fixed:
      return {.value = pattern.value};
    case Kind::text:
      return make_text(pattern, scope);
    case Kind::template_text:
    case Kind::template_file:
      return make_template(pattern, scope);
    default:
      break;
  }
  Made whole;
  std::vector<Value> items;
  for (const Pattern& item : pattern.items) {
    const Made made = make(item, scope);
    whole.has_failed = whole.has_failed || made.has_failed;
    whole.is_unknown = whole.is_unknown || made.is_unknown;
    whole.is_secret = whole.is_secret || made.is_secret;
    items.push_back(made.value);
  }
  if (pattern.kind == Kind::list) {
    whole.value = Value::list(arena_.copy(std::span<const Value>(items))).at(pattern.value.offset());
    return whole;
  }
  std::vector<Member> members(pattern.value.members().begin(), pattern.value.members().end());
  for (std::size_t i = 0; i < members.size(); ++i)
    members[i].value = items[i];
  whole.value = Value::object(arena_.copy(std::span<const Member>(members))).at(pattern.value.offset());
  return whole;
}

Rendering::Made Rendering::make_text(const Pattern& pattern, Scope& scope) {
  const std::uint32_t offset = pattern.value.offset();
  const auto failed = [&](const Piece& piece, const templates::Problem& problem,
                          const templates::Used& used) -> Made {
    if (!count(used, 0, scope, offset)) return {.has_failed = true};
    if (problem.is_unknown) return {.value = unknown(offset), .is_unknown = true};
    complain_of(piece, pattern.value, problem, used.secret, scope);
    return {.has_failed = true};
  };
  if (const Piece* piece = pattern.single()) {
    // What only leads to a value hands on what is known of its parts.
    if (pattern.path)
      if (const auto found = resolve(*pattern.path, scope)) {
        if (is_unknown(*found)) return {.value = unknown(offset), .is_unknown = true};
        return {.value = found->at(offset),
                .is_unknown = holds_unknown(*found),
                .is_secret = holds_secret(*found)};
      }
    templates::Used used;
    auto made = templates::evaluate(*piece->expression, scope.variables, arena_, kLimits, &used);
    if (const auto* problem = std::get_if<templates::Problem>(&made)) return failed(*piece, *problem, used);
    const Value value = std::get<Value>(made).at(offset);
    if (!count(used, size_of(value), scope, offset)) return {.has_failed = true};
    return used.secret ? Made{.value = as_secret(value), .is_secret = true, .is_made_of_secret = true}
                       : Made{.value = value};
  }
  std::string text;
  templates::Used used;
  bool is_not_known = false;
  for (const Piece& piece : pattern.pieces) {
    if (!piece.expression) {
      text += piece.text;
      continue;
    }
    templates::Used one;
    auto made = templates::evaluate_text(*piece.expression, scope.variables, kLimits, &one);
    if (const auto* problem = std::get_if<templates::Problem>(&made)) {
      const Made ended = failed(piece, *problem, one);
      if (ended.has_failed) return ended;
      is_not_known = true;  // the others may have mistakes
      continue;
    }
    used.steps += one.steps;
    used.secret = used.secret || one.secret;
    text += std::get<std::string>(made);
  }
  if (!count(used, text.size(), scope, offset)) return {.has_failed = true};
  if (is_not_known) return {.value = unknown(offset), .is_unknown = true};
  const Value value = Value::string(arena_.copy(text)).at(offset);
  return used.secret ? Made{.value = as_secret(value), .is_secret = true, .is_made_of_secret = true}
                     : Made{.value = value};
}

Rendering::Made Rendering::make_template(const Pattern& pattern, Scope& scope) {
  const std::uint32_t offset = pattern.value.offset();
  std::shared_ptr<const templates::Template> source = pattern.source;
  std::string folder(folder_of(scope.source.file));
  if (pattern.kind == Pattern::Kind::template_file) {
    const Made name = pattern.pieces.empty() ? Made{.value = pattern.value} : make_text(pattern, scope);
    if (name.has_failed || name.is_unknown) return name;
    const auto refuse = [&](std::string message) -> Made {
      complain(std::move(message), scope, offset);
      return {.has_failed = true};
    };
    if (name.is_secret) return refuse("which template is used must not depend on a secret");
    if (!name.value.is_text()) return refuse("'template_file' must be the name of a file");
    auto clean = file_name_in(folder, name.value.text());
    if (!clean) return refuse(clean.error().message());
    const bool is_new = !templates_.contains(*clean);
    auto found = template_of(*clean);
    if (const auto* problem = std::get_if<templates::Problem>(&found))
      return refuse(problem->line > 0 ? describe(*problem) : problem->message);
    source = std::get<0>(std::move(found));
    folder = folder_of(*clean);
    if (is_new) {
      bool is_fine = true;
      for (const templates::Use& use : templates::uses_of(*source).variables) {
        std::string wrong;
        if (check_name(use, scope, wrong)) continue;
        complain(*clean + ":" + std::to_string(use.line) + ":" + std::to_string(use.column) + ": " + wrong,
                 scope, offset);
        is_fine = false;
      }
      if (!is_fine) return {.has_failed = true};
    }
  }
  auto& loader = template_folders_[folder];
  if (!loader) loader = std::make_unique<TemplateFiles>(*this, folder);
  templates::Used used;
  auto made = templates::render(*source, scope.variables, loader.get(), kLimits, &used);
  if (const auto* problem = std::get_if<templates::Problem>(&made)) {
    if (!count(used, 0, scope, offset)) return {.has_failed = true};
    if (problem->is_unknown) return {.value = unknown(offset), .is_unknown = true};
    complain_of_template(pattern, *problem, used.secret, scope);
    return {.has_failed = true};
  }
  const std::string& text = std::get<std::string>(made);
  if (!count(used, text.size(), scope, offset)) return {.has_failed = true};
  const Value value = Value::string(arena_.copy(text)).at(offset);
  return used.secret ? Made{.value = as_secret(value), .is_secret = true, .is_made_of_secret = true}
                     : Made{.value = value};
}

}  // namespace recipe

// The entries of `states`.
#include "recipe/rendering.hpp"

#include <algorithm>
#include <array>

#include "base/text.hpp"
#include "recipe/control.hpp"
#include "recipe/rendering_parts.hpp"

namespace recipe {

using base::Member;
using base::Value;

namespace {

constexpr std::array<std::string_view, 9> kStateKeys{
    "id", "stateid", "state_id", "module", "parameter", "timeout", "retries", "when", "sensitive"};
constexpr unsigned kDeepestInclude = 8;

bool is_state_key(std::string_view key) {
  return std::ranges::find(kStateKeys, key) != kStateKeys.end() || ControlReader::is_key(key);
}

const Value* given_id(const Value& entry) {
  for (const std::string_view key : {"id", "stateid", "state_id"})
    if (const Value* id = entry.find(key)) return id;
  return nullptr;
}

// Text that is told to a person as it was written.
std::string as_written(const Value& value) {
  return std::string(value.text());
}

}  // namespace

bool any_expression(const Value& value) {
  if (has_expression(value.text())) return true;
  return std::ranges::any_of(value.items(), any_expression) ||
         std::ranges::any_of(value.members(),
                             [](const Member& member) { return any_expression(member.value); });
}

bool is_ordinary(const Value& entry, bool has_expressions) {
  if (!entry.is_object()) return true;
  if (!entry.find("module") || !given_id(entry)) return false;
  for (const std::string_view key : {"each", "include"})
    if (entry.find(key)) return false;
  if (const Value* parameter = entry.find("parameter"))
    if (parameter->find("template") || parameter->find("template_file")) return false;
  return !has_expressions || !any_expression(entry);
}

Rendering::Rendering(const Inputs& inputs, const Source& recipe, base::Arena& arena,
                     const states::Registry& registry, Complain complain)
    : inputs_(inputs),
      recipe_(recipe),
      arena_(arena),
      registry_(registry),
      complain_(std::move(complain)),
      top_(std::make_unique<Scope>(recipe, nullptr, false)) {}

Rendering::~Rendering() = default;

std::vector<std::unique_ptr<Source>> Rendering::take_sources() {
  std::vector<std::unique_ptr<Source>> sources;
  for (auto& [name, source] : sources_)
    sources.push_back(std::move(source));
  sources_.clear();
  return sources;
}

void Rendering::read_states(const Value& states, const Take& take) {
  take_ = &take;
  for (const Value& each : states.items())
    if (!is_full_) entry(each, *top_);
}

void Rendering::entry(const Value& value, Scope& scope) {
  if (is_ordinary(value, true)) {
    if (!count_state(value, scope)) return;
    (*take_)({.value = value, .source = &scope.source});
    return;
  }
  if (value.find("include")) return include(value, scope);
  const Value* each = value.find("each");
  bool is_fine = true;
  std::optional<Pattern> items;
  if (each) items = pattern_of(*each, scope, is_fine);
  if (!is_fine) return;
  // What is parsed once sees an item, whichever it is.
  std::optional<Form> form;
  bool is_parsed = false;
  for_each(items ? &*items : nullptr, scope, [&](Scope& inside) {
    if (!std::exchange(is_parsed, true)) {
      form = form_of(value, inside);
      if (form) form->each = items;
    }
    if (form) state(*form, inside);
  });
}

// ---- reading an entry, once

std::optional<Rendering::Form> Rendering::form_of(const Value& value, Scope& scope) {
  Form form{.entry = value};
  bool is_fine = true;
  if (const Value* id = given_id(value)) form.id = pattern_of(*id, scope, is_fine);
  if (const Value* when = value.find("when"); when && !when->is_null()) {
    form.when = pattern_of(*when, scope, is_fine);
    if (!when->is_object() && !form.when->single()) {
      complain(
          "'when' must be an expression such as ${{ facts.os.id == 'debian' }}, or an object such as "
          "{ path_exists: /etc/nginx }",
          scope, when->offset());
      is_fine = false;
    }
  }
  if (!read_module(value, form, scope) || !read_parameter(form.parameter, form, scope)) return std::nullopt;
  if (!is_fine) return std::nullopt;
  return form;
}

// `module` and `parameter`, or the module as a key.
bool Rendering::read_module(const Value& value, Form& form, Scope& scope) {
  bool is_fine = true;
  std::vector<const Member*> others;
  for (const Member& member : value.members())
    if (!is_state_key(member.key) && member.key != "each") others.push_back(&member);
  const auto refuse = [&](std::string message, std::uint32_t offset) {
    complain(std::move(message), scope, offset);
    return false;
  };
  const auto unsupported = [&](std::string_view name, std::uint32_t offset) {
    std::string message = "Unsupported module '" + std::string(name) + "'";
    if (const auto close = registry_.nearest(name))
      message += "; did you mean '" + std::string(*close) + "'?";
    return refuse(std::move(message), offset);
  };
  const Member* key = nullptr;
  if (const Value* module = value.find("module")) {
    const auto name = module->as_line(arena_);
    if (!name || name->empty()) return refuse("a state needs a 'module'", value.offset());
    const states::RegistryEntry* entry = registry_.find(*name);
    if (!entry) return unsupported(*name, module->offset());
    form.type = entry->type;
    form.module = *module;
    const Value* parameter = value.find("parameter");
    form.parameter = parameter && !parameter->is_null() ? *parameter : Value().at(value.offset());
  } else {
    for (const Member* member : others) {
      // Names of modules have a dot in them, keys of states have none.
      const bool is_module = registry_.find(member->key) || member->key.find('.') != std::string_view::npos;
      if (!is_module) continue;
      if (key)
        return refuse(
            "a state has one module: '" + std::string(key->key) + "' or '" + std::string(member->key) + "'?",
            member->offset);
      key = member;
    }
    if (!key && others.size() == 1 && others.front()->value.is_object() &&
        !others.front()->key.starts_with('_'))
      key = others.front();
    if (!key)
      return refuse(
          "a state needs a 'module', or the module as a key such as 'linux.file: { path: /etc/motd }'",
          value.offset());
    const states::RegistryEntry* entry = registry_.find(key->key);
    if (!entry) return unsupported(key->key, key->offset);
    if (value.find("parameter"))
      return refuse(
          "the parameters of '" + std::string(key->key) + "' stand behind it; 'parameter' goes with 'module'",
          value.find("parameter")->offset());
    form.type = entry->type;
    form.module = Value::string(key->key).at(key->offset);
    form.parameter = key->value.is_null() ? Value().at(key->offset) : key->value;
  }
  for (const Member& member : value.members()) {
    const bool is_read = member.key == "each" || member.key == "when" || member.key == "module" ||
                         member.key == "parameter" || &member.value == given_id(value) || &member == key;
    if (!is_read)
      form.others.push_back({member.key, member.offset, pattern_of(member.value, scope, is_fine)});
  }
  return is_fine;
}

bool Rendering::read_parameter(const Value& value, Form& form, Scope& scope) {
  bool is_fine = true;
  const states::Schema& schema = form.type->schema();
  const auto has = [&](std::string_view name) {
    return std::ranges::any_of(schema, [&](const states::Param& param) { return param.is_called(name); });
  };
  std::string_view content;  // the key that gives it already
  for (const Member& member : value.members()) {
    const bool is_template =
        (member.key == "template" || member.key == "template_file") && !has(member.key) && has("content");
    if (!is_template) {
      if (member.key == "content" && !member.value.is_null()) {
        if (!content.empty()) {
          complain("'content' and '" + std::string(content) + "' exclude each other", scope, member.offset);
          is_fine = false;
        }
        content = member.key;
      }
      form.params.push_back({member.key, member.offset, pattern_of(member.value, scope, is_fine)});
      continue;
    }
    if (!content.empty()) {
      complain("'" + std::string(content) + "' and '" + std::string(member.key) + "' exclude each other",
               scope, member.offset);
      is_fine = false;
    }
    content = member.key;
    Pattern pattern;
    if (member.key == "template") {
      pattern = template_pattern(member.value, scope, is_fine);
    } else {
      pattern = pattern_of(member.value, scope, is_fine);
      pattern.kind = Pattern::Kind::template_file;
    }
    form.params.push_back({"content", member.offset, std::move(pattern)});
  }
  return is_fine;
}

// ---- states

void Rendering::for_each(const Pattern* each, Scope& scope, const std::function<void(Scope&)>& use) {
  if (!each) return use(scope);
  const Made items = make(*each, scope);
  const std::uint32_t offset = each->value.offset();
  if (items.has_failed) return;
  if (is_unknown(items.value)) {
    Scope inside(scope.source, &scope, true);
    inside.is_unknown = true;
    set(inside, "item", unknown(offset));
    set(inside, "key", unknown(offset));
    return use(inside);
  }
  if (items.is_made_of_secret || is_secret(items.value))
    return complain(
        "what 'each' goes through must not be computed from a secret; its items may have some in them", scope,
        offset);
  if (!items.value.is_list() && !items.value.is_object())
    return complain(
        "'each' must be a list or a mapping, not " + std::string(base::kind_name(items.value.kind())), scope,
        offset);
  std::size_t number = 0;
  const auto run = [&](const Value& key, const Value& item) {
    Scope inside(scope.source, &scope, true);
    inside.number = ++number;
    set(inside, "item", item);
    set(inside, "key", key);
    use(inside);
  };
  for (const Value& item : items.value.items())
    if (!is_full_) run(Value::integer(static_cast<std::int64_t>(number)), item);
  for (const Member& member : items.value.members())
    if (!is_full_) run(Value::string(member.key), member.value);
}

// Whether a state is there at all; nothing when that cannot be told, which has been complained about.
std::optional<bool> Rendering::holds(const Pattern& when, Scope& scope, bool& is_not_known) {
  const Piece* piece = when.single();
  if (!piece) return true;  // an object: it is looked at when the state's turn comes
  templates::Used used;
  const auto found = templates::evaluate_condition(*piece->expression, scope.variables, {}, &used);
  if (!count(used, 0, scope, when.value.offset())) return std::nullopt;
  if (const auto* problem = std::get_if<templates::Problem>(&found)) {
    if (problem->is_unknown) {
      is_not_known = true;
      return true;
    }
    complain_of(*piece, when.value, *problem, used.secret, scope);
    return std::nullopt;
  }
  if (used.secret) {
    complain("'when' must not depend on a secret: whether a state runs can be seen", scope,
             when.value.offset());
    return std::nullopt;
  }
  return std::get<bool>(found);
}

bool Rendering::count_state(const Value& entry, const Scope& scope) {
  if (++states_ <= kMostStates) return true;
  is_full_ = true;
  complain("the recipe has more than " + std::to_string(kMostStates) + " states", scope, entry.offset());
  return false;
}

void Rendering::state(const Form& form, Scope& scope) {
  if (!count_state(form.entry, scope)) return;
  RenderedState rendered{.source = &scope.source};
  bool is_condition_unknown = false;
  std::optional<bool> is_on = true;
  if (form.when) is_on = holds(*form.when, scope, is_condition_unknown);
  if (!is_on) return;
  rendered.is_off = !*is_on;

  bool has_failed = false;
  const states::Param* main = main_parameter(*form.type, form.parameter);
  std::vector<Member> params;
  for (const Form::Param& param : form.params) {
    // Of a state that is off, only its name counts.
    const bool is_wanted = !rendered.is_off || (!form.id && main && main->is_called(param.name));
    if (!is_wanted) continue;
    const Made made = make(param.pattern, scope);
    has_failed = has_failed || made.has_failed;
    if (made.is_secret) rendered.secret_params.push_back({param.name, made.value, param.offset});
    if (made.is_unknown)
      rendered.unknown_params.push_back(param.name);
    else
      params.push_back({param.name, made.value, param.offset});
  }
  if (has_failed) return;
  Value parameter = form.parameter;
  if (parameter.is_object() || states::is_absent(parameter))
    parameter = Value::object(arena_.copy(std::span<const Member>(params))).at(form.parameter.offset());
  const auto id = id_of(form, parameter, rendered, scope);
  if (!id) return;

  std::vector<Member> members{{"id", *id, id->offset()}, {"module", form.module, form.module.offset()}};
  members.push_back({"parameter", parameter, parameter.offset()});
  if (form.when && form.when->value.is_object()) {
    const Made when = make(*form.when, scope);
    if (when.has_failed) return;
    if (when.is_secret)
      return complain("'when' must not depend on a secret: whether a state runs can be seen", scope,
                      form.when->value.offset());
    if (!when.is_unknown) members.push_back({"when", when.value, form.when->value.offset()});
  }
  for (const Form::Param& other : form.others) {
    const Made made = make(other.pattern, scope);
    if (made.has_failed) return;
    if (made.is_secret)
      return complain("'" + std::string(other.name) + "' must not depend on a secret", scope, other.offset);
    if (!made.is_unknown) members.push_back({other.name, made.value, other.offset});
  }
  if (!inputs_.explain.empty() && id->text() == inputs_.explain) explain(form, scope);
  rendered.value = Value::object(arena_.copy(std::span<const Member>(members))).at(form.entry.offset());
  (*take_)(rendered);
}

// What the state is called: as it says, or by its module and what it is about.
std::optional<Value> Rendering::id_of(const Form& form, const Value& parameter, RenderedState& rendered,
                                      Scope& scope) {
  if (form.id) {
    const Made made = make(*form.id, scope);
    if (made.has_failed) return std::nullopt;
    if (made.is_secret) {
      complain("an 'id' must not be made of a secret", scope, form.id->value.offset());
      return std::nullopt;
    }
    if (!made.is_unknown) {
      // The id of a state that is there an unknown number of times.
      rendered.has_unknown_id = scope.is_unknown;
      return made.value.at(form.id->value.offset());
    }
    rendered.has_unknown_id = true;
    return Value::string(arena_.copy(as_written(form.id->value))).at(form.id->value.offset());
  }
  std::string name(form.type->name());
  const states::Param* main = main_parameter(*form.type, form.parameter);
  const Value* value = nullptr;
  if (main)
    for (const Member& member : parameter.members())
      if (main->is_called(member.key)) value = &member.value;
  rendered.has_unknown_id = scope.is_unknown;
  // What is not known is told as it was written.
  if (main && !value)
    for (const Member& member : form.parameter.members())
      if (main->is_called(member.key)) {
        value = &member.value;
        rendered.has_unknown_id = true;
      }
  if (value) {
    if (holds_secret(*value)) {
      complain("the state's id would be made of a secret; give it an 'id'", scope, form.entry.offset());
      return std::nullopt;
    }
    std::string text;
    if (const auto line = value->as_line(arena_)) text = *line;
    for (const Value& item : value->items())
      if (const auto line = item.as_line(arena_)) text.append(text.empty() ? "" : ", ").append(*line);
    constexpr std::size_t kLongest = 256;
    if (name.size() + text.size() >= kLongest) {
      complain("the state needs an 'id': made of its module and '" + std::string(main->name) +
                   "' it would be longer than 256 bytes",
               scope, form.entry.offset());
      return std::nullopt;
    }
    if (!text.empty()) name += " " + text;
  }
  return Value::string(arena_.copy(name)).at(form.entry.offset());
}

const states::Param* main_parameter(const states::StateType& type, const Value& parameter) {
  for (const states::Param& param : type.schema())
    if (param.is_required) return &param;
  for (const states::Param& param : type.schema())
    if (param.names_things)
      for (const Member& member : parameter.members())
        if (param.is_called(member.key)) return &param;
  return nullptr;
}

// ---- included files

void Rendering::include(const Value& value, Scope& scope) {
  static constexpr std::array<std::string_view, 4> kKnown{"include", "vars", "each", "when"};
  bool is_fine = true;
  for (const Member& member : value.members())
    if (std::ranges::find(kKnown, member.key) == kKnown.end() && !member.key.starts_with('_')) {
      complain("Unknown key '" + std::string(member.key) + "' beside 'include'" +
                   base::did_you_mean(member.key, kKnown),
               scope, member.offset);
      is_fine = false;
    }
  if (!is_fine) return;
  std::optional<Pattern> each;
  if (const Value* items = value.find("each")) each = pattern_of(*items, scope, is_fine);
  if (!is_fine) return;
  for_each(each ? &*each : nullptr, scope, [&](Scope& inside) {
    if (!count_include(inside, value.offset())) return;
    bool is_parsed = true;
    const Pattern files = pattern_of(*value.find("include"), inside, is_parsed);
    std::optional<Pattern> vars, when;
    if (const Value* given = value.find("vars")) vars = pattern_of(*given, inside, is_parsed);
    if (const Value* given = value.find("when")) when = pattern_of(*given, inside, is_parsed);
    if (!is_parsed) return;
    if (when && !when->single())
      return complain("'when' beside 'include' must be an expression such as ${{ vars.with_db }}", inside,
                      when->value.offset());
    bool is_condition_unknown = false;
    if (when) {
      const auto is_on = holds(*when, inside, is_condition_unknown);
      if (!is_on || !*is_on) return;
    }
    const Made named = make(files, inside);
    if (named.has_failed || named.is_unknown) return;
    if (named.is_secret)
      return complain("'include' must not depend on a secret", inside, files.value.offset());
    const bool was_unknown = inside.is_unknown;
    inside.is_unknown = was_unknown || is_condition_unknown;
    const Pattern* given = vars ? &*vars : nullptr;
    if (!named.value.is_list()) include_file(named.value, given, inside);
    for (const Value& name : named.value.items())
      if (count_include(inside, value.offset())) include_file(name, given, inside);
    inside.is_unknown = was_unknown;
  });
}

// One more, whether its `when` holds or not. False when a limit was passed.
bool Rendering::count_include(const Scope& scope, std::uint32_t offset) {
  if (is_full_) return false;
  if (++includes_ <= kMostIncludes) return true;
  is_full_ = true;
  complain("the recipe includes files more than " + std::to_string(kMostIncludes) + " times", scope, offset);
  return false;
}

// Its entries are read each time that it is included.
bool Rendering::count_included(const Source& source, const Scope& scope, std::uint32_t offset) {
  included_bytes_ += source.document->text.size();
  if (included_bytes_ <= kMostIncludedBytes) return true;
  is_full_ = true;
  complain("the files that the recipe includes are, each time counted, larger than " +
               std::to_string(kMostIncludedBytes >> 20) + " MiB",
           scope, offset);
  return false;
}

void Rendering::include_file(const Value& name, const Pattern* vars, Scope& scope) {
  // A whole recipe may be included, too: its modules and files are those of the recipe that includes it.
  static constexpr std::array<std::string_view, 6> kKnown{"version", "recipe", "vars",
                                                          "states",  "module", "files"};
  if (!name.is_text())
    return complain("'include' must be the name of a file, or a list of names", scope, name.offset());
  if (scope.depth >= kDeepestInclude)
    return complain("files include each other more than 8 deep", scope, name.offset());
  const Source* source = included(std::string(name.text()), name, scope);
  if (!source || !count_included(*source, scope, name.offset())) return;
  Scope inside(*source, &scope, false);
  inside.depth = scope.depth + 1;
  for (const std::string_view given : {"facts", "tags", "app", "instance", "agent"})
    if (const auto value = resolve({std::string(given)}, scope)) set(inside, given, *value);
  inside.variables.set_secrets(
      [this](Text secret, bool is_after_secret) { return secret_of(secret, is_after_secret); });
  Value strong = resolve({"vars"}, scope).value_or(Value::object({}));
  inside.layers = scope.file_scope().layers;
  if (vars) {
    const Made given = make(*vars, scope);
    if (given.has_failed) return;
    if (!given.value.is_object())
      return complain("'vars' beside 'include' must be an object such as { port: 8080 }", scope,
                      vars->value.offset());
    strong = merge(strong, given.value);
    inside.layers.push_back({"", given.value, &scope.source});
  }
  const Value& root = source->document->root;
  for (const Member& member : root.members())
    if (std::ranges::find(kKnown, member.key) == kKnown.end() && !member.key.starts_with('_'))
      complain("Unknown key '" + std::string(member.key) + "' of an included file" +
                   base::did_you_mean(member.key, kKnown),
               inside, member.offset);
  const Value* own = root.find("vars");
  if (!read_own_variables(own ? *own : Value(), inside, strong)) return;
  const Value* states = root.is_list() ? &root : root.find("states");
  if (!states || (!states->is_list() && !states->is_null()))
    return complain("an included file needs a list 'states'", inside, root.offset());
  for (const Value& each : states->items())
    if (!is_full_) entry(each, inside);
}

// Read once, however often it is included.
const Source* Rendering::included(const std::string& name, const Value& at, Scope& scope) {
  const auto refuse = [&](std::string message) {
    complain(std::move(message), scope, at.offset());
    return nullptr;
  };
  auto clean = file_name_in(folder_of(scope.source.file), name);
  if (!clean) return refuse(clean.error().message());
  if (const auto known = sources_.find(*clean); known != sources_.end()) return known->second.get();
  auto text = file(*clean);
  if (!text) return refuse(text.error().message());
  auto source = std::make_unique<Source>();
  source->file = *clean;
  source->document = std::make_unique<Document>();
  source->document->syntax = guess_syntax(*clean, *text);
  source->document->text = std::move(*text);
  if (auto wrong = parse(*source->document)) {
    complain_(wrong->message, *source, LineIndex(*source->document).locate(wrong->offset));
    return sources_.emplace(*clean, std::move(source)), nullptr;
  }
  const Value& root = source->document->root;
  if (root.find("version") && recipe_version(root) != 2)
    return refuse("the file '" + *clean + "' must say 'version: 2', as what includes it");
  if (!root.is_object() && !root.is_list()) return refuse("the file '" + *clean + "' has no list 'states'");
  return sources_.emplace(*clean, std::move(source)).first->second.get();
}

}  // namespace recipe

// What expressions see: variables from all their places, facts and tags, secrets; and what is said about them
// when something is wrong.
#include <algorithm>
#include <array>

#include "base/text.hpp"
#include "base/values/json_text.hpp"
#include "recipe/rendering_parts.hpp"

namespace recipe {

using base::Member;
using base::Value;

namespace {

// For people: a scalar as it was written, all else as JSON.
std::string shown_value(const Value& value) {
  return value.kind() == Value::Kind::plain ? std::string(value.text()) : base::to_json(value);
}

// What an unknown value is: this text, at this address.
constexpr char kUnknownText[] = "(unknown)";

const Value* find_path(const Value& from, std::span<const std::string> path) {
  const Value* at = &from;
  for (const std::string& key : path) {
    at = at->find(key);
    if (!at) return nullptr;
  }
  return at;
}

// The same, or the value on the way that has nothing below it.
const Value* nearest_on_path(const Value& from, std::span<const std::string> path) {
  const Value* at = &from;
  for (const std::string& key : path) {
    if (!at->is_object()) return at;
    at = at->find(key);
    if (!at) return nullptr;
  }
  return at;
}

}  // namespace

// ---- problems

void Rendering::complain(std::string message, const Scope& scope, std::uint32_t offset) {
  complain_(std::move(message), scope.source,
            is_told() ? LineIndex(*scope.source.document).locate(offset) : Position());
}

void Rendering::complain_of(const Piece& piece, const Value& text, const templates::Problem& problem,
                            bool is_secret, const Scope& scope) {
  if (!is_told()) return complain_("", scope.source, {});
  std::string message = is_secret && problem.message != secret_problem_
                            ? "this expression uses a secret and cannot be computed; what exactly is wrong "
                              "is not shown"
                            : problem.message;
  message += origins_text(templates::uses_of(*piece.expression), scope);
  complain_(
      std::move(message), scope.source,
      locate_expression(*scope.source.document, text.offset(), piece.number, problem.line, problem.column));
}

void Rendering::complain_of_template(const Pattern& pattern, const templates::Problem& problem,
                                     bool is_secret, const Scope& scope) {
  if (complaints_ >= kMostComplaints) return complain_("", scope.source, {});
  std::string message =
      is_secret && problem.message != secret_problem_
          ? "this template uses a secret and cannot be rendered; what exactly is wrong is not shown"
          : problem.message;
  if (pattern.source) message += origins_text(templates::uses_of(*pattern.source), scope);
  const std::uint32_t offset = pattern.value.offset();
  if (!problem.name.empty())  // a file
    return complain(problem.name + ":" + std::to_string(problem.line) + ":" + std::to_string(problem.column) +
                        ": " + message,
                    scope, offset);
  (void)is_told();
  complain_(std::move(message), scope.source,
            locate_in_text(*scope.source.document, offset, problem.line, problem.column));
}

std::string Rendering::origin_of(const std::vector<std::string>& path, const Scope& scope) const {
  if (path.front() != "vars" || path.size() < 2) return {};
  const std::span<const std::string> keys = std::span(path).subspan(1);
  const std::vector<Layer>& layers = scope.file_scope().layers;
  for (auto layer = layers.rbegin(); layer != layers.rend(); ++layer) {
    const Value* found = nearest_on_path(layer->values, keys);
    if (!found) continue;
    if (!layer->origin.empty()) return layer->origin;
    const std::string file = layer->source->file.empty() ? "the recipe" : layer->source->file;
    return file + ", line " +
           std::to_string(LineIndex(*layer->source->document).locate(found->offset()).line);
  }
  return {};
}

std::string Rendering::origins_text(const templates::Uses& uses, const Scope& scope) const {
  std::string text;
  std::vector<std::string> told;
  for (const templates::Use& use : uses.variables) {
    const std::string name = base::join(use.path, ".");
    if (std::ranges::find(told, name) != told.end()) continue;
    told.push_back(name);
    std::string origin = origin_of(use.path, scope);
    if (use.path.front() == "item" && scope.number > 0)
      origin = "number " + std::to_string(scope.number) + " of 'each'";
    if (!origin.empty()) text += (text.empty() ? " (" : "; ") + name + ": " + origin;
  }
  return text.empty() ? text : text + ")";
}

bool Rendering::check_name(const templates::Use& use, const Scope& scope, std::string& wrong) const {
  const std::string& root = use.path.front();
  const Scope* known = &scope;
  const Value* value = nullptr;
  for (; known && !value; known = known->outer)
    for (const auto& [name, given] : known->names)
      if (name == root) value = &given;
  if (!value) {
    if (root == "secret") return true;
    wrong = "'" + root + "' is not defined";
    const auto vars = resolve({"vars", root}, scope);
    if (vars) {
      wrong += "; did you mean 'vars." + root + "'?";
    } else {
      std::vector<std::string_view> names(std::begin(kGivenNames), std::end(kGivenNames));
      wrong += base::did_you_mean(root, names);
    }
    return false;
  }
  if (use.path.size() < 2 || use.may_be_missing) return true;
  if (root == "vars" && value->is_object() && !value->find(use.path[1])) {
    // A method of a mapping, such as vars.items(), is no path, so this is a name.
    std::vector<std::string_view> names;
    for (const Member& member : value->members())
      if (complaints_ < kMostComplaints) names.push_back(member.key);
    wrong = "there is no variable '" + use.path[1] + "'" + base::did_you_mean(use.path[1], names) +
            "; a recipe names the variables that it uses under 'vars'";
    return false;
  }
  if (root == "facts" && inputs_.is_check && is_unknown(*value) &&
      std::ranges::find(kFactNames, use.path[1]) == std::end(kFactNames)) {
    wrong = "there is no fact '" + use.path[1] + "'" + base::did_you_mean(use.path[1], kFactNames);
    return false;
  }
  return true;
}

bool Rendering::check_names(const templates::Uses& uses, const Scope& scope,
                            const std::function<Position(const templates::Use&)>& place) {
  bool is_fine = true;
  for (const templates::Use& use : uses.variables) {
    std::string wrong;
    if (check_name(use, scope, wrong)) continue;
    complain_(std::move(wrong), scope.source, is_told() ? place(use) : Position());
    is_fine = false;
  }
  return is_fine;
}

// ---- what is given

Value Rendering::unknown(std::uint32_t offset) const {
  return Value::string(kUnknownText).at(offset);
}

bool Rendering::is_unknown(const Value& value) const {
  return value.kind() == Value::Kind::string && value.text().data() == kUnknownText;
}

bool Rendering::is_secret(const Value& value) const {
  if (value.is_text()) return secret_places_.contains(value.text().data());
  if (value.is_list()) return secret_places_.contains(value.items().data());
  return value.is_object() && secret_places_.contains(value.members().data());
}

bool Rendering::holds_secret(const Value& value) const {
  if (secret_places_.empty()) return false;
  if (is_secret(value)) return true;
  return std::ranges::any_of(value.items(), [&](const Value& item) { return holds_secret(item); }) ||
         std::ranges::any_of(value.members(),
                             [&](const Member& member) { return holds_secret(member.value); });
}

bool Rendering::holds_unknown(const Value& value) const {
  if (!inputs_.is_check) return false;
  if (is_unknown(value)) return true;
  return std::ranges::any_of(value.items(), [&](const Value& item) { return holds_unknown(item); }) ||
         std::ranges::any_of(value.members(),
                             [&](const Member& member) { return holds_unknown(member.value); });
}

void Rendering::add_secret(Text text) {
  if (!text.empty()) secrets_.emplace_back(text);
}

// Its leaves as texts that are known to be secret, whoever gets them next, and so is what holds them.
Value Rendering::as_secret(const Value& value) {
  // With one more behind them, so that an empty one has an address, too.
  const auto keep = [this]<class T>(std::vector<T>& parts) {
    parts.push_back({});
    const std::span<const T> kept = arena_.copy(std::span<const T>(parts));
    secret_places_.insert(kept.data());
    return kept.first(kept.size() - 1);
  };
  if (value.is_list()) {
    std::vector<Value> items;
    for (const Value& item : value.items())
      items.push_back(as_secret(item));
    return Value::list(keep(items)).at(value.offset());
  }
  if (value.is_object()) {
    std::vector<Member> members;
    for (const Member& member : value.members()) {
      add_secret(member.key);
      members.push_back({member.key, as_secret(member.value), member.offset});
    }
    return Value::object(keep(members)).at(value.offset());
  }
  if (value.is_null()) return value;
  const Text text = value.kind() == Value::Kind::boolean ? (*value.as_bool() ? "true" : "false")
                                                         : value.as_line(arena_).value_or("");
  // With a byte behind it, so that an empty one has an address, too.
  const Text kept = arena_.copy(std::string(text) + '\0').substr(0, text.size());
  secret_places_.insert(kept.data());
  add_secret(kept);
  return Value::string(kept).at(value.offset());
}

void Rendering::set(Scope& scope, Text name, const Value& value) {
  const bool has_marks = inputs_.is_check || !secret_places_.empty();
  const templates::MarksOf marks_of = [this](const Value& each) -> std::uint8_t {
    if (is_unknown(each)) return templates::kUnknownMark;
    return is_secret(each) ? templates::kSecretMark : 0;
  };
  scope.variables.set_unread(name, value, has_marks ? &marks_of : nullptr);
  for (auto& [known, present] : scope.names)
    if (known == name) {
      present = value;
      return;
    }
  scope.names.emplace_back(name, value);
}

std::optional<Value> Rendering::resolve(const std::vector<std::string>& path, const Scope& scope) const {
  for (const Scope* at = &scope; at; at = at->outer)
    for (const auto& [name, value] : at->names) {
      if (name != path.front()) continue;
      const std::span<const std::string> keys = std::span(path).subspan(1);
      if (const Value* nearest = nearest_on_path(value, keys); nearest && is_unknown(*nearest))
        return *nearest;
      const Value* found = find_path(value, keys);
      return found ? std::optional(*found) : std::nullopt;
    }
  return std::nullopt;
}

bool Rendering::read_layers() {
  for (const VariableLayer& given : inputs_.vars) {
    // The recipe's states may point into it.
    const Text text = arena_.copy(given.values);
    auto parsed = guess_syntax("", text) == Syntax::json
                      ? base::parse_json(text, arena_)
                      : std::variant<Value, base::SyntaxProblem>(base::SyntaxProblem{});
    if (parsed.index() == 1) parsed = parse_yaml(text, arena_);  // {port: 81} is YAML only
    if (const auto* wrong = std::get_if<base::SyntaxProblem>(&parsed)) {
      complain_(given.origin + ": " + wrong->message, recipe_, {});
      return false;
    }
    const Value root = std::get<Value>(parsed);
    if (states::is_absent(root)) continue;
    if (!root.is_object()) {
      complain_(given.origin + ": variables are an object such as { port: 81 }", recipe_, {});
      return false;
    }
    given_layers_.push_back({given.origin, root});
  }
  return true;
}

bool Rendering::read_given() {
  const auto text = [&](const std::string& given) {
    return given.empty() && inputs_.is_check ? unknown(0) : Value::string(arena_.copy(given));
  };
  set(*top_, "app", text(inputs_.app));
  set(*top_, "instance", text(inputs_.instance));
  const auto texts = [&](const std::map<std::string, std::string>& given) {
    if (given.empty() && inputs_.is_check) return unknown(0);
    std::vector<Member> members;
    for (const auto& [key, value] : given)
      members.push_back({arena_.copy(key), Value::string(arena_.copy(value))});
    return Value::object(arena_.copy(std::span<const Member>(members)));
  };
  set(*top_, "tags", texts(inputs_.tags));
  set(*top_, "agent", texts(inputs_.agent));
  Value facts = inputs_.is_check ? unknown(0) : Value::object({});
  if (!inputs_.facts.empty()) {
    auto parsed = base::parse_json(arena_.copy(inputs_.facts), arena_);
    if (const auto* wrong = std::get_if<base::SyntaxProblem>(&parsed)) {
      complain_("the facts are no JSON: " + wrong->message, recipe_, {});
      return false;
    }
    facts = std::get<Value>(parsed);
  }
  set(*top_, "facts", facts);
  top_->variables.set_secrets(
      [this](Text name, bool is_after_secret) { return secret_of(name, is_after_secret); });
  return true;
}

void Rendering::note_names_of_secrets(const templates::Uses& uses) {
  written_secret_names_.insert(uses.secrets.begin(), uses.secrets.end());
}

// Whether the name of a secret may tell another one: it is said when there is no such secret, and the program
// that knows secrets has it among its arguments.
bool Rendering::is_told_by_secret(Text name, bool is_after_secret) const {
  constexpr std::size_t kShortest = 4;  // what is shorter is part of many names
  return is_after_secret && !written_secret_names_.contains(name) &&
         std::ranges::any_of(secrets_, [&](const std::string& secret) {
           return name == secret || (secret.size() >= kShortest && name.find(secret) != Text::npos);
         });
}

// `is_after_secret`: the evaluation has used one, so that the name may be made of it.
templates::Answer<std::string> Rendering::secret_of(Text name, bool is_after_secret) {
  const auto refuse = [this](std::string message) {
    secret_problem_ = std::move(message);
    return templates::Problem{.message = secret_problem_};
  };
  constexpr std::size_t kLongest = 128;
  const bool is_name = !name.empty() && name.size() <= kLongest && name[0] != '.' && name[0] != '-' &&
                       std::ranges::all_of(name, [](unsigned char c) {
                         return (std::isalnum(c) != 0 && c < 0x80) || c == '.' || c == '_' || c == '-';
                       });
  if (!is_name)
    return refuse(
        "a secret's name has letters, digits, '.', '_' and '-', and begins with none of '.' and '-'");
  if (inputs_.is_check) return templates::Problem{.message = {}, .is_unknown = true};
  if (is_told_by_secret(name, is_after_secret)) return refuse("a secret's name must not be a secret");
  if (const auto known = read_secrets_.find(name); known != read_secrets_.end()) return known->second;
  if (!inputs_.secrets) return refuse("there are no secrets here");
  auto found = inputs_.secrets->secret(name);
  if (!found && is_after_secret && !written_secret_names_.contains(name))
    return refuse(
        "a secret cannot be had whose name is computed; the name is not shown, because it may be made of "
        "another secret");
  if (!found) return refuse("the secret '" + std::string(name) + "': " + found.error().message());
  add_secret(*found);
  return read_secrets_.emplace(std::string(name), std::move(*found)).first->second;
}

// Mappings deep, all else is replaced. What was made of a secret stays known as that.
Value Rendering::merge(const Value& weak, const Value& strong) {
  if (!weak.is_object() || !strong.is_object()) return strong;
  std::vector<Member> members(weak.members().begin(), weak.members().end());
  std::unordered_map<std::string_view, std::size_t> places;
  for (std::size_t i = 0; i < members.size(); ++i)
    places.emplace(members[i].key, i);
  for (const Member& member : strong.members()) {
    const auto [present, is_new] = places.emplace(member.key, members.size());
    if (is_new)
      members.push_back(member);
    else
      members[present->second].value = merge(members[present->second].value, member.value);
  }
  const Value whole = Value::object(arena_.copy(std::span<const Member>(members))).at(strong.offset());
  return is_secret(weak) || is_secret(strong) ? as_secret(whole) : whole;
}

bool Rendering::read_variables(const Value& root) {
  if (!read_given()) return false;
  if (const Value* files = root.find("files")) {
    for (const Member& member : files->members())
      own_files_.emplace(std::string(member.key), std::string(member.value.text()));
    if (!files->is_object()) {
      complain("'files' must be an object of texts", *top_, files->offset());
      return false;
    }
  }
  if (!read_layers()) return false;
  Value strong = Value::object({});
  for (const Layer& layer : given_layers_)
    strong = merge(strong, layer.values);
  top_->layers = given_layers_;
  const Value* vars = root.find("vars");
  return read_own_variables(vars ? *vars : Value(), *top_, strong);
}

// The variables of a file, with `strong` over them, one after the other: each may use those before it.
bool Rendering::read_own_variables(const Value& vars, Scope& scope, const Value& strong) {
  if (!vars.is_null() && !vars.is_object()) {
    complain("'vars' must be an object such as { port: 8080 }", scope, vars.offset());
    return false;
  }
  bool is_fine = true;
  std::vector<Member> own, all;
  bool is_set = false;
  // What is only written down needs nothing of that.
  const auto refresh = [&] {
    variables_looked_ += all.size() + strong.members().size();
    const Value now = Value::object(arena_.copy(std::span<const Member>(all)));
    set(scope, "vars", merge(now, strong));
    is_set = true;
  };
  for (const Member& member : vars.members()) {
    auto declared = read_declaration(member, arena_);
    if (!declared) {
      complain(declared.error().message(), scope, member.offset);
      is_fine = false;
      continue;
    }
    const Value* given = strong.find(member.key);
    Value value = given ? *given : Value();
    if (declared->fallback && (!given || given->is_object())) {
      if (!is_set && any_expression(*declared->fallback)) refresh();
      if (variables_looked_ > kMostVariablesLooked) {
        complain("too many variables are computed from others: of " + std::to_string(vars.members().size()) +
                     ", each sees all before it; put what belongs together into one mapping",
                 scope, member.offset);
        return false;
      }
      Made made{.value = *declared->fallback};
      if (any_expression(*declared->fallback)) {
        bool parsed = true;
        expressions_ = 0;
        const Pattern pattern = pattern_of(*declared->fallback, scope, parsed);
        made = parsed ? make(pattern, scope) : Made{.has_failed = true};
      }
      if (made.has_failed) {
        is_fine = false;
        continue;
      }
      own.push_back({member.key, made.value, member.offset});
      value = given ? merge(made.value, *given) : made.value;
    } else if (!declared->fallback && !given) {
      if (!inputs_.is_check) {
        complain("the variable '" + declared->variable.name + "' has no value: give it one (--var " +
                     declared->variable.name + "=…, or in the backend), or a 'default'",
                 scope, member.offset);
        is_fine = false;
        continue;
      }
      value = unknown(member.offset);
    }
    if (!holds_unknown(value) && !states::is_absent(value)) {
      auto fits = typed(declared->variable, value, arena_);
      if (!fits) {
        std::string origin;
        for (const Layer& layer : given_layers_)
          if (layer.values.find(member.key)) origin = layer.origin;
        complain((holds_secret(value) ? "the variable '" + declared->variable.name +
                                            "' is made of a secret and has not the type that it must have"
                                      : fits.error().message()) +
                     (origin.empty() ? "" : " (" + origin + ")"),
                 scope, member.offset);
        is_fine = false;
        continue;
      }
      if (!holds_secret(value)) value = *fits;
    }
    all.push_back({member.key, value, member.offset});
    is_set = false;
  }
  // What is given, too, as the type that was declared.
  Value now = Value::object(arena_.copy(std::span<const Member>(all)));
  std::vector<Member> rest;
  std::unordered_set<std::string_view> there;
  for (const Member& member : all)
    there.insert(member.key);
  for (const Member& member : strong.members())
    if (!there.contains(member.key)) rest.push_back(member);
  now = merge(now, Value::object(arena_.copy(std::span<const Member>(rest))));
  set(scope, "vars", now);
  scope.layers.insert(scope.layers.begin(),
                      {"", Value::object(arena_.copy(std::span<const Member>(own))), &scope.source});
  return is_fine;
}

base::Result<std::string> Rendering::file(const std::string& name) {
  constexpr std::size_t kMostFiles = 1000;
  if (++files_read_ > kMostFiles)
    return base::Error(base::ErrorCode::limit, "the recipe names more than 1000 files");
  if (const auto own = own_files_.find(name); own != own_files_.end()) return own->second;
  if (inputs_.files) return inputs_.files->file(name);
  return base::Error(base::ErrorCode::not_found,
                     "the file '" + name + "' is not here: it does not travel with the recipe");
}

void Rendering::explain(const Form& form, const Scope& scope) {
  std::vector<std::vector<std::string>> paths;
  const auto add = [&](const templates::Uses& uses) {
    for (const templates::Use& use : uses.variables)
      if (std::ranges::find(paths, use.path) == paths.end()) paths.push_back(use.path);
    for (const std::string& name : uses.secrets)
      explained_.push_back({"secret('" + name + "')", "(secret)", "this machine"});
  };
  const std::function<void(const Pattern&)> walk = [&](const Pattern& pattern) {
    for (const Piece& piece : pattern.pieces)
      if (piece.expression) add(templates::uses_of(*piece.expression));
    if (pattern.source) add(templates::uses_of(*pattern.source));
    if (pattern.kind == Pattern::Kind::template_file && pattern.pieces.empty())
      if (const auto found = templates_.find(pattern.value.text()); found != templates_.end())
        add(templates::uses_of(*found->second));
    for (const Pattern& item : pattern.items)
      walk(item);
  };
  for (const std::optional<Pattern>* each : {&form.each, &form.when, &form.id})
    if (*each) walk(**each);
  for (const auto* params : {&form.params, &form.others})
    for (const Form::Param& param : *params)
      walk(param.pattern);
  for (const std::vector<std::string>& path : paths) {
    const auto value = resolve(path, scope);
    std::string shown = "(not there)";
    if (value)
      shown = holds_secret(*value) ? "(secret)" : holds_unknown(*value) ? "(unknown)" : shown_value(*value);
    std::string origin = origin_of(path, scope);
    if (path.front() == "item") origin = "number " + std::to_string(scope.number) + " of 'each'";
    explained_.push_back({base::join(path, "."), std::move(shown), std::move(origin)});
  }
}

}  // namespace recipe

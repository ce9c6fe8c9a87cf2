#include "recipe/recipe.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "base/files/file_read.hpp"
#include "base/host/os_release.hpp"
#include "base/sha256.hpp"
#include "base/text.hpp"
#include "base/values/json.hpp"
#include "recipe/rendering.hpp"

namespace recipe {

using base::Member;
using base::Value;

namespace {

// For a digest only: what differs gives another text.
void append_exactly(std::string_view text, std::string& all) {
  all.append(std::to_string(text.size())).append(":").append(text);
}

void append_exactly(const Value& value, std::string& all) {
  const std::size_t parts = value.items().size() + value.members().size();
  all.append(base::kind_name(value.kind())).append(std::to_string(parts));
  if (parts == 0 && !value.is_list() && !value.is_object())
    append_exactly(value.is_text() ? value.text() : base::to_json(value), all);
  for (const Value& item : value.items())
    append_exactly(item, all);
  for (const Member& member : value.members()) {
    append_exactly(member.key, all);
    append_exactly(member.value, all);
  }
}

// When it runs, and how often; "" for a state that says nothing of that.
std::string conditions_text(const State& state) {
  std::string text;
  const auto list = [&](std::string_view name, const auto& items, const auto& quoted) {
    if (items.empty()) return;
    text.append(" ").append(name);
    for (const auto& item : items)
      text.append(" ").append(quoted(item));
  };
  const auto as_text = [](std::string_view item) { return base::json_quote(item); };
  const auto as_number = [](std::size_t item) { return std::to_string(item); };
  if (state.timeout) text.append(" timeout ").append(std::to_string(state.timeout->count()));
  if (state.retries > 0) text.append(" retries ").append(std::to_string(state.retries));
  if (state.when) {
    list("path_exists", state.when->path_exists, as_text);
    list("path_absent", state.when->path_absent, as_text);
    list("os", state.when->os, as_text);
  }
  if (!state.control) return text;
  list("on_change_of", state.control->on_change_of, as_number);
  list("restart_on", state.control->restart_on, as_number);
  list("reload_on", state.control->reload_on, as_number);
  list("require", state.control->require, as_number);
  if (!state.control->once.empty()) text.append(" once ").append(base::json_quote(state.control->once));
  if (state.control->continues) text.append(" continues");
  return text;
}

}  // namespace

const std::string& Recipe::digest() const {
  if (!digest_.empty()) return digest_;
  if (!is_rendered_) return digest_ = text_digest();
  base::Sha256 digest;
  digest.add(text_digest());
  std::string of_state;
  for (const State& state : states_) {
    of_state.clear();
    append_exactly(state.id, of_state);
    if (state.is_off)
      of_state.append("off");
    else
      append_exactly(state.parameter, of_state);
    append_exactly(conditions_text(state), of_state);
    digest.add(of_state);
  }
  return digest_ = digest.finish();
}

std::string Recipe::text_digest() const {
  return base::sha256_hex(sources_.front()->document->text);
}

// Reads one document into a Recipe, and notes whatever is wrong on the way.
class Loader {
 public:
  Loader(std::unique_ptr<Document> document, const RegistryOf& registry_of, const Inputs& inputs)
      : registry_of_(registry_of),
        inputs_(inputs),
        recipe_(std::make_shared<Recipe>()),
        control_([this](std::string message, std::string_view state_id, std::uint32_t offset) {
          const auto place = ids_.find(state_id);
          if (problems_.size() > kMostProblems) message.clear();
          problems_.push_back({std::move(message), std::string(state_id),
                               place != ids_.end() ? place->second.source : source_, offset});
        }) {
    recipe_->sources_.push_back(std::make_unique<Source>(Source{std::move(document), ""}));
    recipe_->is_check_ = inputs.is_check;
    source_ = recipe_->sources_.front().get();
  }

  Loaded load() {
    if (auto wrong = parse(document())) {
      problem(wrong->message, wrong->offset);
    } else {
      read_top(document().root);
      control_.finish(recipe_->states_);
      explain_unknown_keys();
    }
    Loaded loaded{.explained = std::move(explained_)};
    if (has_equal_ids_ && has_control_)
      problem("conditions between states need ids that are used once", document().root.offset());
    loaded.problems = shown(problems_);
    loaded.warnings = shown(warnings_);
    if (!problems_.empty()) loaded.named = std::move(named_);
    if (problems_.empty()) {
      introduce_states();
      loaded.recipe = std::move(recipe_);
    }
    return loaded;
  }

 private:
  static constexpr std::size_t kMostProblems = 200;

  // To each other.
  void introduce_states() {
    for (const State& state : recipe_->states_)
      if (state.params && !state.is_unusable) recipe_->parts_.push_back({state.type, state.params});
    for (State& state : recipe_->states_)
      state.recipe = recipe_->parts_;
    recipe_->followers_ = ControlReader::followers_of(recipe_->states_);
  }

  Document& document() { return *recipe_->sources_.front()->document; }
  // Of a source. Made when there is something to say about it.
  const LineIndex& lines(const Source& source) {
    const auto known = lines_.find(&source);
    return known != lines_.end() ? known->second : lines_.emplace(&source, *source.document).first->second;
  }

  // A problem before its offset has become a line and a column.
  struct Found {
    std::string message;
    std::string state_id;
    const Source* source;
    std::uint32_t offset;
    std::optional<Position> position = {};  // when it is known already
  };

  void add(std::vector<Found>& to, std::string message, std::uint32_t offset) {
    // Of those that nobody is shown, only the number counts.
    if (to.size() > kMostProblems)
      to.push_back({"", "", source_, offset});
    else
      to.push_back({std::move(message), std::string(state_id_), source_, offset});
  }
  void problem(std::string message, std::uint32_t offset) { add(problems_, std::move(message), offset); }

  std::vector<Problem> shown(const std::vector<Found>& found) {
    std::vector<Problem> problems;
    for (const Found& each : found) {
      if (problems.size() == kMostProblems) {
        problems.push_back({"and " + std::to_string(found.size() - kMostProblems) + " more", "", {}});
        break;
      }
      const Position position = each.position ? *each.position : lines(*each.source).locate(each.offset);
      problems.push_back({each.message, each.state_id, position, each.source->file});
    }
    return problems;
  }

  // In files that say "version: 2" an unknown key is a mistake; older recipes carry remarks of all kinds.
  void unknown_key(const Member& member, std::span<const std::string_view> known, std::string_view where) {
    if (member.key.starts_with('_')) return;
    std::string message = "Unknown key '" + std::string(member.key) + "' " + std::string(where) +
                          base::did_you_mean(member.key, known);
    add(version_ >= 2 ? problems_ : warnings_, std::move(message), member.offset);
    has_unknown_keys_ = true;
  }

  // Once: whoever reads the warnings should know why they are no more than that.
  void explain_unknown_keys() {
    if (!has_unknown_keys_ || version_ >= 2) return;
    add(warnings_,
        "unknown keys are ignored, because the recipe does not say 'version: 2' at its top; with it they are "
        "mistakes",
        document().root.offset());
  }

  void read_top(const Value& root) {
    static constexpr std::array<std::string_view, 10> kKnown{
        "recipe",         "version",   "states", "state", "module",
        "recipe_version", "component", "vars",   "files", ControlReader::kKeyOfRecipe};
    if (root.is_list()) {  // a bare list of states
      is_list_ = true;
      if (find_types(nullptr)) read_states(root);
      return;
    }
    if (!root.is_object()) {
      return problem(root.is_null() ? "the recipe is empty; it needs a list 'states'"
                                    : "a recipe is an object with a list 'states', not " +
                                          std::string(base::kind_name(root.kind())),
                     root.offset());
    }
    read_version(root);
    const std::span<const std::string_view> known = std::span(kKnown).first(version_ >= 2 ? 10 : 7);
    for (const Member& member : root.members())
      if (version_ >= 2 && member.key == ControlReader::kKeyOfRecipe)
        control_.read_default(member.value);
      else if (std::ranges::find(known, member.key) == known.end())
        unknown_key(member, known, "of the recipe");
    if (const Value* name = root.find("recipe"); name && !name->is_null()) {
      if (const auto text = name->as_line(document().arena))
        recipe_->name_ = *text;
      else
        problem("'recipe' must be a name", name->offset());
    }
    const Value* states = find_states(root);
    if (!states) return problem("the recipe has no list 'states'", root.offset());
    if (find_types(root.find("module"))) read_states(*states);
  }

  // The states' types, by what the recipe says of modules. Without them no state can be read.
  bool find_types(const Value* module) {
    const std::size_t problems_before = problems_.size();
    const auto source = module ? read_module_source(*module) : std::nullopt;
    if (problems_.size() > problems_before) return false;
    auto types = registry_of_(source);
    if (!types) {
      for (const std::string_view line : base::split(types.error().message(), '\n'))
        problem(std::string(line), module ? module->offset() : document().root.offset());
      return false;
    }
    recipe_->registry_ = std::move(*types);
    return true;
  }

  // Nothing, when it names nothing: version 1 may leave both empty.
  std::optional<ModuleSource> read_module_source(const Value& value) {
    static constexpr std::array<std::string_view, 3> kKnown{"repo", "tag", "commit"};
    constexpr std::size_t kLongest = 2048;
    if (states::is_absent(value)) return std::nullopt;
    if (!value.is_object()) {
      problem("'module' must be an object such as { repo: https://git.example.com/modules.git, tag: v1 }",
              value.offset());
      return std::nullopt;
    }
    ModuleSource source;
    for (const Member& member : value.members()) {
      std::string* field = member.key == "repo"     ? &source.repo
                           : member.key == "tag"    ? &source.tag
                           : member.key == "commit" ? &source.commit
                                                    : nullptr;
      if (!field) {
        unknown_key(member, kKnown, "of 'module'");
        continue;
      }
      if (states::is_absent(member.value)) continue;
      const auto text = member.value.as_line(document().arena);
      if (!text)
        problem("'" + std::string(member.key) + "' of 'module' must be a text", member.offset);
      else if (text->size() > kLongest)
        problem("'" + std::string(member.key) + "' of 'module' is longer than 2048 bytes", member.offset);
      else
        *field = *text;
    }
    if (source == ModuleSource()) return std::nullopt;
    if (source.repo.empty() || source.tag.empty())
      problem("'module' needs a 'repo' and a 'tag'", value.offset());
    return source;
  }

  void read_version(const Value& root) {
    version_ = recipe_version(root);
    if (version_ != 0) return;
    problem("'version' must be 1 or 2", root.find("version")->offset());
    version_ = 1;
  }

  void read_states(const Value& states) {
    const bool nothing = states.is_null() || (states.kind() == Value::Kind::plain && states.text().empty());
    if (!states.is_list() && !nothing) return problem("'states' must be a list", states.offset());
    recipe_->states_.reserve(states.items().size());
    if (needs_rendering(states)) {
      render(states);
    } else {
      for (const Value& state : states.items())
        read_state({.value = state, .source = source_});
    }
    warn_of_lookalikes();
  }

  // Whether anything in the recipe is more than a list of states as version 1 has it.
  bool needs_rendering(const Value& states) {
    if (version_ < 2) return false;
    const Value& root = document().root;
    if (root.find("vars") || root.find("files")) return true;
    const bool has_expressions = has_expression(document().text);
    return !std::ranges::all_of(states.items(),
                                [&](const Value& entry) { return is_ordinary(entry, has_expressions); });
  }

  void render(const Value& states) {
    recipe_->is_rendered_ = true;
    Rendering rendering(inputs_, *source_, document().arena, *recipe_->registry_,
                        [this](std::string message, const Source& source, Position position) {
                          problems_.push_back({std::move(message), "", &source, 0, position});
                        });
    secrets_ = &rendering.secrets();
    if (rendering.read_variables(document().root))
      rendering.read_states(states, [this](const RenderedState& state) { read_state(state); });
    secrets_ = nullptr;
    explained_ = rendering.take_explained();
    recipe_->secrets_ = rendering.take_secrets();
    for (auto& source : rendering.take_sources())
      recipe_->sources_.push_back(std::move(source));
  }

  // What was meant as an expression or a template, and is none.
  void warn_of_lookalikes() {
    const std::string& text = document().text;
    if (version_ < 2 && !recipe_->is_rendered_ && has_expression(text))
      add(warnings_, "'${{ … }}' is plain text here, because the recipe does not say 'version: 2' at its top",
          document().root.offset());
    if (recipe_->is_rendered_ || text.find("{{") == std::string::npos) return;
    for (const State& state : recipe_->states_) {
      const Value* content = state.parameter.find("content");
      if (!content || !looks_like_template(content->text())) continue;
      state_id_ = state.id;
      add(warnings_,
          "'content' is written as it stands, with its '{{ … }}'; templates are written under 'template', in "
          "a "
          "recipe that says 'version: 2' at its top",
          content->offset());
    }
    state_id_ = {};
  }

  void read_state(const RenderedState& rendered) {
    const Source* const before = std::exchange(source_, rendered.source);
    state_id_ = {};
    read_state(rendered.value, rendered);
    state_id_ = {};
    source_ = before;
  }

  void read_state(const Value& value, const RenderedState& rendered) {
    static constexpr std::array<std::string_view, 9> kKnown{
        "id", "stateid", "state_id", "module", "parameter", "timeout", "retries", "when", "sensitive"};
    static const std::vector<std::string_view> kKnownIn2 = ControlReader::with_keys(kKnown);
    if (!value.is_object()) return problem("a state must be an object", value.offset());
    State state;
    is_id_unknown_ = rendered.has_unknown_id;
    state.has_known_id = !is_id_unknown_;
    state.id = read_id(value);
    state_id_ = state.id;
    state.key = key_;
    control_.begin_state(state.id, rendered.continues, rendered.part);
    const std::size_t problems_before = problems_.size();
    for (const Member& member : value.members()) {
      const std::string_view key = member.key;
      if (key == "parameter")
        state.parameter = member.value;
      else if (key == "timeout")
        read_timeout(member.value, state);
      else if (key == "retries")
        read_retries(member.value, state);
      else if (key == "when")
        read_when(member.value, state);
      else if (key == "sensitive")
        read_sensitive(member.value, state);
      else if (version_ >= 2 && ControlReader::is_key(key))
        control_.read(member, document().arena);
      else if (std::ranges::find(kKnown, key) == kKnown.end())
        unknown_key(member, version_ >= 2 ? std::span<const std::string_view>(kKnownIn2) : kKnown,
                    "of a state");
    }
    read_module(value, state, rendered);
    state.sensitive = state.sensitive || !rendered.secret_params.empty();
    if (problems_.size() > problems_before && is_tolerant() && !state.id.empty())
      keep_unusable(value, state, problems_before);
    if (problems_.size() == problems_before) recipe_->states_.push_back(state);
  }

  // Recipes of version 1 never were checked before they ran, and there is nobody at the other end who could
  // be told: mistakes show when it is their turn.
  bool is_tolerant() const { return inputs_.compat_v1 && version_ < 2; }

  // Its problems become warnings, and what it says when its turn comes. Without a module it is no state.
  void keep_unusable(const Value& value, State& state, std::size_t problems_before) {
    const Value* module = value.find("module");
    const auto name = module ? module->as_line(document().arena) : std::nullopt;
    if (!name || name->empty()) return;
    const auto first = problems_.begin() + static_cast<std::ptrdiff_t>(problems_before);
    std::string why;
    for (auto each = first; each != problems_.end(); ++each) {
      why += (why.empty() ? "" : "; ") + each->message;
      warnings_.push_back(std::move(*each));
    }
    problems_.erase(first, problems_.end());
    const states::RegistryEntry* entry = recipe_->registry_->find(*name);
    const auto& type = recipe_->unusable_.emplace_back(std::make_unique<UnusableState>(
        entry ? entry->type->name() : *name, entry ? entry->type : nullptr, std::move(why)));
    state.type = type.get();
    state.params = &type->no_params();
    state.is_unusable = true;
    state.written = value;
    state.is_off = false;
    state.timeout.reset();
    state.retries = 0;
    state.when.reset();
  }

  std::string_view read_id(const Value& value) {
    constexpr std::size_t kLongest = 256;
    key_ = {};
    const Value* given = value.find("id");
    if (!given) given = value.find("stateid");
    if (!given) given = value.find("state_id");
    const auto id = given ? given->as_line(document().arena) : std::nullopt;
    if (!id || id->empty()) {
      problem("a state needs an 'id'", value.offset());
      return {};
    }
    const bool printable = std::ranges::none_of(*id, [](unsigned char c) { return c < 0x20 || c == 0x7f; });
    if (id->size() > kLongest || !printable) {
      problem("an 'id' must be printable and at most 256 bytes long", given->offset());
      return {};
    }
    key_ = *id;
    if (is_id_unknown_) return *id;
    const auto [earlier, is_new] = ids_.emplace(*id, IdPlace{source_, given->offset()});
    if (is_new) named_.emplace_back(*id);
    if (!is_new) complain_of_id(*id, earlier->second, given->offset());
    key_ = is_tolerant() ? own_key(*id) : *id;
    return *id;
  }

  // "web", "web (2)": by the state's place among those of its id.
  std::string_view own_key(std::string_view id) {
    std::string_view key = id;
    while (!keys_.insert(key).second)
      key = document().arena.copy(std::string(id) + " (" + std::to_string(++used_[id] + 1) + ")");
    return key;
  }

  // Where an id was used first.
  struct IdPlace {
    const Source* source;
    std::uint32_t offset;
  };

  void complain_of_id(std::string_view id, const IdPlace& first, std::uint32_t offset) {
    std::string message = "the id '" + std::string(id) + "' is used twice; first in line " +
                          std::to_string(lines(*first.source).locate(first.offset).line);
    if (!first.source->file.empty()) message += " of " + first.source->file;
    if (first.source == source_ && first.offset == offset)
      message += "; what 'each' makes needs an id with something of the item in it, such as ${{ item.name }}";
    has_equal_ids_ = true;
    add(is_tolerant() ? warnings_ : problems_, std::move(message), offset);
  }

  void read_module(const Value& value, State& state, const RenderedState& rendered) {
    const Value* module = value.find("module");
    const auto name = module ? module->as_line(document().arena) : std::nullopt;
    const states::Registry& registry = *recipe_->registry_;
    if (!name || name->empty()) {
      const bool is_short = std::ranges::any_of(
          value.members(), [&](const Member& member) { return registry.find(member.key) != nullptr; });
      return problem(std::string("a state needs a 'module'") +
                         (is_short ? "; the module as a key needs 'version: 2' at the recipe's top" : ""),
                     value.offset());
    }
    const states::RegistryEntry* entry = registry.find(*name);
    if (!entry) {
      std::string message = "Unsupported module '" + std::string(*name) + "'";
      if (const auto close = registry.nearest(*name))
        message += "; did you mean '" + std::string(*close) + "'?";
      return problem(std::move(message), module->offset());
    }
    state.type = entry->type;
    state.is_off = rendered.is_off;
    if (state.is_off) return;
    std::vector<states::ParamProblem> wrong;
    // A missing 'parameter' has no place of its own: the state's stands for it.
    const Value parameter = state.parameter.is_null() ? Value().at(value.offset()) : state.parameter;
    if (rendered.unknown_params.empty()) {
      std::vector<states::ParamProblem> ignored;
      state.params =
          entry->type->read_params(parameter, document().arena, wrong, is_tolerant() ? &ignored : nullptr);
      for (states::ParamProblem& each : ignored)
        add(warnings_, std::move(each.message) + ": it is passed over", each.offset);
    } else {
      // What is known is checked one by one; that a parameter is missing which is not known is no problem.
      entry->type->read_values(parameter, document().arena, wrong);
      std::erase_if(wrong, [&](const states::ParamProblem& each) {
        return is_missing_unknown(*entry->type, each.message, rendered.unknown_params);
      });
    }
    for (states::ParamProblem& each : wrong)
      problem(without_secrets(std::move(each), rendered), each.offset);
  }

  // Why a parameter is wrong may say what is in it.
  std::string without_secrets(states::ParamProblem wrong, const RenderedState& rendered) const {
    if (rendered.secret_params.empty()) return std::move(wrong.message);
    for (const Member& param : rendered.secret_params)
      if (param.value.offset() == wrong.offset)
        return "'" + std::string(param.key) + "' is made of a secret, and is not what this parameter must be";
    const bool tells = std::ranges::any_of(*secrets_, [&](const std::string& secret) {
      return wrong.message.find(secret) != std::string::npos;
    });
    return tells ? "the parameters do not fit together; what exactly is wrong is not shown, because a secret "
                   "is in it"
                 : std::move(wrong.message);
  }

  static bool is_missing_unknown(const states::StateType& type, std::string_view message,
                                 std::span<const std::string_view> unknown) {
    for (const states::Param& param : type.schema())
      if (message == "Missing parameter '" + std::string(param.name) + "'")
        return std::ranges::any_of(unknown, [&](std::string_view name) { return param.is_called(name); });
    return false;
  }

  void read_timeout(const Value& value, State& state) {
    constexpr std::int64_t kLongest = 30LL * 24 * 3600;
    const auto seconds = value.as_integer();
    if (!seconds || *seconds <= 0 || *seconds > kLongest)
      return problem("'timeout' must be a number of seconds from 1 to 2592000", value.offset());
    state.timeout = std::chrono::seconds(*seconds);
  }

  void read_retries(const Value& value, State& state) {
    constexpr std::int64_t kMost = 100;
    const auto count = value.as_integer();
    if (!count || *count < 0 || *count > kMost)
      return problem("'retries' must be a number from 0 to 100", value.offset());
    state.retries = static_cast<unsigned>(*count);
  }

  void read_sensitive(const Value& value, State& state) {
    const auto given = value.as_bool();
    if (!given) return problem("'sensitive' must be true or false", value.offset());
    state.sensitive = *given;
  }

  void read_when(const Value& value, State& state) {
    static constexpr std::array<std::string_view, 3> kKnown{"path_exists", "path_absent", "os"};
    if (value.is_null()) return;
    if (!value.is_object())
      return problem("'when' must be an object such as { path_exists: /etc/nginx }", value.offset());
    When when;
    for (const Member& member : value.members()) {
      const bool is_from_wire =
          is_list_ || (inputs_.is_composed && source_ == recipe_->sources_.front().get());
      if (is_from_wire && member.key == ControlReader::kOnTheWire) {
        has_control_ = true;
        control_.read_wire(member.value, document().arena);
        if (value.members().size() == 1) return;
        continue;
      }
      states::List* field = member.key == "path_exists"   ? &when.path_exists
                            : member.key == "path_absent" ? &when.path_absent
                            : member.key == "os"          ? &when.os
                                                          : nullptr;
      if (!field) {
        // Always an error: a condition that is not understood must not count as met.
        problem("Unknown condition '" + std::string(member.key) + "' in 'when'" +
                    base::did_you_mean(member.key, kKnown),
                member.offset);
        continue;
      }
      const states::Param param{.name = member.key, .wire = states::Wire::list, .is_required = true};
      auto read = states::read_field(*field, param, member.value, document().arena);
      if (!read) problem(read.error().message(), member.value.offset());
      if (read && field == &when.os) check_systems(when.os, member.value.offset());
    }
    for (const states::List& paths : {when.path_exists, when.path_absent})
      for (std::string_view path : paths)
        if (auto clean = base::clean_path(path); !clean) problem(clean.error().message(), value.offset());
    state.when = when;
  }

  // A state for a system that does not exist is skipped everywhere, and nobody notices. But a distribution
  // may call itself what it likes, so only what is a slip is refused.
  void check_systems(const states::List& names, std::uint32_t offset) {
    const auto known = base::known_os_names();
    for (const std::string_view name : names) {
      if (std::ranges::find(known, name) != known.end()) continue;
      const std::string close = base::did_you_mean(name, known);
      std::string message = "Unknown system '" + std::string(name) + "' in 'when'";
      if (!close.empty())
        problem(message + close, offset);
      else
        add(warnings_, message + ": the state is skipped unless ID in /etc/os-release says just that",
            offset);
    }
  }

  const RegistryOf& registry_of_;
  const Inputs& inputs_;
  std::shared_ptr<Recipe> recipe_;
  const Source* source_ = nullptr;  // of what is being read
  std::vector<Found> problems_;
  std::vector<Found> warnings_;
  std::vector<ExplainedVariable> explained_;
  const std::vector<std::string>* secrets_ = nullptr;  // that were read so far, while it is rendered
  std::map<const Source*, LineIndex> lines_;           // when there is something to complain about
  bool is_id_unknown_ = false;
  int version_ = 1;
  bool is_list_ = false;  // the wire's form: states, and nothing around them
  ControlReader control_;
  bool has_unknown_keys_ = false;
  std::string_view state_id_;
  std::unordered_map<std::string_view, IdPlace> ids_;
  // Of recipes of version 1.
  std::string_view key_;
  std::unordered_set<std::string_view> keys_;
  std::unordered_map<std::string_view, std::size_t> used_;
  std::vector<std::string> named_;
  bool has_equal_ids_ = false;
  bool has_control_ = false;
};

namespace {

// Somebody else's, who keeps it.
RegistryOf always(const states::Registry& registry) {
  return [&registry](const std::optional<ModuleSource>&) {
    return std::shared_ptr<const states::Registry>(std::shared_ptr<void>(), &registry);
  };
}

}  // namespace

Loaded load_text(std::string_view name, std::string text, const RegistryOf& registry_of,
                 const Inputs& inputs) {
  auto document = std::make_unique<Document>();
  document->syntax = guess_syntax(name, text);
  document->text = std::move(text);
  if (document->text.size() > kLargestRecipe)
    return {
        nullptr,
        {{"the recipe is larger than the limit of " + std::to_string(kLargestRecipe >> 20) + " MiB", "", {}}},
        {}};
  return Loader(std::move(document), registry_of, inputs).load();
}

Loaded load_text(std::string_view name, std::string text, const states::Registry& registry,
                 const Inputs& inputs) {
  return load_text(name, std::move(text), always(registry), inputs);
}

base::Result<std::string> read_recipe(const std::string& path) {
  return path == "-" ? base::read_all(STDIN_FILENO, kLargestRecipe, "standard input")
                     : base::read_file(path, kLargestRecipe);
}

Loaded load_file(const std::string& path, const states::Registry& registry) {
  auto text = read_recipe(path);
  if (!text) return {nullptr, {{text.error().message(), "", {}}}, {}};
  return load_text(path, std::move(*text), registry);
}

bool same_states(const Recipe& a, const Recipe& b) {
  const auto same_lists = [](states::List one, states::List other) { return std::ranges::equal(one, other); };
  const auto same_when = [&](const std::optional<When>& one, const std::optional<When>& other) {
    if (!one || !other) return one.has_value() == other.has_value();
    return same_lists(one->path_exists, other->path_exists) &&
           same_lists(one->path_absent, other->path_absent) && same_lists(one->os, other->os);
  };
  const auto same_control = [](const auto& one, const auto& other) {
    return one && other ? *one == *other : !one && !other;
  };
  return std::ranges::equal(a.states(), b.states(), [&](const State& one, const State& other) {
    return one.id == other.id && one.type->name() == other.type->name() && one.is_off == other.is_off &&
           one.timeout == other.timeout && one.retries == other.retries && one.sensitive == other.sensitive &&
           same_when(one.when, other.when) && same_control(one.control, other.control) &&
           base::to_json(one.parameter) == base::to_json(other.parameter);
  });
}

std::string describe(const Problem& problem, std::string_view file_name) {
  std::string text(problem.file.empty() ? file_name : problem.file);
  if (problem.position.line > 0)
    text += ":" + std::to_string(problem.position.line) + ":" + std::to_string(problem.position.column);
  text += ": ";
  if (!problem.state_id.empty()) text += "[" + problem.state_id + "] ";
  return text + problem.message;
}

}  // namespace recipe

// Rules about states: commands, services, paths, conditions.
#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "base/text.hpp"
#include "recipe/expressions.hpp"
#include "recipe/lint/written.hpp"
#include "templates/uses.hpp"

namespace recipe::lint {

namespace {

using base::Value;

bool any_key(const WrittenState& state, std::initializer_list<std::string_view> keys) {
  return std::ranges::any_of(keys, [&](std::string_view key) { return state.has(key); });
}
bool any_param(const WrittenState& state, std::initializer_list<std::string_view> names) {
  return std::ranges::any_of(names, [&](std::string_view name) { return state.param(name) != nullptr; });
}

// The text of a command, its lines joined; "" where any of it is computed.
std::string command_of(const WrittenState& state) {
  if (!state.is("linux.cmd")) return {};
  const Value* cmd = state.param("cmd");
  if (!cmd) return {};
  if (cmd->is_text()) return std::string(literal(cmd));
  std::vector<std::string> lines;
  for (const Value& line : literals(cmd))
    lines.emplace_back(line.text());
  return lines.size() == cmd->items().size() ? base::join(lines, "\n") : std::string();
}

}  // namespace

void look_for_unguarded_commands(const Written& file, Notes& notes) {
  if (file.version < 2) return;
  for (const WrittenState& state : file.states) {
    if (!state.is("linux.cmd") || any_key(state, {"once", "on_change_of"})) continue;
    if (any_param(state, {"creates", "removes", "unless", "only_if", "if-path-present", "if-path-absent",
                          "changed_when"}))
      continue;
    notes.add(&state, state.entry.offset(),
              "the command runs in every round, whether there is something to do or not");
  }
}

void look_for_piped_downloads(const Written& file, Notes& notes) {
  constexpr std::array<std::string_view, 6> kShells{"sh", "bash", "dash", "zsh", "python3", "perl"};
  for (const WrittenState& state : file.states) {
    const std::string command = command_of(state);
    bool fetches = false;
    for (const std::string_view line : base::split(command, '\n')) {
      fetches = false;
      for (const std::string_view part : base::split(line, '|')) {
        std::vector<std::string_view> words = base::split_words(part);
        while (!words.empty() &&
               (words.front() == "sudo" || words.front() == "env" || words.front().starts_with('-') ||
                words.front().find('=') != std::string_view::npos))
          words.erase(words.begin());
        if (words.empty()) continue;
        const std::string_view program = words.front().substr(words.front().rfind('/') + 1);
        if (fetches && std::ranges::find(kShells, program) != kShells.end())
          notes.add(&state, state.param("cmd")->offset(), "what is downloaded is run as it comes");
        if (std::ranges::any_of(words,
                                [](std::string_view word) { return word == "curl" || word == "wget"; }))
          fetches = true;
      }
    }
  }
}

// Commands that end the round: the machine goes down, or they fail whatever happens.
void look_for_ends(const Written& file, Notes& notes) {
  constexpr std::array<std::string_view, 8> kEnds{"reboot",           "poweroff",          "halt",
                                                  "shutdown -r now",  "shutdown -h now",   "shutdown now",
                                                  "systemctl reboot", "systemctl poweroff"};
  constexpr std::array<std::string_view, 3> kFails{"false", "/bin/false", "exit 1"};
  if (file.states.empty()) return;
  for (const WrittenState& state : std::span(file.states).first(file.states.size() - 1)) {
    if (any_key(state, {"once", "on_change_of", "when", "each"})) continue;
    if (any_param(state, {"creates", "removes", "unless", "only_if", "if-path-present", "if-path-absent"}))
      continue;
    std::string command = command_of(state);
    std::string_view text = base::trim(command);
    for (const std::string_view prefix : {"/usr/sbin/", "/sbin/", "/usr/bin/", "/bin/"})
      if (text.starts_with(prefix) && text != "/bin/false") text.remove_prefix(prefix.size());
    const bool continues =
        is_true(state.entry.find("continue_on_failure")) || is_true(file.root.find("continue_on_failure"));
    if (std::ranges::find(kEnds, text) != kEnds.end())
      notes.add(&state, state.entry.offset(),
                "the machine goes down here, in every round, before the states behind it");
    else if (!continues && std::ranges::find(kFails, text) != kFails.end())
      notes.add(&state, state.entry.offset(), "the command always fails, and the states behind it never run");
  }
}

void look_for_latest_packages(const Written& file, Notes& notes) {
  for (const WrittenState& state : file.states) {
    if (!state.type || !state.type->name().ends_with(".package")) continue;
    const Value* names = state.param("name");
    if (!names) continue;
    const auto check = [&](const Value& value) {
      if (literal(&value) == "latest")
        notes.add(&state, value.offset(), "the package follows whatever is latest");
    };
    const auto check_members = [&](const Value& object) {
      for (const base::Member& member : object.members())
        check(member.value);
    };
    check_members(*names);
    for (const Value& item : names->items())
      check_members(item);
  }
}

void look_for_keys_of_version_2(const Written& file, Notes& notes) {
  if (file.version >= 2) return;
  constexpr std::array<std::string_view, 9> kKeys{
      "each",    "include", "on_change_of",        "restart_on", "reload_on",
      "require", "once",    "continue_on_failure", "vars"};
  for (const base::Member& member : file.root.members())
    if (member.key == "vars" || member.key == "continue_on_failure")
      notes.add(nullptr, member.offset,
                "'" + std::string(member.key) + "' means nothing in a recipe of version 1");
  for (const WrittenState& state : file.states) {
    for (const base::Member& member : state.entry.members())
      if (std::ranges::find(kKeys, member.key) != kKeys.end())
        notes.add(&state, member.offset,
                  "'" + std::string(member.key) + "' means nothing in a recipe of version 1");
    const auto look = [&](const auto& self, const Value& value) -> void {
      if (value.is_text() && has_expression(value.text()))
        notes.add(&state, value.offset(), "'${{ … }}' is plain text in a recipe of version 1");
      for (const Value& item : value.items())
        self(self, item);
      for (const base::Member& member : value.members())
        self(self, member.value);
    };
    look(look, state.params);
  }
}

namespace {

std::string service_name(std::string_view text) {
  if (text.ends_with(".service")) text.remove_suffix(8);
  return std::string(text);
}

// Whose settings a file has, by where it is: below /etc/NAME/, in /etc/NAME.conf, /etc/default/NAME, or in
// the unit or its folder. "": nobody's.
std::string service_of(std::string_view path) {
  if (!path.starts_with("/etc/")) return {};
  for (const std::string_view folder : {"/etc/systemd/system/", "/etc/default/"}) {
    if (!path.starts_with(folder)) continue;
    const std::string_view rest = path.substr(folder.size());
    return std::string(rest.substr(0, folder == "/etc/default/" ? rest.find('/') : rest.find(".service")));
  }
  const std::string_view rest = path.substr(5);
  const std::size_t slash = rest.find('/');
  if (slash != std::string_view::npos) return std::string(rest.substr(0, slash));
  return rest.ends_with(".conf") ? std::string(rest.substr(0, rest.size() - 5)) : std::string();
}

// The names of services: texts, keys of pairs.
std::vector<Value> services_of(const WrittenState& state) {
  const Value* given = state.is("linux.service") ? state.param("name") : nullptr;
  std::vector<Value> names = literals(given);
  if (given)
    for (const Value& item : given->items())
      if (const Value* key = item.find("key")) names.push_back(*key);
  return names;
}

}  // namespace

void look_for_services_left_alone(const Written& file, Notes& notes) {
  if (file.version < 2) return;
  std::set<std::string> noticing;  // services that some state restarts or reloads
  for (const WrittenState& state : file.states)
    if (state.param("watch") || any_key(state, {"restart_on", "reload_on", "on_change_of"}))
      for (const Value& name : services_of(state))
        noticing.insert(service_name(name.text()));
  std::map<std::string, std::string, std::less<>> written;  // by service, a path of an earlier state
  for (const WrittenState& state : file.states) {
    if (state.is("linux.file") && !is_true(state.param("absent")) &&
        any_param(state, {"content", "template", "template_file", "remote_uri"}))
      if (const std::string_view path = literal(state.param("path")); !path.empty())
        written.emplace(service_of(path), path);
    if (is_false(state.param("running"))) continue;
    for (const Value& value : services_of(state)) {
      const std::string name = service_name(value.text());
      const auto found = written.find(name);
      if (name.empty() || noticing.contains(name) || found == written.end()) continue;
      notes.add(&state, value.offset(),
                "'" + base::cut_text(found->second, 200) +
                    "' is written above, and the service does not restart for it");
      break;
    }
  }
}

void look_for_paths_written_twice(const Written& file, Notes& notes) {
  std::map<std::string, const WrittenState*, std::less<>> first;
  for (const WrittenState& state : file.states) {
    if (any_key(state, {"when", "each", "on_change_of", "once"})) continue;
    const Value* paths = state.is("linux.file") || state.is("linux.dir") ? state.param("path")
                         : state.is("linux.symlink")                     ? state.param("target")
                                                                         : nullptr;
    for (const Value& path : literals(paths)) {
      if (path.text().empty()) continue;
      const auto [earlier, is_new] = first.emplace(path.text(), &state);
      if (is_new || earlier->second == &state) continue;
      const std::string_view other = earlier->second->id;
      notes.add(&state, path.offset(),
                "another state of this file" + (other.empty() ? "" : ", '" + std::string(other) + "',") +
                    " is about the same path");
    }
  }
}

void look_for_constant_conditions(const Written& file, Notes& notes) {
  for (const WrittenState& state : file.states) {
    const Value* when = state.entry.find("when");
    if (!when) continue;
    if (when->is_object()) {
      if (when->members().empty())
        notes.add(&state, when->offset(), "the condition is empty: it always holds");
      std::set<std::string_view> wanted;
      for (const Value& there : literals(when->find("path_exists")))
        wanted.insert(there.text());
      if (std::ranges::any_of(literals(when->find("path_absent")),
                              [&](const Value& path) { return wanted.contains(path.text()); }))
        notes.add(&state, when->offset(), "a path is to exist and not to exist: the state never runs");
      continue;
    }
    if (file.version < 2 || !when->is_text()) continue;
    const auto pieces = parse_pieces(when->text());
    const auto* parsed = std::get_if<0>(&pieces);
    if (!parsed || parsed->size() != 1 || !parsed->front().expression) continue;
    const templates::Template& expression = *parsed->front().expression;
    const templates::Uses uses = templates::uses_of(expression);
    if (!uses.variables.empty() || !uses.secrets.empty() || uses.has_computed_secrets ||
        !expression.needed_names().empty())
      continue;
    constexpr templates::Limits kFew{.steps = 10'000, .memory = 1024 * 1024};
    const auto holds = templates::evaluate_condition(expression, templates::Variables(), kFew);
    if (const bool* answer = std::get_if<bool>(&holds))
      notes.add(&state, when->offset(),
                *answer ? "the condition always holds" : "the condition never holds: the state never runs");
  }
}

}  // namespace recipe::lint

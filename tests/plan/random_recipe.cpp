#include "tests/plan/random_recipe.hpp"

#include <unistd.h>

#include <functional>

#include "base/text.hpp"

namespace tests {

namespace {

// "name": value, …
class Object {
 public:
  void add(const std::string& name, const std::string& json) {
    text_ += (text_.empty() ? "\"" : ", \"") + name + "\": " + json;
  }
  void text(const std::string& name, const std::string& value) { add(name, quoted(value)); }
  std::string json() const { return "{" + text_ + "}"; }

  static std::string quoted(const std::string& value) {
    std::string quoted = "\"";
    for (const char c : value)
      quoted += c == '\n' ? std::string("\\n") : std::string(1, c);
    return quoted + "\"";
  }
  static std::string list(const std::vector<std::string>& values) {
    std::string text;
    for (const std::string& value : values)
      text += (text.empty() ? "" : ", ") + quoted(value);
    return "[" + text + "]";
  }

 private:
  std::string text_;
};

struct Module {
  unsigned weight;
  const char* name;
  Object (*parameter)(Dice& dice);
  bool below_root;
};

std::string account(Dice& dice) {
  return dice.one_of<std::string>(
      {"root", "root", "root", "root", "old", "old", "old", "new1", "new1", "new2", "61500", "61001", "pkg"});
}

// What a condition may ask for.
std::string looked_at(Dice& dice) {
  if (dice.percent(75)) return names::any(dice);
  if (dice.percent(40)) return dice.percent(50) ? names::file_elsewhere(dice) : names::folder_elsewhere(dice);
  return dice.one_of<std::string>({"/made/x", "/made/y", "/srv/t"});
}

// As people write paths, too.
std::string spelled(Dice& dice, std::string path) {
  if (dice.percent(2)) path += "/";
  if (dice.percent(2)) path.insert(path.rfind('/', path.size() - 2), "/");
  return path;
}

void add_owner(Object& object, Dice& dice, bool with_mode) {
  static const bool is_root = ::geteuid() == 0;  // others cannot give anything away
  if (is_root && dice.percent(25)) object.text("user", account(dice));
  if (is_root && dice.percent(15)) object.text("group", account(dice));
  if (with_mode && dice.percent(30)) object.text("mode", dice.one_of<std::string>({"0644", "0600", "0755"}));
}

Object file(Dice& dice) {
  Object object;
  object.text("path", spelled(dice, dice.percent(86)   ? names::file(dice)
                                    : dice.percent(50) ? names::any(dice)
                                                       : names::file_elsewhere(dice)));
  if (dice.percent(20)) {
    object.add("absent", "true");
    return object;
  }
  const bool has_content = dice.percent(85);
  if (has_content) object.text("content", dice.one_of(names::kContents));
  if (has_content && dice.percent(6)) object.add("validate", Object::list({"/bin/true", "%s"}));
  add_owner(object, dice, true);
  return object;
}

Object folder(Dice& dice) {
  Object object;
  std::vector<std::string> paths;
  for (std::size_t i = dice.percent(80) ? 1 : 2; i > 0; --i)
    paths.push_back(spelled(dice, dice.percent(88)   ? names::folder(dice)
                                  : dice.percent(60) ? names::any(dice)
                                                     : names::folder_elsewhere(dice)));
  object.add("path", Object::list(paths));
  if (dice.percent(30)) {
    object.add("absent", "true");
    return object;
  }
  add_owner(object, dice, true);
  if (dice.percent(20)) object.add("recursive", "true");
  return object;
}

Object link(Dice& dice) {
  Object object;
  object.text("target", spelled(dice, dice.percent(90)   ? names::link(dice)
                                      : dice.percent(70) ? names::any(dice)
                                                         : names::folder_elsewhere(dice)));
  if (dice.percent(20)) {
    object.add("absent", "true");
    return object;
  }
  object.text("source", dice.percent(10)   ? "../" + dice.one_of(names::kFolders)
                        : dice.percent(10) ? names::file(dice)
                        : dice.percent(70) ? names::folder(dice)
                                           : dice.one_of(names::kFolders));
  add_owner(object, dice, false);
  return object;
}

Object repository(Dice& dice) {
  Object object;
  object.text("name", dice.one_of<std::string>({"r1", "r2"}));
  object.text("content", dice.one_of<std::string>({"# one", "# two"}));
  return object;
}

Object timezone(Dice& dice) {
  Object object;
  object.text("name", dice.one_of<std::string>({"Europe/Berlin", "Etc/UTC"}));
  return object;
}

Object watcher(Dice& dice) {
  Object object;
  std::vector<std::string> paths;
  for (std::size_t i = 1 + dice.below(2); i > 0; --i)
    paths.push_back(dice.percent(84)   ? names::file(dice)
                    : dice.percent(60) ? names::any(dice)
                                       : names::file_elsewhere(dice));
  object.add("watch", Object::list(paths));
  return object;
}

Object comment(Dice&) {
  return {};
}

Object wait(Dice&) {
  Object object;
  object.add("state", Object::list({"other/state"}));
  return object;
}

Object command(Dice& dice) {
  Object object;
  // Of what other states manage a command makes nothing: no plan could know. For the same reason one that
  // makes something runs as root.
  const bool is_root = dice.percent(70);
  object.text("cmd", is_root ? dice.one_of<std::string>(
                                   {"true", "mkdir -p /made/x", "mkdir -p /made/y", "rm -rf /made/x"})
                             : "true");
  if (dice.percent(40))
    object.add(dice.percent(50) ? "if-path-present" : "if-path-absent",
               dice.percent(80) ? Object::list({looked_at(dice)})
                                : Object::list({looked_at(dice), looked_at(dice)}));
  if (dice.percent(20))
    object.text("cwd", dice.percent(80) ? names::folder(dice) : names::folder_elsewhere(dice));
  if (!is_root) object.text("user", account(dice));
  if (dice.percent(10)) object.text("group", account(dice));
  return object;
}

Object group(Dice& dice) {
  Object object;
  object.text("groupname", dice.one_of<std::string>({"old", "new1", "new2", "team"}));
  if (dice.percent(40)) object.text("gid", dice.one_of<std::string>({"61001", "61002", "61500"}));
  if (dice.percent(10)) object.add("system-group", "true");
  return object;
}

Object user(Dice& dice) {
  Object object;
  object.text("username", dice.one_of<std::string>({"old", "new1", "new1", "new2"}));
  if (dice.percent(80)) object.text("password", dice.percent(80) ? "" : "!");
  if (dice.percent(30)) object.text("uid", dice.one_of<std::string>({"61001", "61002", "61500"}));
  if (dice.percent(20)) object.text("gid", dice.one_of<std::string>({"team", "old", "61001", "new2"}));
  if (dice.percent(25))
    object.add("groups", dice.percent(10)
                             ? Object::list({})
                             : Object::list({dice.one_of<std::string>({"team", "old", "new2"})}));
  if (dice.percent(15))
    object.text("home", dice.percent(70) ? names::folder(dice) + "/home" : names::folder_elsewhere(dice));
  if (dice.percent(20)) object.text("shell", "/bin/sh");
  if (dice.percent(10)) object.text("fullname", dice.one_of<std::string>({"Some One", "Other"}));
  if (dice.percent(8)) object.add("no-login", "true");
  if (dice.percent(8)) object.add("system-account", "true");
  return object;
}

Object job(Dice& dice) {
  Object object;
  object.text("user", dice.one_of<std::string>({"root", "old", "new1", "new2"}));
  const std::vector<std::string> commands{"true", "/bin/true one", "/bin/true two"};
  object.add("cmd", dice.percent(80) ? Object::list({dice.one_of(commands)})
                                     : Object::list({dice.one_of(commands), dice.one_of(commands)}));
  if (dice.percent(50)) object.text("minute", dice.one_of<std::string>({"5", "10"}));
  if (dice.percent(10)) object.text("hour", "3");
  return object;
}

Object service(Dice& dice) {
  Object object;
  std::string listed;
  for (std::size_t i = dice.percent(80) ? 1 : 2; i > 0; --i) {
    const std::string& name = dice.one_of(names::kServices);
    // Whether a command leaves the service running, no plan could know: this one does.
    const std::string command = has_systemd() ? "systemctl restart " + name : ": >/run/" + name;
    listed +=
        (listed.empty() ? "" : ", ") + std::string("{\"key\": ") + Object::quoted(name) +
        ", \"value\": " + Object::quoted(dice.one_of<std::string>({"", "", "reload", "restart", command})) +
        "}";
  }
  object.add("name", "[" + listed + "]");
  const bool runs = dice.percent(80);
  if (!runs) object.add("running", "false");
  if (dice.percent(35))
    object.add("enabled", dice.percent(60) ? "true" : "false");
  else if (!runs && dice.percent(30))
    object.add("masked", "true");
  if (runs && dice.percent(50)) object.add("watch", Object::list({names::file(dice)}));
  return object;
}

// What the third service is.
Object definition(Dice& dice) {
  Object object;
  object.text("path", service_path(names::kServices[2]));
  if (dice.percent(20)) {
    object.add("absent", "true");
    return object;
  }
  object.text("content", service_text(names::kServices[2]) + (dice.percent(30) ? "# another\n" : ""));
  object.text("mode", "0755");
  return object;
}

Object package(Dice& dice) {
  Object object;
  object.add("name", "[{\"key\": " + Object::quoted(dice.one_of(names::kPackages)) + ", \"value\": " +
                         Object::quoted(dice.one_of<std::string>({"", "", "removed", "purged", "1"})) + "}]");
  return object;
}

constexpr Module kModules[] = {
    {30, "linux.file", file, true},         {18, "linux.dir", folder, true},
    {16, "linux.symlink", link, true},      {4, "linux.apt.repo", repository, true},
    {3, "common.timezone", timezone, true}, {14, "test.watcher", watcher, true},
    {1, "meta.comment", comment, true},     {1, "meta.wait", wait, true},
    {7, "linux.cmd", command, false},       {6, "linux.group", group, false},
    {8, "linux.user", user, false},         {5, "linux.cronjob", job, false},
};
constexpr Module kPackage{0, "linux.apt.package", package, false};
constexpr Module kService{0, "linux.service", service, false};
constexpr Module kDefinition{0, "linux.file", definition, false};
// They take a second each, where others take milliseconds.
constexpr unsigned kCasesWithPackages = 2;  // percent
constexpr unsigned kCasesWithServices = 3;

const Module& choose(Dice& dice, bool below_root, const RandomRecipe& recipe) {
  if (recipe.has_packages && dice.percent(25)) return kPackage;
  if (recipe.has_services && dice.percent(35)) return dice.percent(75) ? kService : kDefinition;
  std::size_t sum = 0;
  for (const Module& module : kModules)
    if (module.below_root || !below_root) sum += module.weight;
  std::size_t at = dice.below(sum);
  for (const Module& module : kModules) {
    if (below_root && !module.below_root) continue;
    if (at < module.weight) return module;
    at -= module.weight;
  }
  return kModules[0];
}

std::string condition(Dice& dice) {
  Object object;
  object.add(
      dice.percent(60) ? "path_exists" : "path_absent",
      dice.percent(85) ? Object::list({looked_at(dice)}) : Object::list({looked_at(dice), looked_at(dice)}));
  if (dice.percent(10)) object.add("os", Object::list({dice.percent(80) ? "debian" : "rhel"}));
  return object.json();
}

// ---- the language: the same parameters as people write them with variables, expressions and templates

void replace_some(std::string& text, const std::string& what, Dice& dice, unsigned percent,
                  const std::function<std::string()>& with) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos;) {
    if (!dice.percent(percent)) {
      at += what.size();
      continue;
    }
    const std::string put = with();
    text.replace(at, what.size(), put);
    at += put.size();
  }
}

// Parameters, as JSON, with expressions in them.
std::string with_expressions(std::string parameter, Dice& dice) {
  replace_some(parameter, std::string("\"") + names::kPlace + "/", dice, 60, [&] {
    return dice.one_of<std::string>({"\"${{ vars.place }}/", "\"${{ ['', 'srv', 't'] | join('/') }}/",
                                     "\"${{ vars.place | default('/none') }}/",
                                     "\"${{ '/srv' if vars.number >= 0 else 1 / 0 }}/t/"});
  });
  replace_some(parameter, "\"mode\": \"0644\"", dice, 50, [] { return "\"mode\": \"${{ vars.mode }}\""; });
  replace_some(parameter, "\"absent\": true", dice, 40,
               [] { return "\"absent\": \"${{ vars.number >= 0 }}\""; });
  for (const std::string& content : names::kContents) {
    const std::string word = content.substr(0, content.size() - 1);
    replace_some(parameter, "\"content\": " + Object::quoted(content), dice, 70, [&] {
      return dice.one_of<std::string>(
          {"\"content\": \"${{ vars.words." + word + " }}\\n\"",
           "\"content\": \"${{ vars.words[vars.names[vars.number]] }}\\n\"",
           "\"content\": \"${{ secret('" + word + "') }}\\n\"",
           "\"template\": \"{{ vars.words['" + word + "'] }}\\n\"",
           "\"template\": \"{% for name in vars.names if name == '" + word +
               "' %}{{ name }}\\n{% endfor %}\"",
           "\"template\": \"{% if facts.os.id == 'plan' and vars.number > 1 %}\\nlarge {{ vars.number }}\\n"
           "{% else %}\\n" +
               word + "\\n{% endif %}\"",
           "\"template\": \"{% macro line(x) %}{{ x }}\\n{% endmacro %}{{ line(secret('" + word +
               "') | upper) }}\"",
           "\"template_file\": \"line.j2\""});
    });
  }
  return parameter;
}

// A state for each item; `may_be_none`: nobody names it.
void add_each(Object& state, Dice& dice, const std::string& id, bool may_be_none) {
  Object parameter;
  const std::string folder = "${{ vars.place }}/" + dice.one_of(names::kFolders) + "/";
  const bool is_mapping = dice.percent(40);
  state.text("id", id + "-${{ " + (is_mapping ? "key" : "item.name") + " }}");
  state.add("each",
            is_mapping ? dice.one_of<std::string>({R"({"f1": "one", "f2": "two"})", "\"${{ vars.files }}\""})
            : may_be_none ? "\"${{ vars.list | selectattr('word', 'ne', 'two') | rejectattr('name', 'eq', "
                            "vars.names[vars.number]) | list }}\""
                          : dice.one_of<std::string>(
                                {"\"${{ vars.list }}\"", "\"${{ vars.list[:1 + vars.number % 2] }}\""}));
  parameter.text("path", folder + (is_mapping ? "${{ key }}" : "${{ item.name }}"));
  if (dice.percent(20))
    parameter.text("absent", is_mapping ? "${{ item == 'one' }}" : "${{ item.word == 'one' }}");
  else if (dice.percent(50))
    parameter.text("content", is_mapping ? "${{ item }}\n" : "${{ item.word }}\n");
  else
    parameter.text("template", is_mapping ? "{{ key }} {{ item }} {{ vars.number }}\n"
                                          : "{{ item.word }}{% if item.name == 'f1' %}!{% endif %}\n");
  state.add("linux.file", parameter.json());
  if (dice.percent(25))
    state.text("when", is_mapping ? "${{ key != vars.names[vars.number] }}"
                                  : "${{ item.word != 'two' or vars.flag }}");
}

std::string when_expression(Dice& dice) {
  return dice.one_of<std::string>({"${{ vars.number > 0 }}", "${{ vars.flag }}",
                                   "${{ facts.os.id == 'plan' and vars.number < 2 }}",
                                   "${{ vars.names[vars.number] in ['one', 'f1'] }}"});
}

constexpr const char* kFiles =
    R"("files": {"line.j2": "{% import 'macros.j2' as m %}{{ m.line(vars.names[vars.number]) }}", )"
    R"("macros.j2": "{% macro line(x) %}{{ x }}\n{% endmacro %}", )"
    R"("part.yaml": "vars: { word: x, number: 0, mode: '0644', place: /none }\nstates:\n)"
    R"(  - id: part-${{ vars.word }}\n    linux.file: { path: '${{ vars.place }}/d1/f1', content: '${{ vars.word }}\\n', mode: '${{ vars.mode }}' }\n)"
    R"(  - id: link-${{ vars.word }}\n    when: ${{ vars.number > 1 }}\n    linux.symlink: { target: '${{ vars.place }}/l1', source: d1 }\n"})";

std::string variables(Dice& dice) {
  Object variables;
  variables.text("place", names::kPlace);
  variables.add("number", std::to_string(dice.below(4)));
  variables.add("flag", dice.percent(50) ? "true" : "false");
  variables.text("mode", dice.one_of<std::string>({"0644", "0600"}));
  variables.add("names", R"(["one", "two", "three", "f1"])");
  variables.add("words", R"({"one": "one", "two": "${{ secret('two') }}", "three": "three", "f1": "four"})");
  variables.add("files", R"({"f1": "one", "f2": "${{ vars.words.three }}", "one": "f2"})");
  variables.add("list", R"([{"name": "f1", "word": "one"}, {"name": "f2", "word": "two"}])");
  return variables.json();
}

// What a state has to do with earlier ones. `is_many`: of each, whether `each` makes several of it.
void add_control(Object& state, Dice& dice, const std::vector<bool>& is_many, bool takes_orders,
                 bool has_language) {
  const std::size_t index = is_many.size();
  const auto names = [&] {
    std::vector<std::string> ids;
    for (std::size_t i = 1 + dice.below(2); i > 0; --i) {
      const std::size_t of = dice.below(index);
      ids.push_back("s" + std::to_string(of + 1) + (is_many[of] ? "-*" : ""));
    }
    return Object::list(ids);
  };
  if (index > 0 && dice.percent(12)) state.add("on_change_of", names());
  if (index > 0 && takes_orders && dice.percent(40)) state.add("restart_on", names());
  if (index > 0 && takes_orders && dice.percent(25)) state.add("reload_on", names());
  if (index > 0 && dice.percent(12)) state.add("require", names());
  if (dice.percent(8))
    state.text("once", has_language && dice.percent(50) ? "v${{ vars.number % 3 }}"
                                                        : dice.one_of<std::string>({"v1", "v2"}));
  if (dice.percent(8)) state.add("continue_on_failure", dice.percent(70) ? "true" : "false");
}

struct WatcherParams {
  states::Watch watch;
};
constexpr auto kWatcherParams = states::param_table(states::param<&WatcherParams::watch>("watch", ""));

class Watcher final : public states::State<WatcherParams> {
 public:
  constexpr Watcher()
      : State({.name = "test.watcher",
               .works_below_root = true,
               .watches_files = true,
               .takes_orders = states::TakesOrders::restart_and_reload},
              kWatcherParams) {}

 private:
  states::PlanWith<states::NoSteps> plan(const WatcherParams&, states::Context& context) const override {
    const bool is_ordered = context.orders && !context.orders->empty();
    if (!context.watch_triggered && !is_ordered) return states::Plan::kept("runs");
    return states::Plan{
        .verdict = states::Verdict::change,
        .message = "Restart",
        .changes = {{.what = "service", .after = "restarted: " + states::reasons_text(context)}}};
  }
  states::Applied apply(const WatcherParams&, const states::Plan&, const states::NoSteps&,
                        states::ApplyContext&) const override {
    return states::Applied::done("restarted");
  }
  states::WatchRequest watch(const WatcherParams& params) const override {
    return {.paths = params.watch.paths, .first_counts = true, .always = params.watch.always};
  }
  std::vector<states::Effect> touched(const WatcherParams&) const override { return {}; }
};

constexpr Watcher kWatcher;

class Words final : public recipe::SecretSource {
 public:
  base::Result<std::string> secret(std::string_view name) override { return std::string(name); }
};

}  // namespace

recipe::Inputs random_inputs(Dice& dice) {
  recipe::Inputs inputs{.facts = R"({"os": {"id": "plan"}})", .secrets = std::make_shared<Words>()};
  Object given;
  if (dice.percent(40)) given.add("number", std::to_string(dice.below(4)));
  if (dice.percent(20)) given.add("flag", dice.percent(50) ? "true" : "false");
  if (dice.percent(20)) given.add("words", R"({"one": "eleven"})");
  if (dice.percent(20)) given.add("files", R"({"f2": "other"})");
  inputs.vars = {{.origin = "--var", .values = given.json()}};
  return inputs;
}

const states::RegistryEntry kWatcherModule[1] = {{.type = &kWatcher}};

RandomRecipe random_recipe(Dice& dice, const RandomMachine& machine) {
  RandomRecipe recipe;
  recipe.has_packages = machine.has_packages() && dice.percent(kCasesWithPackages);
  recipe.has_services = machine.has_services() && dice.percent(recipe.has_packages ? 40 : kCasesWithServices);
  const std::size_t size = 2 + dice.below(9);
  const bool has_control = dice.percent(40);
  const bool goes_on = has_control && dice.percent(30);
  recipe.has_language = dice.percent(50);
  std::vector<bool> is_many;
  for (std::size_t index = 0; index < size; ++index) {
    const Module& module = choose(dice, !machine.is_running_system(), recipe);
    Object state;
    const std::string id = "s" + std::to_string(index + 1);
    state.text("id", id);
    if (module.parameter == wait) recipe.waits.push_back(id);
    const bool is_each = recipe.has_language && module.parameter == file && dice.percent(35);
    if (is_each) {
      state = {};
      add_each(state, dice, id, !has_control);
    } else if (recipe.has_language) {
      const std::string parameter = with_expressions(module.parameter(dice).json(), dice);
      if (dice.percent(50)) {
        state.text("module", module.name);
        state.add("parameter", parameter);
      } else {
        state.add(module.name, parameter);
      }
      if (dice.percent(20))
        state.text("when", when_expression(dice));
      else if (dice.percent(15))
        state.add("when", with_expressions(condition(dice), dice));
    } else {
      state.text("module", module.name);
      state.add("parameter", module.parameter(dice).json());
      if (dice.percent(15)) state.add("when", condition(dice));
    }
    if (dice.percent(3)) state.add("sensitive", "true");
    if (has_control)
      add_control(state, dice, is_many, module.parameter == watcher || module.parameter == service,
                  recipe.has_language);
    is_many.push_back(is_each);
    recipe.text += (index == 0 ? "  " : ",\n  ") + state.json();
    if (recipe.has_language && index == 0 && dice.percent(15))
      recipe.text += dice.one_of<std::string>(
          {R"(, {"include": "part.yaml", "vars": {"word": "two"}})",
           R"(, {"include": "part.yaml", "each": "${{ vars.names[:vars.number] }}", "vars": {"word": "${{ item }}"}})",
           R"(, {"include": "part.yaml", "when": "${{ vars.flag }}"})"});
  }
  std::string top = goes_on ? "\"continue_on_failure\": true, " : "";
  if (recipe.has_language) top += "\"vars\": " + variables(dice) + ",\n" + kFiles + ",\n";
  recipe.text = "{\"version\": 2, " + top + "\"states\": [\n" + recipe.text + "\n]}\n";
  return recipe;
}

}  // namespace tests

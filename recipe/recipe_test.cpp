#include "recipe/recipe.hpp"

#include <set>

#include <doctest/doctest.h>

#include "states/registry.hpp"

namespace {

const states::Registry& registry() {
  static const states::Registry known{states::native_states()};
  return known;
}

recipe::Loaded load(std::string_view name, std::string text) {
  return recipe::load_text(name, std::move(text), registry());
}

std::string all(const std::vector<recipe::Problem>& problems) {
  std::string text;
  for (const auto& problem : problems)
    text += recipe::describe(problem, "r") + "\n";
  return text;
}

}  // namespace

TEST_CASE("the same recipe loads from YAML and JSON") {
  const auto yaml = load("r.yaml", R"(recipe: web
states:
  - id: motd
    module: linux.file
    timeout: 60
    retries: 2
    when: { path_exists: /etc }
    sensitive: yes
    parameter: { path: /etc/motd, content: "hi", mode: 0644 }
)");
  REQUIRE(all(yaml.problems) == "");
  const auto json =
      load("r.json", R"({"recipe": "web", "state": [{"stateid": "motd", "module": "linux.file", "timeout": 60,
    "retries": 2, "when": {"path_exists": ["/etc"]}, "sensitive": true,
    "parameter": {"path": "/etc/motd", "content": "hi", "mode": "0644"}}]})");
  REQUIRE(all(json.problems) == "");
  for (const auto& loaded : {yaml, json}) {
    REQUIRE(loaded.recipe->states().size() == 1);
    const recipe::State& state = loaded.recipe->states()[0];
    CHECK(loaded.recipe->name() == "web");
    CHECK(state.id == "motd");
    CHECK(state.type->name() == "linux.file");
    CHECK(state.timeout == std::chrono::seconds(60));
    CHECK(state.retries == 2);
    CHECK(state.sensitive);
    CHECK(state.when->path_exists[0] == "/etc");
  }
}

TEST_CASE("the original's scenario file loads") {
  const auto loaded = load("r.json", R"({"component": {"init": {"state": [
    {"_": "a remark", "id": "a", "module": "linux.file", "parameter": {"path": "/a"}}]}}})");
  CHECK(all(loaded.problems) == "");
  CHECK(all(loaded.warnings) == "");
  CHECK(loaded.recipe->states().size() == 1);
}

TEST_CASE("an empty list is a recipe with nothing to do") {
  CHECK(load("r.yaml", "states: []").recipe);
  CHECK(load("r.yaml", "states:").recipe);
}

TEST_CASE(
    "a recipe of version 1 is taken as far as it can be: what is wrong with a state shows in its turn") {
  const std::string text = R"([
    {"id": "a", "module": "linux.file", "parameter": {"path": "/a", "colour": "red"}},
    {"id": "b", "module": "linux.fiel", "parameter": {}},
    {"id": "c", "module": "linux.file", "parameter": {"path": "/c", "mode": "999"}, "timeout": "soon"},
    {"id": "a", "module": "linux.dir", "parameter": {"path": ["/d"]}}])";
  const auto loaded = recipe::load_text("r.json", text, registry(), {.compat_v1 = true});
  REQUIRE_MESSAGE(loaded.recipe, all(loaded.problems));
  const auto& states = loaded.recipe->states();
  REQUIRE(states.size() == 4);
  CHECK(all(loaded.warnings).find("Unknown parameter 'colour'") != std::string::npos);
  CHECK(all(loaded.warnings).find("the id 'a' is used twice") != std::string::npos);
  CHECK_FALSE(states[0].is_unusable);
  CHECK(states[1].is_unusable);
  CHECK(states[1].type->name() == "linux.fiel");
  CHECK(states[2].is_unusable);
  CHECK(states[2].type->name() == "linux.file");
  CHECK_FALSE(states[3].is_unusable);
  CHECK(states[0].key == "a");
  CHECK(states[3].id == "a");
  CHECK(states[3].key == "a (2)");
  // Others look only at what can be used.
  CHECK(states[0].recipe.size() == 2);

  // Strictly, or in version 2, it is refused whole.
  CHECK_FALSE(recipe::load_text("r.json", text, registry()).recipe);
  CHECK_FALSE(recipe::load_text("r.json", R"({"version": 2, "states": )" + text + "}", registry(),
                                {.compat_v1 = true})
                  .recipe);
}

TEST_CASE(
    "a version 1 recipe is refused whole only when its states cannot be told; those that can are named") {
  const auto refused = [](const std::string& text) {
    auto loaded = recipe::load_text("r.json", text, registry(), {.compat_v1 = true});
    CHECK_FALSE(loaded.recipe);
    return loaded.named;
  };
  using Names = std::vector<std::string>;
  const std::string good = R"({"id": "a", "module": "linux.file", "parameter": {"path": "/a"}})";
  CHECK(refused("[" + good + R"(, {"id": "b"}])") == Names{"a", "b"});
  CHECK(refused("[" + good + R"(, {"module": "linux.file"}])") == Names{"a"});
  CHECK(refused("[" + good + ", 7]") == Names{"a"});
  CHECK(refused("7").empty());
}

TEST_CASE("keys of states with equal ids are their own, whatever other ids there are") {
  std::string text = "[";
  for (const char* id : {"a", "a (2)", "a", "a", "a (2)"})
    text += std::string(text.size() > 1 ? "," : "") + R"({"id": ")" + id +
            R"(", "module": "linux.file", "parameter": {"path": "/a"}})";
  const auto loaded = recipe::load_text("r.json", text + "]", registry(), {.compat_v1 = true});
  REQUIRE(loaded.recipe);
  std::set<std::string_view> keys;
  for (const recipe::State& state : loaded.recipe->states())
    CHECK(keys.insert(state.key).second);
  CHECK(loaded.recipe->states()[1].key == "a (2)");
}

TEST_CASE("all problems are listed at once, with line, column and the nearest name") {
  const auto loaded = load("r.yaml", R"(states:
  - id: a
    module: linux.fiel
  - id: a
    module: linux.file
    parameter:
      pth: /etc/motd
      mode: "999"
  - module: linux.file
    timeout: soon
)");
  CHECK_FALSE(loaded.recipe);
  CHECK(all(loaded.problems) ==
        "r:3:13: [a] Unsupported module 'linux.fiel'; did you mean 'linux.file'?\n"
        "r:4:9: the id 'a' is used twice; first in line 2\n"
        "r:8:13: [a] Illegal mode '999'\n"
        "r:7:7: [a] Unknown parameter 'pth' of linux.file; did you mean 'path'?\n"
        "r:7:7: [a] Missing parameter 'path'\n"
        "r:9:5: a state needs an 'id'\n"
        "r:10:14: 'timeout' must be a number of seconds from 1 to 2592000\n"
        "r:9:5: Missing parameter 'path'\n");
}

TEST_CASE("positions in JSON count characters, not bytes") {
  const auto loaded =
      load("r.json", "{\"recipe\": \"größe\", \"states\": [{\"id\": \"ü\", \"module\": \"x\"}]}");
  CHECK(all(loaded.problems) == "r:1:54: [ü] Unsupported module 'x'\n");
}

TEST_CASE("unknown keys are warnings, and errors in files of version 2") {
  const std::string text =
      "states:\n  - id: a\n    module: linux.file\n    parameter: {path: /a}\n    tiemout: 3\n";
  const auto old = load("r.yaml", text);
  CHECK(old.recipe);
  CHECK(all(old.warnings) ==
        "r:5:5: [a] Unknown key 'tiemout' of a state; did you mean 'timeout'?\n"
        "r:1:1: unknown keys are ignored, because the recipe does not say 'version: 2' at its top; with it "
        "they "
        "are mistakes\n");
  CHECK_FALSE(load("r.yaml", "version: 2\n" + text).recipe);
}

TEST_CASE("a condition that is not understood is always an error") {
  const auto loaded =
      load("r.yaml", "states: [{id: a, module: linux.file, when: {path_exist: /x}, parameter: {path: /a}}]");
  CHECK(all(loaded.problems) ==
        "r:1:45: [a] Unknown condition 'path_exist' in 'when'; did you mean 'path_exists'?\n");
}

TEST_CASE("a condition on a system that does not exist is an error when it is a slip, else a warning") {
  const auto with_os = [](const std::string& os) {
    return load("r.yaml",
                "states: [{id: a, module: linux.file, when: {os: " + os + "}, parameter: {path: /a}}]");
  };
  for (const char* os : {"debian", "ubuntu", "[rhel, rocky]", "openEuler", "devuan"}) {
    const auto loaded = with_os(os);
    CHECK(loaded.recipe);
    CHECK(all(loaded.warnings).empty());
  }
  CHECK(all(with_os("debain").problems) ==
        "r:1:49: [a] Unknown system 'debain' in 'when'; did you mean 'debian'?\n");
  CHECK(all(with_os("[ubuntu, Rhel]").problems) ==
        "r:1:49: [a] Unknown system 'Rhel' in 'when'; did you mean 'rhel'?\n");
  const auto own = with_os("acme-os");
  CHECK(own.recipe);
  CHECK(all(own.warnings) ==
        "r:1:49: [a] Unknown system 'acme-os' in 'when': the state is skipped unless ID in /etc/os-release "
        "says "
        "just that\n");
}

TEST_CASE("plain YAML scalars mean what the parameter wants") {
  const auto loaded = load("r.yaml", R"(states:
  - { id: 1, module: linux.file, parameter: { path: /a, user: 0, mode: 0644, absent: no, content: 007 } }
  - { id: no, module: linux.file, parameter: { path: /b, content: ~ } }
)");
  CHECK(all(loaded.problems) == "");
  CHECK(loaded.recipe->states()[0].id == "1");
  CHECK(loaded.recipe->states()[1].id == "no");
}

TEST_CASE("anchors and merge keys share parameters") {
  const auto loaded = load("r.yaml", R"(_defaults: &d { mode: "0600", user: root }
states:
  - { id: a, module: linux.file, parameter: { <<: *d, path: /a } }
  - { id: b, module: linux.file, parameter: { <<: [*d], path: /b, mode: "0644" } }
)");
  CHECK(all(loaded.problems) == "");
}

TEST_CASE("syntax errors say where") {
  CHECK(all(load("r.json", "{\"states\": [}").problems).starts_with("r:1:13: "));
  CHECK(all(load("r.yaml", "states: [a\n").problems).starts_with("r:"));
  CHECK(all(load("r.json", "{\"a\": 1, \"a\": 2}").problems) ==
        "r:1:10: the key 'a' stands twice in one object\n");
  CHECK(all(load("r.yaml", "a: 1\n---\nb: 2\n").problems) == "r:2:1: more than one YAML document\n");
}

TEST_CASE("nesting, size and encoding are bounded") {
  for (const char* name : {"r.json", "r.yaml"}) {
    const auto deep = load(name, std::string(100'000, '['));
    CHECK(all(deep.problems).find("nested deeper than 64 levels") != std::string::npos);
    const auto large = load(name, std::string(50'000'000, ' '));
    CHECK(all(large.problems) == "r: the recipe is larger than the limit of 32 MiB\n");
    const auto invalid = load(name, "{\"recipe\": \"\xff\xfe\"}");
    CHECK_FALSE(invalid.recipe);
  }
}

TEST_CASE("a YAML alias bomb costs nothing") {
  std::string text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 30; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int j = 0; j < 10; ++j)
      text += before + ", ";
    text += before + "]\n";
  }
  const auto loaded = load("r.yaml", text + "states: []\n");
  CHECK_FALSE(loaded.recipe);
  REQUIRE(loaded.problems.size() == 1);
  CHECK(loaded.problems[0].message.starts_with("the aliases stand for more than"));
}

TEST_CASE("many problems are shown up to a limit, and counted") {
  std::string text = "states:\n";
  for (int i = 0; i < 500; ++i)
    text += "  - {id: s" + std::to_string(i) + ", module: nope}\n";
  const auto loaded = load("r.yaml", text);
  CHECK(loaded.problems.size() == 201);
  CHECK(loaded.problems.back().message == "and 300 more");
}

TEST_CASE("a recipe says where its modules come from") {
  std::optional<recipe::ModuleSource> named;
  const auto read = [&](const std::string& module) {
    named.reset();
    const recipe::Loaded loaded =
        recipe::load_text("r.yaml", "module: " + module + "\nstates: []\n",
                          [&](const auto& source) -> base::Result<std::shared_ptr<const states::Registry>> {
                            named = source;
                            if (source && source->tag == "gone")
                              return base::Error(base::ErrorCode::not_found, "one\ntwo");
                            return std::make_shared<const states::Registry>(registry());
                          });
    return all(loaded.problems) + (loaded.recipe ? "fine" : "");
  };
  CHECK(read("{ repo: https://git/m, tag: v1 }") == "fine");
  CHECK(named == recipe::ModuleSource{"https://git/m", "v1", ""});
  CHECK(read("{ repo: https://git/m, tag: 1.5, commit: abc }") == "fine");
  CHECK(named == recipe::ModuleSource{"https://git/m", "1.5", "abc"});
  for (const char* none : {"", "~", "{}", "{ repo: '', tag: '' }"}) {
    CAPTURE(none);
    CHECK(read(none) == "fine");
    CHECK(!named);
  }
  CHECK(read("{ repo: x }") == "r:1:9: 'module' needs a 'repo' and a 'tag'\n");
  CHECK(read("{ repo: [x], tag: v1 }").starts_with("r:1:11: 'repo' of 'module' must be a text\n"));
  CHECK(read("v1").starts_with("r:1:9: 'module' must be an object"));
  CHECK(read("{ repo: x, tag: gone }") == "r:1:9: one\nr:1:9: two\n");
  // A recipe keeps its types, also when nobody else does.
  auto types = std::make_shared<const states::Registry>(registry());
  const std::weak_ptr<const states::Registry> watched = types;
  auto loaded =
      recipe::load_text("r", "states: []", [&](const auto&) { return std::exchange(types, nullptr); });
  CHECK(!watched.expired());
  loaded.recipe.reset();
  CHECK(watched.expired());
}

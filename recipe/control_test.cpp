#include "recipe/control.hpp"

#include <doctest/doctest.h>

#include "recipe/recipe.hpp"
#include "states/registry.hpp"

namespace {

const states::Registry& native_registry() {
  static const states::Registry known{states::native_states()};
  return known;
}

recipe::Loaded load_states(const std::string& states, const std::string& top = "version: 2\n",
                           std::string_view name = "r.yaml") {
  return recipe::load_text(name, top + "states:\n" + states, native_registry());
}

std::string file_state(const std::string& id, const std::string& more = "") {
  return "  - { id: " + id + ", module: linux.file, parameter: { path: /" + id + " }" +
         (more.empty() ? "" : ", " + more) + " }\n";
}

std::string texts_of(const std::vector<recipe::Problem>& problems) {
  std::string text;
  for (const auto& problem : problems)
    text += recipe::describe(problem, "r") + "\n";
  return text;
}

std::string problem_of(const std::string& states) {
  return texts_of(load_states(states).problems);
}

using Places = recipe::Control::Places;

}  // namespace

TEST_CASE("a state follows earlier ones by their ids and by patterns") {
  const auto loaded =
      load_states(file_state("vhost-a") + file_state("cert") + file_state("vhost-b") +
                  file_state("last", "on_change_of: [vhost-*, cert, vhost-a], require: cert, once: v1"));
  REQUIRE(texts_of(loaded.problems) == "");
  const auto& states = loaded.recipe->states();
  CHECK_FALSE(states[0].control);
  REQUIRE(states[3].control);
  CHECK(states[3].control->on_change_of == Places{0, 1, 2});
  CHECK(states[3].control->require == Places{1});
  CHECK(states[3].control->once == "v1");
  REQUIRE(loaded.recipe->followers(2).size() == 1);
  CHECK(loaded.recipe->followers(2)[0].place == 3);
  CHECK(loaded.recipe->followers(3).empty());
  CHECK_FALSE(loaded.recipe->continues_after_failures());
}

TEST_CASE("whoever names a state that nobody has is told the nearest one, with line and column") {
  CHECK(problem_of(file_state("vhost") + file_state("b", "on_change_of: [vhsot]")) ==
        "r:4:74: [b] 'on_change_of': no state of this recipe has the id 'vhsot'; did you mean 'vhost'?\n");
  CHECK(problem_of(file_state("vhost-a") + file_state("b", "require: [vhsot-*]"))
            .find("no state of this recipe has an id that 'vhsot-*' matches; did you mean 'vhost-*'?") !=
        std::string::npos);
}

TEST_CASE("only earlier states can be named, and the reason is said") {
  for (const std::string key : {"on_change_of", "require"}) {
    CHECK(
        problem_of(file_state("a", key + ": [b]") + file_state("b")).find("'b' comes later in the recipe") !=
        std::string::npos);
    CHECK(problem_of(file_state("a", key + ": [a]")).find("a state cannot name itself") != std::string::npos);
    CHECK(problem_of(file_state("b-1") + file_state("a", key + ": [b-*]") + file_state("b-2"))
              .find("'b-*' matches 'b-2', which comes later in the recipe") != std::string::npos);
  }
  // Its own id may begin as the others do.
  CHECK(problem_of(file_state("nginx-a") + file_state("nginx-reload", "on_change_of: [nginx-*]")) == "");
}

TEST_CASE("services are restarted and reloaded, and nothing else is") {
  const std::string service = "  - { id: s, module: linux.service, parameter: { name: [cron] }";
  CHECK(problem_of(file_state("a") + service + ", restart_on: [a], reload_on: a }\n") == "");
  CHECK(problem_of(file_state("a") + file_state("b", "restart_on: [a]"))
            .find("'restart_on' is for services, and linux.file has none") != std::string::npos);
  CHECK(problem_of(file_state("a") + "  - { id: s, module: linux.supervisord, parameter: { config: /c, name: "
                                     "[x] }, restart_on: [a], reload_on: [a] }\n")
            .find("linux.supervisord cannot reload; use 'restart_on'") != std::string::npos);
}

TEST_CASE("what is not a list of ids, a key or a yes or no is a problem") {
  for (const std::string wrong : {"on_change_of: []", "on_change_of: { a: b }", "require: [[a]]", "once: ''",
                                  "once: [a]", "continue_on_failure: perhaps", "require: ['']"})
    CHECK_MESSAGE(problem_of(file_state("a") + file_state("b", wrong)) != "", wrong);
  CHECK(problem_of(file_state("a", "once: '" + std::string(257, 'x') + "'")) != "");
  CHECK(problem_of(file_state("a", "on_chnage_of: [b]")).find("did you mean 'on_change_of'?") !=
        std::string::npos);
}

TEST_CASE("what the recipe says of failures holds for states that do not say their own") {
  const auto loaded = load_states(file_state("a") + file_state("b", "continue_on_failure: false"),
                                  "version: 2\ncontinue_on_failure: true\n");
  REQUIRE(texts_of(loaded.problems) == "");
  CHECK(loaded.recipe->states()[0].control->continues);
  const auto& other = loaded.recipe->states()[1].control;
  CHECK_FALSE((other && other->continues));
  CHECK(loaded.recipe->continues_after_failures());
}

TEST_CASE("recipes of version 1 pass over these keys, with a warning, as they always did") {
  const auto loaded = load_states(file_state("a", "on_change_of: [nobody], once: x"), "");
  REQUIRE(loaded.recipe);
  CHECK_FALSE(loaded.recipe->states()[0].control);
  CHECK(texts_of(loaded.warnings).find("Unknown key 'on_change_of'") != std::string::npos);
  const auto top = load_states(file_state("a"), "continue_on_failure: true\n");
  REQUIRE(top.recipe);
  CHECK_FALSE(top.recipe->continues_after_failures());
}

TEST_CASE("the wire has them as a condition, and what is not known there is refused") {
  const std::string a = R"({"id":"a*","module":"linux.file","parameter":{"path":"/a"}},)";
  const std::string ab = R"({"id":"ab","module":"linux.file","parameter":{"path":"/ab"}},)";
  const auto wire = [](const std::string& states, const std::string& control) {
    return recipe::load_text("w.json",
                             "[" + states + R"({"id":"b","module":"linux.file","parameter":{"path":"/b"},)" +
                                 R"("when":{"control":)" + control + "}}]",
                             native_registry());
  };
  const auto loaded =
      wire(a + ab, R"({"on_change_of":["a*"],"once":"k","require":["ab"],"continue_on_failure":true})");
  REQUIRE(texts_of(loaded.problems) == "");
  const auto& control = loaded.recipe->states()[2].control;
  REQUIRE(control);
  CHECK(control->on_change_of == Places{0});  // an id that looks like a pattern is an id first
  CHECK(control->require == Places{1});
  CHECK(control->once == "k");
  CHECK(control->continues);
  CHECK(texts_of(wire("", R"({"skip":true})").problems).find("Unknown key 'skip' in 'control'") !=
        std::string::npos);
  CHECK(texts_of(wire("", "7").problems).find("'control' must be an object") != std::string::npos);
}

TEST_CASE("attack: a recipe that names everything from everywhere is refused soon") {
  std::string many;
  for (int i = 0; i < 2'000; ++i)
    many += "- { id: s" + std::to_string(i) +
            ", module: linux.file, parameter: { path: /a }, on_change_of: ['s*'] }\n";
  const auto loaded = recipe::load_text("r.yaml", "version: 2\nstates:\n" + many, native_registry());
  CHECK_FALSE(loaded.recipe);
  std::string backwards;
  for (int i = 0; i < 1'000; ++i) {
    backwards += "- { id: s" + std::to_string(i) + ", module: linux.file, parameter: { path: /a }";
    backwards += i == 0 ? " }\n" : ", on_change_of: [";
    for (int j = 0; j < i; ++j)
      backwards += "s" + std::to_string(j) + (j + 1 < i ? "," : "] }\n");
  }
  CHECK(texts_of(recipe::load_text("r.yaml", "version: 2\nstates:\n" + backwards, native_registry()).problems)
            .find("name more than 100000 states") != std::string::npos);
  const std::string stars(256, '*');
  CHECK_FALSE(load_states(file_state("a") + file_state("b", "on_change_of: ['" + stars + "x']")).recipe);
}

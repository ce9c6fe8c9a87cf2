// Recipes that are small and ask for much: of time, or of memory. A backend reads what any operator sends.
#include <ctime>
#include <functional>
#include <map>

#include <doctest/doctest.h>

#include "recipe/document.hpp"
#include "recipe/inputs.hpp"
#include "recipe/recipe.hpp"
#include "states/registry.hpp"

namespace {

// Seconds of the processor: far more than any of these takes, and far less than they took before there were
// limits.
constexpr double kSoon = 10;

double seconds_since(std::clock_t begun) {
  return static_cast<double>(std::clock() - begun) / CLOCKS_PER_SEC;
}

const states::Registry& native_types() {
  static const states::Registry known{states::native_states()};
  return known;
}

recipe::Loaded check(const std::string& text) {
  recipe::Inputs inputs;
  inputs.is_check = true;
  const std::clock_t begun = std::clock();
  recipe::Loaded loaded = recipe::load_text("r.yaml", "version: 2\n" + text, native_types(), inputs);
  CHECK(seconds_since(begun) < kSoon);
  return loaded;
}

std::string first_problem(const recipe::Loaded& loaded) {
  return loaded.problems.empty() ? "" : loaded.problems.front().message;
}

std::string command(const std::string& id, const std::string& text, const std::string& more = "") {
  return "  - { id: " + id + ", module: linux.cmd, parameter: { cmd: \"" + text + "\" }" + more + " }\n";
}

std::string repeated(std::size_t times, const std::function<std::string(std::size_t)>& make) {
  std::string text;
  for (std::size_t i = 0; i < times; ++i)
    text += make(i);
  return text;
}

std::string number(std::size_t i) {
  return std::to_string(i);
}

}  // namespace

TEST_CASE("aliases that stand for aliases cannot make a document of a few lines endless") {
  std::string text = "vars:\n  a0: &a0 { x: 1 }\n";
  for (std::size_t i = 1; i < 12; ++i)
    text += "  a" + number(i) + ": &a" + number(i) + " { " +
            repeated(10, [&](std::size_t j) { return "k" + number(j) + ": *a" + number(i - 1) + ", "; }) +
            "}\n";
  const auto loaded = check(text + "states:\n" + command("a", "${{ vars.a11 | length }}"));
  CHECK(first_problem(loaded) == "the aliases stand for more than 64 MiB together");
  // Of a text as of a list.
  const std::string large(100'000, 'x');
  CHECK(first_problem(check("vars:\n  a: &a " + large + "\n  b: [" +
                            repeated(1000, [](std::size_t) { return "*a, "; }) + "]\nstates: []\n")) ==
        "the aliases stand for more than 64 MiB together");
  CHECK(first_problem(check("vars:\n  a: &a " + large + "\n  b: [*a, *a]\nstates: []\n")).empty());
}

TEST_CASE("many variables that are only written down cost no more than their text") {
  const auto loaded =
      check("vars:\n" +
            repeated(20'000, [](std::size_t i) { return "  a" + number(i) + ": " + number(i) + "\n"; }) +
            "states:\n" + command("a", "${{ vars.a0 }}"));
  CHECK(first_problem(loaded).empty());
  REQUIRE(loaded.recipe);
  CHECK(loaded.recipe->states()[0].parameter.find("cmd")->text() == "0");
}

TEST_CASE("variables that are made of others have a limit, which a recipe that people write does not meet") {
  const auto chain = [](std::size_t count) {
    return "vars:\n  a0: x\n" +
           repeated(count,
                    [](std::size_t i) {
                      return "  a" + number(i + 1) + ": \"${{ vars.a" + number(i) + " }}\"\n";
                    }) +
           "states:\n" + command("a", "${{ vars.a" + number(count) + " }}");
  };
  const auto loaded = check(chain(500));
  CHECK(first_problem(loaded).empty());
  REQUIRE(loaded.recipe);
  CHECK(loaded.recipe->states()[0].parameter.find("cmd")->text() == "x");
  CHECK(first_problem(check(chain(5'000))).starts_with("too many variables are computed from others"));
}

TEST_CASE("many mistakes are told as far as anybody reads") {
  const auto loaded = check("states:\n" + repeated(50'000, [](std::size_t i) {
                              return command("a" + number(i), "${{ vars.b" + number(i) + " }}");
                            }));
  CHECK(first_problem(loaded).starts_with("there is no variable 'b0'"));
  REQUIRE(loaded.problems.size() == 201);
  CHECK(loaded.problems[199].position.line == 202);
  CHECK(loaded.problems[200].message == "and 49800 more");
}

TEST_CASE("what cannot be computed has taken its time all the same") {
  // Each is refused, and none of them is small.
  const std::string large = "${{ range(90000) | list | sort | sum | int | list }}";
  const auto sorted =
      check("states:\n" + repeated(100'000, [&](std::size_t i) { return command("a" + number(i), large); }));
  CHECK_FALSE(sorted.recipe);
  const auto when =
      check("states:\n" + repeated(100'000, [](std::size_t i) {
              return command("a" + number(i), "true", ", when: \"${{ range(90000) | sort | length > 1 }}\"");
            }));
  CHECK(
      first_problem(when).starts_with("all expressions and templates of the recipe together take more than"));
}

TEST_CASE("a text that would be too large is not made before it is refused") {
  const auto loaded =
      check("vars: { x: 1 }\nstates:\n" + repeated(20, [](std::size_t i) {
              return command("a" + number(i), "${{ ('a' * 1000000) | replace('a', 'b' * 1000) | length }}");
            }));
  CHECK(first_problem(loaded).find("makes a text of more than 16 MiB") != std::string::npos);
}

TEST_CASE("the expressions of a text and of a state are kept together, so there are not too many") {
  const std::string many = repeated(20'001, [](std::size_t) { return "${{1}}"; });
  CHECK(first_problem(check("states:\n" + command("a", many))).find("more than 20000 expressions") !=
        std::string::npos);
  const std::string some = repeated(15'000, [](std::size_t) { return "${{1}}"; });
  CHECK(first_problem(check("states:\n  - { id: a, module: linux.cmd, parameter: { cmd: \"" + some +
                            "\", cwd: \"" + some + "\" } }\n"))
            .find("more than 20000 expressions") != std::string::npos);
}

TEST_CASE("variables that are too large for expressions end the recipe and not the program") {
  const std::string large = "${{ 'x' * 10000000 }}";
  const auto computed = [&](const std::string& more) {
    return first_problem(check("vars:\n  a: \"" + large + more + "\"\n" +
                               repeated(400,
                                        [](std::size_t i) {
                                          return "  b" + number(i) + ": \"${{ " + number(i) +
                                                 " + (vars.a | length) }}\"\n";
                                        }) +
                               "states:\n" + command("a", "${{ vars.b1 }}")));
  };
  // Each that reads the large one has a copy of all before it.
  CHECK(computed("").find("needs more than 256 MiB of memory") != std::string::npos);
  // Two such texts together are longer than what an expression may read.
  CHECK(computed(large).find("makes a text of more than 16 MiB") != std::string::npos);
}

TEST_CASE("an expression that is as deep as it is long is refused before anybody goes down") {
  const auto chained = [](const std::string& first, const std::string& link) {
    return check("vars: { z: 1 }\nstates:\n" +
                 command("a", "${{ " + first + repeated(400'000, [&](std::size_t) { return link; }) + " }}"));
  };
  for (const std::string link :
       {"|abs", "()", " and 1", " or 1", "*1", "+1", "**1", "[:]", ".a", "[0]", " if 1"})
    CHECK_MESSAGE(
        first_problem(chained("1", link)).find("operators, filters and the like in one expression") !=
            std::string::npos,
        link);
  // Those of one expression count, and not those of a text.
  CHECK(first_problem(
            check("states:\n" + command("a", repeated(6'000, [](std::size_t) { return "${{ 1 + 1 }}"; }))))
            .empty());
  // What is no path is gone through once.
  CHECK_FALSE(
      check("states:\n" + command("a", "${{ (1)" + repeated(4'000, [](std::size_t) { return ".a"; }) + " }}"))
          .recipe);
}

TEST_CASE("variables and includes with expressions are not counted as one state's") {
  const std::string some = repeated(5'000, [](std::size_t) { return "${{1}}-"; });
  const auto loaded =
      check("files: { a.yaml: 'states: []' }\nvars:\n" +
            repeated(8, [&](std::size_t i) { return "  a" + number(i) + ": " + some + "\n"; }) + "  n: [" +
            repeated(3'000, [](std::size_t i) { return number(i) + ", "; }) +
            "]\nstates:\n  - include: \"${{ 'a' }}.${{ 'yaml' }}\"\n    each: ${{ vars.n }}\n");
  CHECK(first_problem(loaded).empty());
}

TEST_CASE("files that include themselves, and many that see many variables, end soon") {
  const std::string many =
      repeated(20'000, [](std::size_t i) { return "  a" + number(i) + ": " + number(i) + "\n"; });
  const auto each = check("files: { a.yaml: 'states: []' }\nvars:\n" + many + "  n: [" +
                          repeated(3'000, [](std::size_t i) { return number(i) + ", "; }) +
                          "]\nstates:\n  - include: a.yaml\n    each: ${{ vars.n }}\n");
  CHECK(first_problem(each).starts_with("too many variables for so many included files"));
  const std::string eight = repeated(8, [](std::size_t) { return "{include: a.yaml}, "; });
  const auto loaded = check("files: { a.yaml: \"states: [" + eight + "]\" }\nstates:\n  - include: a.yaml\n");
  CHECK(first_problem(loaded) == "files include each other more than 8 deep");
}

TEST_CASE("patterns that nearly match long ids take no longer than others") {
  const auto pattern = [](std::size_t j) { return "'*" + std::string(120, 'a') + "b" + number(j) + "', "; };
  const auto loaded = check(
      "states:\n" +
      repeated(8'000,
               [](std::size_t i) { return command(std::string(200, 'a') + number(10'000 + i), "true"); }) +
      command("z", "true", ", on_change_of: [" + repeated(240, pattern) + "]"));
  REQUIRE_FALSE(loaded.problems.empty());
  CHECK(loaded.problems.back().message.find("take too long to compare") != std::string::npos);
}

TEST_CASE("names that nearly are ids are looked for in time") {
  const auto loaded = check(
      "states:\n" +
      repeated(8'000,
               [](std::size_t i) { return command(std::string(200, 'a') + number(10'000 + i), "true"); }) +
      command("z", "true", ", on_change_of: [" + repeated(200, [](std::size_t j) {
                             return std::string(200, 'a') + number(90'000 + j) + ", ";
                           }) + "]"));
  CHECK(loaded.problems.size() == 200);
}

TEST_CASE("what a recipe uses is found in time, with its lines") {
  const auto soon = [](const std::string& text) {
    const std::clock_t begun = std::clock();
    auto used = recipe::used_variables("r.yaml", text);
    CHECK(seconds_since(begun) < kSoon);
    REQUIRE(used);
    return std::move(*used);
  };
  const auto in_one_text =
      soon("version: 2\nstates:\n" +
           command("a", repeated(20'000, [](std::size_t i) { return "${{ vars.a" + number(i) + " }}"; })));
  CHECK(in_one_text.uses.size() == 20'000);
  CHECK(in_one_text.uses.back().line == 3);
  const auto in_many = soon("version: 2\nstates:\n" + repeated(50'000, [](std::size_t i) {
                              return command("a" + number(i), "ü ${{ vars.a" + number(i) + " }}");
                            }));
  REQUIRE(in_many.uses.size() == 50'000);
  CHECK(in_many.uses.back().line == 50'002);
  const auto in_one_expression =
      soon("version: 2\nstates:\n" + command("a", "${{ [" + repeated(20'000, [](std::size_t i) {
                                                    return "vars.a" + number(i) + ", ";
                                                  }) + "] }}"));
  CHECK(in_one_expression.uses.size() == 20'000);
}

TEST_CASE("a number that is none is not taken for one") {
  for (const std::string value : {"nan", "inf", "-inf", "infinity"})
    CHECK(first_problem(check("vars:\n  a: { type: number, min: 1, max: 10, default: " + value +
                              " }\nstates:\n" + command("a", "${{ vars.a }}"))) ==
          "the variable 'a' must be a number, not text");
}

#include "recipe/bundle.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <map>

#include <doctest/doctest.h>

#include "recipe/file_source.hpp"
#include "recipe/recipe.hpp"
#include "states/registry.hpp"
#include "tests/support/scratch_folder.hpp"

namespace {

struct BesideFiles : recipe::FileSource {
  base::Result<std::string> file(std::string_view name) override {
    const auto found = texts.find(std::string(name));
    if (found == texts.end()) return base::Error(base::ErrorCode::not_found, "no file " + std::string(name));
    return found->second;
  }
  std::map<std::string, std::string> texts;
};

}  // namespace

TEST_CASE("a recipe that travels has its files in it, and its lines keep their numbers") {
  BesideFiles files;
  files.texts = {{"db/main.yaml", "states:\n  - linux.file: { path: /b, template_file: b.j2 }\n"},
                 {"db/b.j2", "\"quoted\" \\ \t ü\n{% include 'c.j2' %}"},
                 {"db/c.j2", "${ no }"},
                 {"a.j2", "a"}};
  const states::Registry known{states::native_states()};
  for (const std::string& text :
       {std::string("version: 2\nstates:\n  - linux.file: { path: /a, template_file: ./a.j2 }\n  - include: "
                    "[db/main.yaml]"),
        std::string("{\"version\": 2, \"states\": [{\"linux.file\": {\"path\": \"/a\", \"template_file\": "
                    "\"a.j2\"}}, {\"include\": \"db/main.yaml\"}]}\n")}) {
    const auto whole = recipe::bundle("", text, files);
    REQUIRE(whole);
    CHECK(whole->starts_with(text.substr(0, text.size() - 3)));
    const auto loaded = recipe::load_text("", *whole, known);
    for (const auto& problem : loaded.problems)
      MESSAGE(describe(problem, "r"));
    REQUIRE(loaded.recipe);
    CHECK(loaded.recipe->states()[1].parameter.find("content")->text() == "\"quoted\" \\ \t ü\n${ no }");
  }
}

TEST_CASE("a recipe without files travels as it is, and one whose files are not known does not travel") {
  BesideFiles files;
  CHECK(*recipe::bundle("", "states: []", files) == "states: []");
  const auto refused = [&](const std::string& text) {
    const auto whole = recipe::bundle("", "version: 2\n" + text, files);
    return whole ? "taken" : whole.error().message();
  };
  CHECK(refused("states: [{ linux.file: { path: /a, template_file: '${{ app }}.j2' } }]")
            .find("only known on the machine") != std::string::npos);
  CHECK(refused("states: [{ linux.file: { path: /a, template: '{% include app %}' } }]")
            .find("only known on the machine") != std::string::npos);
  CHECK(refused("states: [{ linux.file: { path: /a, template_file: a.j2 } }]") == "no file a.j2");
  CHECK(refused("states: [{ linux.file: { path: /a, template_file: ../a.j2 } }]").find("or below") !=
        std::string::npos);
  files.texts["a.j2"] = std::string(recipe::kLargestBundle + 1, 'x');
  CHECK(refused("states: [{ linux.file: { path: /a, template_file: a.j2 } }]").find("larger than 16 MiB") !=
        std::string::npos);
}

TEST_CASE("what a recipe names is what lies beside it: no links, no way out") {
  const tests::ScratchFolder scratch;
  scratch.write("r/t/a.j2", "a");
  scratch.write("outside", "secret");
  REQUIRE(::symlink("../outside", (scratch / "r/link").c_str()) == 0);
  REQUIRE(::symlink("..", (scratch / "r/up").c_str()) == 0);
  recipe::FolderFiles files(scratch / "r");
  CHECK(*files.file("t/a.j2") == "a");
  for (const char* name : {"link", "up/outside", "../outside", "t", "gone", "/etc/passwd", ""})
    CHECK(!files.file(name));
  REQUIRE(::mkfifo((scratch / "r/pipe").c_str(), 0600) == 0);
  CHECK(!files.file("pipe"));
}

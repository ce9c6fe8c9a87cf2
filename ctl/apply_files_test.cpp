#include "ctl/apply_files.hpp"

#include <filesystem>
#include <fstream>

#include <doctest/doctest.h>

#include "base/values/json.hpp"
#include "tests/support/scratch_folder.hpp"

namespace {

struct Site {
  // The folder, with these files in it.
  explicit Site(std::initializer_list<std::pair<std::string, std::string>> files) {
    for (const auto& [name, text] : files) {
      const std::filesystem::path path = folder / ("site/" + name);
      std::filesystem::create_directories(path.parent_path());
      std::ofstream(path) << text;
    }
  }
  std::string path(const std::string& name = {}) const { return folder / ("site" + name); }
  base::Result<ctl::ApplyItems> read(const std::string& name = {}) const {
    const std::vector<std::string> paths{path(name)};
    return ctl::read_apply_items(paths);
  }
  // What is wrong, with the folder left out of it.
  std::string problems(const std::string& name = {}) const {
    const auto items = read(name);
    std::string text = items ? "" : items.error().message();
    for (std::size_t at; (at = text.find(path() + "/")) != std::string::npos;)
      text.erase(at, path().size() + 1);
    return text;
  }

  tests::ScratchFolder folder;
};

struct Items {
  explicit Items(const base::Result<ctl::ApplyItems>& read) {
    REQUIRE_MESSAGE(read, read.error().message());
    text = read->json;
    root = std::get<base::Value>(base::parse_json(text, arena));
  }
  std::string get(std::size_t item, std::string_view member) const {
    const base::Value* found = root.items()[item].find(member);
    if (!found) return "-";
    const auto number = found->as_integer();
    return found->is_text() ? std::string(found->text()) : number ? std::to_string(*number) : "?";
  }
  std::string text;
  base::Arena arena;
  base::Value root;
};

}  // namespace

TEST_CASE("apply: files of a folder become items, and a recipe's file is read from where it is named") {
  const Site site({{"web.yaml",
                    "- kind: recipe\n  name: web\n  file: recipes/web.yaml\n  message: more workers\n"
                    "- kind: assignment\n  recipe: web\n  selector: role=web\n  app: shop\n  revision: 3\n"
                    "  order: 10\n  on_change: kill\n  round_delay_s: 60\n"},
                   {"recipes/web.yaml", "states: []\n"},
                   {"more/shop.json", R"({"kind": "app", "name": "shop", "report": "changes"})"},
                   {"zlast.yml", "kind: recipe\nname: inline\ncontent: |\n  states: []\n"},
                   {".hidden.yaml", "nonsense: ["},
                   {".git/config.yaml", "nonsense: ["},
                   {"README.md", "not read"}});
  const Items items(site.read());
  REQUIRE(items.root.items().size() == 4);
  CHECK(items.get(0, "kind") == "app");
  CHECK(items.get(0, "app_id") == "shop");
  CHECK(items.get(0, "report") == "changes");
  CHECK(items.get(0, "source") == site.path("/more/shop.json") + ":1:1");
  CHECK(items.get(1, "name") == "web");
  CHECK(items.get(1, "content") == "states: []\n");
  CHECK(items.get(1, "content_source") == site.path("/recipes/web.yaml"));
  CHECK(items.get(1, "message") == "more workers");
  CHECK(items.get(2, "app_id") == "shop");
  CHECK(items.get(2, "revision") == "3");
  CHECK(items.get(2, "order") == "10");
  CHECK(items.get(2, "on_change") == "kill");
  CHECK(items.get(2, "round_delay_s") == "60");
  CHECK(items.get(2, "source") == site.path("/web.yaml") + ":5:3");
  CHECK(items.get(3, "content") == "states: []\n");
  CHECK(items.get(3, "content_source") == "-");
  // A single file of it.
  CHECK(Items(site.read("/more/shop.json")).root.items().size() == 1);
}

TEST_CASE("apply: a revision may be newest, a version that looks like a number stays as it was written") {
  const Site site({{"a.yaml",
                    "- {kind: assignment, recipe: web, selector: '*', revision: newest}\n"
                    "- {kind: app, name: shop, agent_version: 1.10}\n"}});
  const Items items(site.read());
  CHECK(items.get(0, "revision") == "-");
  CHECK(items.get(1, "agent_version") == "1.10");
}

TEST_CASE("apply: all that is wrong is said at once, with file, line and column") {
  const Site site({{"a.yaml",
                    "- kind: recipe\n  nmae: web\n  content: x\n"
                    "- kind: variable\n  name: x\n"
                    "- kind: assignment\n  recipe: web\n  order: first\n"
                    "- kind: recipe\n  name: web\n  file: missing.yaml\n"
                    "- kind: recipe\n  name: both\n  file: a\n  content: b\n"
                    "- name: none\n"},
                   {"b.yaml", "states: []\n"},
                   {"c.json", "{\"kind\": \"app\",}"}});
  const std::string text = site.problems();
  for (const char* line : {
           "a.yaml:2:3: 'nmae' is not known for kind recipe; did you mean 'name'?",
           "a.yaml:1:3: recipe: 'name' is missing",
           "a.yaml:4:9: the kind 'variable' is not known; there are: recipe, assignment, app",
           "a.yaml:6:3: assignment: 'selector' is missing",
           "a.yaml:8:10: 'order' must be a whole number",
           "a.yaml:11:9: ",
           "a.yaml:12:3: recipe: 'file' or 'content', not both",
           "a.yaml:16:3: the item has no 'kind': recipe, assignment, app",
           "b.yaml:1:1: is no description: it has no 'kind'",
           "c.json:1:",
       })
    CHECK_MESSAGE(text.find(line) != std::string::npos, (std::string(line) + " in\n" + text));
}

TEST_CASE("apply: a folder without descriptions and a file that is not there are said") {
  const Site site({{"README.md", ""}});
  CHECK(site.problems().find("has no *.yaml, *.yml or *.json") != std::string::npos);
  CHECK(site.problems("/none.yaml").find("none.yaml") != std::string::npos);
}

TEST_CASE("apply: at most so many items") {
  std::string many;
  for (std::size_t i = 0; i <= ctl::kMostApplyItems; ++i)
    many += "- {kind: app, name: a" + std::to_string(i) + "}\n";
  const Site site({{"a.yaml", many}});
  CHECK(site.problems().find("there are 1001 items, and at most 1000") != std::string::npos);
}

TEST_CASE("apply: a set is called as its folder, also by one of its files") {
  const Site site({{"a.yaml", ""}, {"not a name/a.yaml", ""}});
  CHECK(*ctl::set_name_of(site.path()) == "site");
  CHECK(*ctl::set_name_of(site.path("/")) == "site");
  CHECK(*ctl::set_name_of(site.path("/a.yaml")) == "site");
  CHECK(*ctl::set_name_of(site.path("/not a name/..")) == "site");
  CHECK(ctl::set_name_of(site.path("/not a name")).error().message().find("--set NAME") != std::string::npos);
}

TEST_CASE("apply: variables keep the types that YAML gives them, and are an item of their own") {
  const Site site(
      {{"vars.yaml",
        "- kind: variables\n  app: shop\n  selector: role=web\n  order: 3\n  values:\n    port: 8080\n"
        "    mode: 0644\n    on: yes\n    ratio: 1.5\n    none: ~\n    text: \"8080\"\n"
        "    sites: [{ name: shop, tls: false }]\n"
        "- { kind: variables, machine: web1, values: {} }\n"}});
  const Items items(site.read());
  REQUIRE(items.root.items().size() == 2);
  CHECK(base::to_json(*items.root.items()[0].find("values")) ==
        R"({"port":8080,"mode":"0644","on":true,"ratio":1.5,"none":null,"text":"8080",)"
        R"("sites":[{"name":"shop","tls":false}]})");
  CHECK(items.get(0, "app_id") == "shop");
  CHECK(items.get(0, "order") == "3");
  CHECK(items.get(1, "instance_id") == "web1");
  const Site wrong({{"vars.yaml", "- { kind: variables, values: 7 }\n- { kind: variables }\n"}});
  CHECK(wrong.problems().find("'values' must be a mapping") != std::string::npos);
  CHECK(wrong.problems().find("variables: 'values' is missing") != std::string::npos);
}

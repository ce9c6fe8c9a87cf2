#include <map>

#include <doctest/doctest.h>

#include "base/text.hpp"
#include "recipe/inputs.hpp"

namespace {

struct Files : recipe::FileSource {
  base::Result<std::string> file(std::string_view name) override {
    const auto found = texts.find(std::string(name));
    if (found == texts.end()) return base::Error(base::ErrorCode::not_found, "no file " + std::string(name));
    return found->second;
  }
  std::map<std::string, std::string> texts;
};

std::string used(const std::string& text, recipe::FileSource* files = nullptr) {
  const auto found = recipe::used_variables("r.yaml", text, files);
  if (!found) return "error: " + found.error().message();
  std::string shown;
  for (const auto& use : found->uses)
    shown += base::join(use.path, ".") + " " + use.file + ":" + std::to_string(use.line) + "\n";
  for (const std::string& secret : found->secrets)
    shown += "secret " + secret + "\n";
  return shown;
}

}  // namespace

TEST_CASE("a file that is a template in one place and included in another is read as both") {
  Files files;
  files.texts["f.yaml"] = "states:\n  - each: ${{ vars.list }}\n    include: g.yaml\n";
  files.texts["g.yaml"] = "states:\n  - { id: g, linux.cmd: { cmd: \"${{ vars.inner }}\" } }\n";
  const std::string shown = used(
      "version: 2\nstates:\n  - { id: a, linux.file: { path: /a, template_file: f.yaml } }\n"
      "  - include: f.yaml\n",
      &files);
  CHECK(shown.find("vars.inner g.yaml:2") != std::string::npos);
}

TEST_CASE("which variables a recipe uses is known from its text") {
  CHECK(used(R"(version: 2
vars: { url: "http://${{ facts.hostname }}:${{ vars.port }}" }
states:
  - id: a-${{ item.name }}
    each: ${{ vars.sites }}
    when: ${{ tags['role'] == 'web' and vars.on | default(true) }}
    linux.file:
      path: /a
      template: |
        {% for user in vars.users %}{{ user.name }}{{ secret('db') }}{% endfor %}
        {{ vars[item.key].x }}
)") == "facts.hostname :2\nvars.port :2\nvars.sites :5\ntags.role :6\nvars.on :6\nvars.users :10\nvars :11\n"
       "secret db\n");
}

TEST_CASE("recipes without expressions use nothing, whatever stands in them") {
  const auto none = recipe::used_variables("r.yaml", "states: [{id: a, content: '${{ vars.x }}'}]");
  REQUIRE(none);
  CHECK(!none->has_expressions);
  CHECK(used("version: 2\nstates: [{id: a, content: '{{ vars.x }} ${x}'}]").empty());
}

TEST_CASE("variables of included files count, with the file's name") {
  Files files;
  files.texts["db.yaml"] = "version: 2\nstates:\n  - linux.file: { path: \"${{ vars.db.path }}\" }\n";
  files.texts["a.j2"] = "\n{% include 'b.j2' %}";
  files.texts["b.j2"] = "{{ vars.deep }}";
  const std::string text =
      "version: 2\nstates:\n  - include: [db.yaml]\n  - linux.file: { path: /a, template_file: a.j2 }\n";
  CHECK(used(text, &files) == "vars.db.path db.yaml:3\nvars.deep b.j2:1\n");
  CHECK(used(text).empty());
  files.texts.erase("b.j2");
  CHECK(used(text, &files) == "error: no file b.j2");
}

TEST_CASE("what is wrong with an expression is found without inputs") {
  CHECK(used("version: 2\nstates: [{ id: 'a ${{ 1 + }}' }]").starts_with("error: :2:"));
  CHECK(used("version: 2\nstates: [{ id: '${{ x' }]").find("has no end") != std::string::npos);
}

#include "recipe/rendering.hpp"

#include <map>

#include <doctest/doctest.h>

#include "base/values/json.hpp"
#include "recipe/recipe.hpp"
#include "states/registry.hpp"

namespace {

const states::Registry& all_types() {
  static const states::Registry known{states::native_states()};
  return known;
}

struct NamedFiles : recipe::FileSource {
  base::Result<std::string> file(std::string_view name) override {
    const auto found = texts.find(std::string(name));
    if (found == texts.end()) return base::Error(base::ErrorCode::not_found, "no file " + std::string(name));
    ++reads;
    return found->second;
  }
  std::map<std::string, std::string> texts;
  int reads = 0;
};

struct NamedSecrets : recipe::SecretSource {
  base::Result<std::string> secret(std::string_view name) override {
    if (name != "db") return base::Error(base::ErrorCode::not_found, "there is no file for it");
    return std::string("s3cr3t-Wort");
  }
};

recipe::Inputs machine() {
  return {.facts = R"({"hostname":"web1","domain":"example.com","os":{"id":"debian"}})",
          .tags = {{"role", "web"}},
          .app = "shop",
          .instance = "a"};
}

recipe::Loaded load(const std::string& text, const recipe::Inputs& inputs = machine()) {
  return recipe::load_text("r.yaml", "version: 2\n" + text, all_types(), inputs);
}

// Each state on a line, as somebody could have written it; or the problems.
std::string rendered(const std::string& text, const recipe::Inputs& inputs = machine()) {
  const recipe::Loaded loaded = load(text, inputs);
  std::string shown;
  for (const recipe::Problem& problem : loaded.problems)
    shown += recipe::describe(problem, "r") + "\n";
  if (!loaded.recipe) return shown;
  for (const recipe::State& state : loaded.recipe->states())
    shown += std::string(state.id) + " | " + std::string(state.type->name()) + " " +
             (state.is_off ? "off" : base::to_json(state.parameter)) + (state.sensitive ? " sensitive" : "") +
             "\n";
  return shown;
}

bool has(const std::string& text, std::string_view part) {
  const bool found = text.find(part) != std::string::npos;
  if (!found) MESSAGE(text);
  return found;
}

}  // namespace

TEST_CASE("the short form names the module as a key, and the id is made of what the state is about") {
  CHECK(rendered(R"(states:
  - linux.file: { path: /etc/motd, content: hi }
  - linux.apt.package: { name: [nginx, curl] }
  - id: own
    linux.file: { path: /a }
    timeout: 5
  - module: linux.file
    parameter: { path: /b }
)") == "linux.file /etc/motd | linux.file {\"path\":\"/etc/motd\",\"content\":\"hi\"}\n"
       "linux.apt.package nginx, curl | linux.apt.package {\"name\":[\"nginx\",\"curl\"]}\n"
       "own | linux.file {\"path\":\"/a\"}\n"
       "linux.file /b | linux.file {\"path\":\"/b\"}\n");
  CHECK(rendered("states:\n  - linux.fiel: { path: /a }\n") ==
        "r:3:5: Unsupported module 'linux.fiel'; did you mean 'linux.file'?\n");
  CHECK(rendered("states:\n  - linux.file: { path: /a }\n  - linux.file: { path: /a }\n") ==
        "r:4:5: the id 'linux.file /a' is used twice; first in line 3\n");
  CHECK(
      has(rendered("states: [{ linux.file: {path: /a}, linux.dir: {path: /b} }]"), "a state has one module"));
  CHECK(has(rendered("states: [{ linux.file: {path: /a}, tiemout: 3 }]"),
            "Unknown key 'tiemout' of a state; did you mean 'timeout'?"));
}

TEST_CASE("expressions keep their types, and texts around them are put together") {
  CHECK(rendered(R"(vars: { port: 81, on: true, sites: [a, b], mode: "0600" }
states:
  - linux.file: { path: "/etc/${{ facts.hostname }}.${{ vars.port + 1 }}", mode: "${{ vars.mode }}", absent: "${{ vars.on }}" }
  - linux.apt.package: { name: "${{ vars.sites }}" }
)") == "linux.file /etc/web1.82 | linux.file "
       "{\"path\":\"/etc/web1.82\",\"mode\":\"0600\",\"absent\":\"true\"}\n"
       "linux.apt.package a, b | linux.apt.package {\"name\":[\"a\",\"b\"]}\n");
  CHECK(rendered("states: [{ linux.file: { path: /a, content: 'x ${x} {{ x }} $y ${{ \"${{\" }}' } }]") ==
        "linux.file /a | linux.file {\"path\":\"/a\",\"content\":\"x ${x} {{ x }} $y ${{\"}\n");
}

TEST_CASE("a mistake in an expression has its place, and says where the variable came from") {
  CHECK(
      rendered(
          "vars: { port: 8080 }\nstates:\n  - linux.file: { path: /a, content: \"é ${{ vars.prot }}\" }\n") ==
      "r:4:45: there is no variable 'prot'; did you mean 'port'?; a recipe names the variables that it uses "
      "under 'vars'\n");
  CHECK(rendered("vars: { port: [] }\nstates:\n  - linux.file:\n      path: /a\n      content: |\n        "
                 "x\n        "
                 "${{ vars.port / 2 }}\n")
            .starts_with("r:8:23: "));
  auto inputs = machine();
  inputs.vars = {{"--var", "{\"port\": \"x\"}"}};
  CHECK(has(rendered("vars: { port: 1 }\nstates: [{ linux.file: { path: '${{ 5 / vars.port }}' } }]", inputs),
            "(vars.port: --var)"));
  CHECK(has(rendered("vars: { port: [] }\nstates: [{ linux.file: { path: '${{ 5 / vars.port }}' } }]"),
            "(vars.port: the recipe, line 2)"));
  CHECK(has(rendered("states: [{ linux.file: { path: '/${{ hostname }}' } }]"), "'hostname' is not defined"));
  CHECK(has(rendered("vars: {port: 1}\nstates: [{ linux.file: { path: '/${{ port }}' } }]"),
            "did you mean 'vars.port'?"));
  CHECK(rendered("states: [{ linux.file: { path: '/${{ facts.nothing }}' } }]").starts_with("r:2:"));
}

TEST_CASE("each makes a state of every item of a list, or of every member of a mapping") {
  CHECK(rendered(R"(vars: { sites: [{ name: shop, port: 1 }, { name: blog, port: 2 }] }
states:
  - id: vhost-${{ item.name }}
    each: ${{ vars.sites }}
    linux.file: { path: "/s/${{ item.name }}", content: "${{ key }}:${{ item.port }}" }
  - each: { a: 1, b: 2 }
    linux.file: { path: "/${{ key }}${{ item }}" }
)") == "vhost-shop | linux.file {\"path\":\"/s/shop\",\"content\":\"0:1\"}\n"
       "vhost-blog | linux.file {\"path\":\"/s/blog\",\"content\":\"1:2\"}\n"
       "linux.file /a1 | linux.file {\"path\":\"/a1\"}\n"
       "linux.file /b2 | linux.file {\"path\":\"/b2\"}\n");
  CHECK(has(rendered("states: [{ id: a, each: [1, 2], linux.file: { path: /a } }]"),
            "what 'each' makes needs an id with something of the item in it"));
  CHECK(rendered("states: [{ each: [], linux.file: { path: '/${{ item }}' } }]").empty());
  CHECK(
      has(rendered("states: [{ each: 5, linux.file: { path: /a } }]"), "'each' must be a list or a mapping"));
  CHECK(has(rendered("states: [{ each: ['x', {}], linux.file: { path: '/${{ item.a }}' } }]"),
            "(item.a: number 1 of 'each')"));
}

TEST_CASE("a state whose expression does not hold is there, and off") {
  CHECK(rendered(R"(vars: { db: ~ }
states:
  - linux.file: { path: /a, content: "${{ vars.db.host }}" }
    when: ${{ vars.db }}
  - linux.file: { path: /b }
    when: ${{ facts.os.id == 'debian' and 'we' in tags.role }}
  - linux.file: { path: "/c${{ item }}" }
    each: [1, 2]
    when: ${{ item == 2 }}
  - linux.file: { path: /d }
    when: { path_exists: "/${{ app }}" }
)") == "linux.file /a | linux.file off\n"
       "linux.file /b | linux.file {\"path\":\"/b\"}\n"
       "linux.file /c1 | linux.file off\n"
       "linux.file /c2 | linux.file {\"path\":\"/c2\"}\n"
       "linux.file /d | linux.file {\"path\":\"/d\"}\n");
  CHECK(has(rendered("states: [{ when: yes, linux.file: { path: /a } }]"), "'when' must be an expression"));
}

TEST_CASE("variables are merged from all places, deep, and have the types that are declared") {
  auto inputs = machine();
  inputs.vars = {{"the app", R"({"db":{"host":"h","port":1},"list":[3]})"}, {"--var", "db: { port: 5 }\n"}};
  CHECK(
      rendered(
          R"(vars: { db: { host: local, name: shop }, list: [1, 2], url: "${{ vars.db.host }}:${{ vars.db.port }}" }
states: [{ linux.file: { path: /a, content: "${{ vars.db | tojson }} ${{ vars.list }} ${{ vars.url }}" } }]
)",
          inputs) ==
      "linux.file /a | linux.file {\"path\":\"/a\",\"content\":\"{\\\"host\\\": \\\"h\\\", \\\"name\\\": "
      "\\\"shop\\\", \\\"port\\\": 5} [3] h:5\"}\n");

  const std::string typed = R"(vars:
  port: { type: integer, min: 1, max: 65535, default: 80, doc: where it listens }
  level: { type: string, choices: [info, debug], default: info }
  release: { type: string }
  on: { type: boolean, default: no }
states: [{ linux.file: { path: /a, content: "${{ vars.port + 1 }} ${{ vars.level }} ${{ vars.release }} ${{ vars.on }}" } }]
)";
  CHECK(has(rendered(typed), "the variable 'release' has no value: give it one"));
  inputs.vars = {{"--var", "{release: 1.10, port: \"81\", on: 1}"}};
  CHECK(rendered(typed, inputs) ==
        "linux.file /a | linux.file {\"path\":\"/a\",\"content\":\"82 info 1.10 True\"}\n");
  for (const auto& [given, wrong] : std::map<std::string, std::string>{
           {"{release: a, port: 0}", "'port' must be at least 1 (--var)"},
           {"{release: a, port: x}", "'port' must be an integer"},
           {"{release: a, level: loud}", "'level' must be one of: info, debug"},
           {"{release: [a]}", "'release' must be a string, not a list"},
           {"[1]", "variables are an object"},
           {"{", "--var: did not find"}}) {
    inputs.vars = {{"--var", given}};
    CHECK(has(rendered(typed, inputs), wrong));
  }
  CHECK(has(rendered("vars: { a: { type: strin } }\nstates: []"), "did you mean 'string'?"));
  CHECK(has(rendered("vars: { a: { type: list, min: 1 } }\nstates: []"), "is for numbers"));
  CHECK(has(rendered("vars: { a-b: 1 }\nstates: []"), "needs a name of letters"));
  CHECK(has(rendered("vars: [1]\nstates: []"), "'vars' must be an object"));
}

TEST_CASE("a file of variables without anything in it is one without variables") {
  auto inputs = machine();
  for (const char* empty : {"", "\n", "# nothing yet\n", "{}", "~"}) {
    inputs.vars = {{"site.yaml", empty}};
    CHECK(rendered("vars: { a: 1 }\nstates: [{ linux.file: { path: '/${{ vars.a }}' } }]", inputs) ==
          "linux.file /1 | linux.file {\"path\":\"/1\"}\n");
  }
}

TEST_CASE("data from outside is never an expression") {
  auto inputs = machine();
  inputs.secrets = std::make_shared<NamedSecrets>();
  inputs.vars = {{"the machine", R"({"name":"${{ secret('db') }}{{ secret('db') }}"})"}};
  CHECK(
      rendered("vars: { name: x }\nstates: [{ linux.file: { path: /a, content: '${{ vars.name }}' } }]",
               inputs) ==
      "linux.file /a | linux.file {\"path\":\"/a\",\"content\":\"${{ secret('db') }}{{ secret('db') }}\"}\n");
}

TEST_CASE("templates make the content of a file, and name theirs beside the recipe") {
  auto inputs = machine();
  const auto files = std::make_shared<NamedFiles>();
  inputs.files = files;
  files->texts = {{"t/a.j2", "{% include 'head.j2' %}{% for s in vars.sites %}\n{{ s }};\n{% endfor %}\n"},
                  {"t/head.j2", "# {{ item }}\n"}};
  CHECK(rendered(R"(vars: { sites: [a, b] }
states:
  - each: [1, 2]
    linux.file: { path: "/${{ item }}", template_file: t/a.j2 }
  - linux.file:
      path: /c
      template: |
        {% if vars.sites %}
        ${x} {{ vars.sites | join(',') }}
        {% endif %}
)",
                 inputs) ==
        "linux.file /1 | linux.file {\"path\":\"/1\",\"content\":\"# 1\\na;\\nb;\\n\"}\n"
        "linux.file /2 | linux.file {\"path\":\"/2\",\"content\":\"# 2\\na;\\nb;\\n\"}\n"
        "linux.file /c | linux.file {\"path\":\"/c\",\"content\":\"${x} a,b\\n\"}\n");
  CHECK(files->reads == 2);
  CHECK(rendered("vars: {port: 1}\nstates:\n  - linux.file:\n      path: /c\n      template: |\n        a\n  "
                 "      b {{ vars.prt "
                 "}}\n")
            .starts_with("r:8:14: there is no variable 'prt'"));
  CHECK(
      has(rendered("states: [{ linux.file: { path: /c, template_file: no.j2 } }]", inputs), "no file no.j2"));
  CHECK(
      has(rendered("states: [{ linux.file: { path: /c, template: x, content: y } }]"), "exclude each other"));
  CHECK(
      has(rendered("states: [{ linux.file: { path: /c, template: '${{ app }}' } }]"), "write {{ … }} in it"));
  CHECK(has(rendered("states: [{ linux.dir: { path: /c, template: x } }]"), "Unknown parameter 'template'"));
  for (const char* name : {"../x", "/etc/passwd", "a/../../x", "", "."})
    CHECK(has(rendered("states: [{ linux.file: { path: /c, template_file: '" + std::string(name) + "' } }]",
                       inputs),
              "r:2:"));
}

TEST_CASE("included files bring their states, with variables for them") {
  auto inputs = machine();
  const auto files = std::make_shared<NamedFiles>();
  inputs.files = files;
  files->texts = {
      {"db/main.yaml",
       "version: 2\nvars: { port: 1, name: x }\nstates:\n  - linux.file: { path: \"/${{ vars.name }}${{ "
       "vars.port }}${{ vars.top }}\" }\n  - include: more.yaml\n"},
      {"db/more.yaml", "states:\n  - linux.file: { path: \"/m${{ vars.name }}\" }\n"},
      {"self.yaml", "states: [{ include: self.yaml }]"},
      {"bad.yaml", "states:\n  - linux.file: { pth: /a }\n"}};
  CHECK(rendered(R"(vars: { port: 9, top: t }
states:
  - include: [db/main.yaml]
    each: [a, b]
    vars: { name: "${{ item }}" }
  - include: nowhere.yaml
    when: ${{ vars.port == 1 }}
)",
                 inputs) ==
        "linux.file /a9t | linux.file {\"path\":\"/a9t\"}\nlinux.file /ma | linux.file {\"path\":\"/ma\"}\n"
        "linux.file /b9t | linux.file {\"path\":\"/b9t\"}\nlinux.file /mb | linux.file {\"path\":\"/mb\"}\n");
  CHECK(has(rendered("states: [{ include: self.yaml }]", inputs), "more than 8 deep"));
  CHECK(has(rendered("states: [{ include: bad.yaml }]", inputs),
            "bad.yaml:2:19: [linux.file] Unknown parameter"));
  CHECK(has(rendered("states: [{ include: ../x.yaml }]", inputs), "or below"));
  CHECK(has(rendered("states: [{ include: no.yaml }]"), "does not travel with the recipe"));
}

TEST_CASE("files that travel in the recipe are used instead of those beside it") {
  CHECK(rendered(
            "states: [{ linux.file: { path: /c, template_file: a.j2 } }]\nfiles: { a.j2: '{{ app }}' }\n") ==
        "linux.file /c | linux.file {\"path\":\"/c\",\"content\":\"shop\"}\n");
}

TEST_CASE("what is made of a secret is secret, and decides nothing that can be seen") {
  auto inputs = machine();
  inputs.secrets = std::make_shared<NamedSecrets>();
  const std::string text =
      R"(vars: { password: "${{ secret('db') }}", users: [{ name: a, word: "${{ secret('db') | upper }}" }] }
states:
  - linux.file: { path: /a, content: "p=${{ vars.password | b64encode }}" }
  - linux.file: { path: /b, content: "${{ vars.users[0].name }}" }
  - each: ${{ vars.users }}
    linux.file: { path: "/c${{ item.name }}", template: "{{ item.word }}" }
  - linux.file: { path: /d, template: "{{ vars.users | tojson }}" }
)";
  const recipe::Loaded loaded = load(text, inputs);
  REQUIRE(loaded.recipe);
  std::string sensitive;
  for (const recipe::State& state : loaded.recipe->states())
    if (state.sensitive) sensitive += std::string(state.id) + "\n";
  CHECK(sensitive == "linux.file /a\nlinux.file /ca\nlinux.file /d\n");
  const std::vector<std::string>& secrets = loaded.recipe->secrets();
  for (const char* secret : {"s3cr3t-Wort", "S3CR3T-WORT", "p=czNjcjN0LVdvcnQ="})
    CHECK(std::ranges::find(secrets, secret) != secrets.end());

  const auto with = [&](const std::string& state) {
    const std::string said =
        rendered("vars: { s: \"${{ secret('db') }}\" }\nstates: [{ " + state + " }]", inputs);
    CHECK(said.find("s3cr3t") == std::string::npos);
    CHECK(said.find("S3CR3T") == std::string::npos);
    return said;
  };
  CHECK(has(with("id: 'x${{ vars.s }}', linux.file: { path: /a }"), "an 'id' must not be made of a secret"));
  CHECK(has(with("linux.file: { path: '/${{ vars.s }}' }"), "the state's id would be made of a secret"));
  CHECK(has(with("when: \"${{ vars.s == 'x' }}\", linux.file: { path: /a }"),
            "'when' must not depend on a secret"));
  CHECK(has(with("each: '${{ vars.s | list }}', linux.file: { path: '/${{ key }}' }"),
            "must not be computed from"));
  CHECK(has(with("each: '${{ vars.s }}', linux.file: { path: '/${{ key }}' }"), "must not be computed from"));
  CHECK(has(with("timeout: '${{ vars.s | length }}', linux.file: { path: /a }"),
            "must not depend on a secret"));
  CHECK(has(with("linux.file: { path: /a, content: '${{ vars.s + 1 }}' }"), "is not shown"));
  CHECK(has(with("linux.file: { path: /a, content: '${{ vars[vars.s] }}' }"), "is not shown"));
  CHECK(has(with("linux.file: { path: /a, content: '${{ secret(vars.s) }}' }"), "must not be a secret"));
  CHECK(has(with("linux.file: { path: /a, content: \"${{ secret('nope') }}\" }"),
            "the secret 'nope': there is no file for it"));
  CHECK(has(with("linux.file: { path: /a, content: \"${{ secret('../x') }}\" }"),
            "a secret's name has letters"));
  CHECK(has(with("linux.file: { path: /a, mode: '${{ vars.s }}' }"),
            "'mode' is made of a secret, and is not what this parameter must be"));
  CHECK(has(with("linux.apt.package: { name: x, state: '${{ vars.s }}' }"), "state"));
}

TEST_CASE("a list or a mapping that was made of a secret is secret with its keys and its size") {
  auto inputs = machine();
  inputs.secrets = std::make_shared<NamedSecrets>();
  const auto with = [&](const std::string& state) {
    return load(
        "vars:\n  keyed: \"${{ { secret('db') | reverse: 1 } }}\"\n  deep: { a: 1, keyed: \"${{ { "
        "secret('db') | reverse: 1 } }}\" }\n"
        "  letters: \"${{ secret('db') | list }}\"\n  none: \"${{ [secret('db')] | select('eq', 'x') "
        "| list }}\"\n"
        "states: [{ " +
            state + " }]",
        inputs);
  };
  const auto said = [&](const std::string& state) {
    const recipe::Loaded loaded = with(state);
    CHECK_FALSE(loaded.recipe);
    return loaded.problems.empty() ? "" : loaded.problems[0].message;
  };
  for (const char* given : {"", R"({"keyed": {"b": 2}, "deep": {"keyed": {"b": 2}}})"}) {
    inputs.vars = {{"--var", given}};
    for (const char* of : {"vars.keyed", "vars.deep.keyed", "vars.letters", "vars.none"}) {
      CHECK(has(said("each: '${{ " + std::string(of) + " }}', linux.file: { path: '/${{ key }}' }"),
                "must not be computed from"));
      CHECK(has(said("when: '${{ " + std::string(of) + " | length > 3 }}', linux.file: { path: /a }"),
                "'when' must not depend on a secret"));
      CHECK(has(said("id: 'x${{ " + std::string(of) + " | length }}', linux.file: { path: /a }"),
                "an 'id' must not be made of a secret"));
    }
    for (const char* text : {"${{ vars.keyed | first }}", "${{ vars.keyed.keys() | list | first | upper }}",
                             "${{ vars.deep.keyed | length }}", "${{ vars.none is sameas none }}"}) {
      const recipe::Loaded loaded = with("linux.file: { path: /a, content: '" + std::string(text) + "' }");
      REQUIRE(loaded.recipe);
      CHECK(loaded.recipe->states()[0].sensitive);
    }
  }
  // What is beside it is not.
  const recipe::Loaded loaded = with("linux.file: { path: /a, content: '${{ vars.deep.a }}' }");
  REQUIRE(loaded.recipe);
  CHECK_FALSE(loaded.recipe->states()[0].sensitive);
}

TEST_CASE("attack: no filter, test or statement takes away that a value is secret") {
  auto inputs = machine();
  inputs.secrets = std::make_shared<NamedSecrets>();
  for (const char* text : {"{{ v | default('x') }}",
                           "{{ missing | default(v) }}",
                           "{{ [v] | map('upper') | join }}",
                           "{{ vars.list | map(attribute='word') | join }}",
                           "{{ (vars.list | first).word }}",
                           "{{ vars.list | tojson }}",
                           "{{ vars.list | string }}",
                           "{{ vars | dictsort | string }}",
                           "{{ vars.list | groupby('word') | length }}",

                           "{{ v | length }}",
                           "{{ v is defined }}",
                           "{{ 'x' if v else 'y' }}",
                           "{{ v == 'x' }}",
                           "{% if v.startswith('a') %}a{% endif %}",
                           "{% for c in v %}.{% endfor %}",
                           "{% set y = v %}{{ y[0] }}",
                           "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(v) }}",
                           "{% filter upper %}{{ v }}{% endfilter %}",
                           "{{ v | hash('sha256') }}",
                           "{{ [1, 2][v | length - 10] }}",
                           "{% with w = v %}{{ w }}{% endwith %}",
                           "{{ dict(a=v).a }}",
                           "{{ '%s' % v }}",
                           "{{ '{}'.format(v) }}",
                           "{% set n = namespace(a=v) %}{{ n.a }}",
                           "{{ vars['word'] }}",
                           "{{ vars.get('word') }}",
                           "{% for k, w in vars.items() %}{{ k }}{% endfor %}",
                           "{{ vars | combine({'a': 1}) | length }}"}) {
    CAPTURE(std::string(text));
    std::string source = text;
    if (source.find("missing") != std::string::npos) source = "{{ none | default(v, true) }}";
    const recipe::Loaded loaded = load(
        "vars: { word: \"${{ secret('db') }}\", list: [{ word: \"${{ secret('db') }}\" }] }\n"
        "states:\n  - linux.file:\n      path: /a\n      template: |\n        {% set v = vars.word %}" +
            source + "\n",
        inputs);
    CHECK_MESSAGE(loaded.recipe, (loaded.problems.empty() ? "" : loaded.problems[0].message));
    if (loaded.recipe) CHECK(loaded.recipe->states()[0].sensitive);
  }
}

TEST_CASE("attack: the name of a secret that cannot be had tells no other secret") {
  struct Noted : NamedSecrets {
    base::Result<std::string> secret(std::string_view name) override {
      asked.emplace_back(name);
      return NamedSecrets::secret(name);
    }
    std::vector<std::string> asked;
  };
  auto inputs = machine();
  const auto noted = std::make_shared<Noted>();
  inputs.secrets = noted;
  const auto said = [&](const std::string& content) {
    return rendered("states: [{ linux.file: { path: /a, content: \"" + content + "\" } }]", inputs);
  };
  CHECK(has(said("${{ secret(secret('db') ~ '-x') }}"), "must not be a secret"));
  CHECK(has(said("${{ secret(secret('db') | reverse) }}"), "the name is not shown"));
  CHECK(has(said("${{ secret(secret('db') | reverse) }}").find("troW") == std::string::npos ? "fine" : "told",
            "fine"));
  // Names that are written down, or computed of nothing secret, are told.
  CHECK(has(said("${{ secret('db') }}${{ secret('nope') }}"), "the secret 'nope': there is no file"));
  CHECK(has(said("${{ secret('no-' ~ instance) }}"), "the secret 'no-a': there is no file"));
  // Nobody's program gets an option for a name.
  CHECK(has(said("${{ secret('--help') }}"), "a secret's name has letters"));
  CHECK(std::ranges::find(noted->asked, "--help") == noted->asked.end());
  CHECK(std::ranges::find(noted->asked, "s3cr3t-Wort-x") == noted->asked.end());
}

TEST_CASE("a check takes what depends on the machine for unknown, and finds all other mistakes") {
  const recipe::Inputs check{.is_check = true};
  const auto checked = [&](const std::string& text) {
    const recipe::Loaded loaded = load(text, check);
    std::string shown;
    for (const recipe::Problem& problem : loaded.problems)
      shown += recipe::describe(problem, "r") + "\n";
    if (loaded.recipe) shown += "fine " + std::to_string(loaded.recipe->states().size());
    return shown;
  };
  CHECK(checked(R"(vars: { port: { type: integer }, sites: { type: list }, word: "${{ secret('x') }}" }
states:
  - linux.file: { path: "/${{ facts.hostname }}", content: "${{ vars.port }} ${{ vars.word }}", mode: "0644" }
  - each: ${{ vars.sites }}
    id: x-${{ item.name }}
    when: ${{ tags.role == 'x' }}
    linux.file: { path: "/${{ item.name }}", template: "{{ facts.os.id }}" }
    timeout: ${{ vars.port }}
)") == "fine 2");
  CHECK(has(checked("states: [{ linux.file: { path: '/${{ facts.hostname }}', mode: '999' } }]"),
            "Illegal mode"));
  CHECK(has(checked("states: [{ linux.file: { path: '/${{ facts.hostname }}', pth: x } }]"),
            "Unknown parameter 'pth'"));
  CHECK(has(checked("states: [{ linux.file: { content: '${{ facts.hostname }}' } }]"),
            "Missing parameter 'path'"));
  CHECK(has(checked("states: [{ linux.file: { path: '/${{ facts.hostnam }}' } }]"),
            "there is no fact 'hostnam'; did you mean 'hostname'?"));
  CHECK(has(checked("states: [{ linux.file: { path: '/${{ facts.hostname ~ vars.x }}' } }]"),
            "there is no variable 'x'"));
  CHECK(checked("states: [{ linux.file: { path: '/${{ vars.x | default(facts.hostname) }}' } }]") ==
        "fine 1");
  CHECK(has(checked("states: [{ linux.file: { path: '/${{ facts.hostname | uper }}' } }]"),
            "did you mean 'upper'?"));
  CHECK(has(
      checked(
          "vars: {a: {}}\nstates: [{ linux.file: { path: '/a', content: '${{ vars.a.b }}${{ app }}' } }]"),
      "r:3:"));
}

TEST_CASE("what all together make has its limits") {
  CHECK(
      has(rendered("states: [{ each: '${{ range(100001) | list }}', linux.file: { path: '/${{ item }}' } }]"),
          "more than 100000 states"));
  CHECK(has(rendered("states: [{ each: '${{ range(20) | list }}', linux.file: { path: '/${{ item }}', "
                     "content: '${{ \"x\" * "
                     "8000000 }}' } }]"),
            "is larger than 64 MiB"));
  CHECK(has(rendered("states: [{ each: '${{ range(100) | list }}', linux.file: { path: '/${{ item }}', "
                     "template: '{% for i in "
                     "range(3000000) %}{% endfor %}' } }]"),
            "more than 200000000 steps"));
}

TEST_CASE("attack: includes that multiply, and lists that grow, end soon") {
  const auto files = std::make_shared<NamedFiles>();
  auto inputs = machine();
  inputs.files = files;
  std::string thousand = "[";
  for (int i = 0; i < 1000; ++i)
    thousand += "1,";
  thousand += "]";
  // Each includes the next a thousand times; there is not one state.
  for (int i = 1; i < 8; ++i)
    files->texts["f" + std::to_string(i) + ".yaml"] =
        "states: [{ include: f" + std::to_string(i + 1) + ".yaml, each: " + thousand + " }]";
  files->texts["f8.yaml"] = "states: []";
  CHECK(has(rendered("states: [{ include: f1.yaml }]", inputs), "includes files more than 10000 times"));
  // Nor does a condition that never holds hide them.
  files->texts["f1.yaml"] = "states: [{ include: f8.yaml, when: '${{ false }}', each: " + thousand + " }]";
  CHECK(has(rendered("states: [{ include: f1.yaml, each: " + thousand + " }]", inputs),
            "includes files more than 10000 times"));
  files->texts["f1.yaml"] = "states: [{ include: f1.yaml }]";
  CHECK(has(rendered("states: [{ include: f1.yaml }]", inputs), "more than 8 deep"));
  // States that have nothing to fill in count as the others do.
  files->texts["f1.yaml"] = "states: [";
  for (int i = 0; i < 1000; ++i)
    files->texts["f1.yaml"] +=
        "{ id: s" + std::to_string(i) + ", module: linux.file, parameter: { path: /a } },";
  files->texts["f1.yaml"] += "]";
  const std::string twice = rendered("states: [{ include: f1.yaml, each: " + thousand + " }]", inputs);
  CHECK(has(twice, "the id 's0' is used twice"));
  CHECK(has(twice, "r: and 98"));  // of a million
  files->texts["f1.yaml"] = "states: []\n# " + std::string(3'000'000, 'x');
  CHECK(
      has(rendered("states: [{ include: f1.yaml, each: " + thousand + " }]", inputs), "larger than 128 MiB"));
  // A list counts with all that is in it.
  CHECK(has(
      rendered("vars: { big: '${{ range(100000) | list }}' }\nstates: [{ each: '${{ range(1000) | list }}', "
               "linux.apt.package: { name: '${{ vars.big + [item] }}' }, id: 'x${{ item }}' }]"),
      "is larger than 64 MiB"));
}

TEST_CASE(
    "a fact of another kind than the recipe takes it for is an error with its place, never an empty text") {
  const auto with = [&](const std::string& facts, const std::string& expression) {
    auto inputs = machine();
    inputs.facts = facts;
    return rendered("states: [{ linux.file: { path: /a, content: \"" + expression + "\" } }]", inputs);
  };
  const std::string half = "${{ facts.memory.total_mb // 2 }}";
  CHECK(has(with(R"({"memory":{"total_mb":4096}})", half), "\"content\":2048"));
  CHECK(has(with(R"({"memory":{"total_mb":"4096"}})", half), "r:2:"));
  CHECK(has(with(R"({"memory":null})", half), "r:2:"));
  CHECK(has(with(R"({"memory":[1]})", half), "r:2:"));
  CHECK(has(with(R"({})", half), "r:2:"));
  CHECK(has(with(R"({"hostname":"${{ secret('db') }}"})", "${{ facts.hostname }}"), "${{ secret('db') }}"));
}

TEST_CASE("it can be told where each variable of a state comes from") {
  auto inputs = machine();
  inputs.secrets = std::make_shared<NamedSecrets>();
  inputs.vars = {{"--var", "port: 81"}};
  inputs.explain = "linux.file /b";
  const auto loaded = load(R"(vars: { port: 80, name: x, word: "${{ secret('db') }}" }
states:
  - each: [a, b]
    linux.file: { path: "/${{ item }}", template: "{{ vars.port }}{{ vars.name }}{{ facts.os.id }}{{ vars.word }}" }
)",
                           inputs);
  std::string shown;
  for (const auto& each : loaded.explained)
    shown += each.name + " = " + each.value + " (" + each.origin + ")\n";
  CHECK(shown ==
        "item = b (number 2 of 'each')\nvars.port = 81 (--var)\nvars.name = x (the recipe, line 2)\n"
        "facts.os.id = \"debian\" ()\nvars.word = (secret) (the recipe, line 2)\n");
}

TEST_CASE("what was meant as a template and is plain text gets a warning") {
  const auto warnings = [](const std::string& text) {
    const auto loaded = recipe::load_text("r.yaml", text, all_types());
    REQUIRE(loaded.recipe);
    std::string shown;
    for (const recipe::Problem& warning : loaded.warnings)
      shown += recipe::describe(warning, "r") + "\n";
    return shown;
  };
  const std::string state =
      "states: [{ id: a, module: linux.file, parameter: { path: /a, content: '{{ hostname }}' } }]";
  CHECK(has(warnings(state), "r:1:71: [a] 'content' is written as it stands"));
  CHECK(has(warnings("version: 2\n" + state), "'content' is written as it stands"));
  CHECK(warnings("version: 2\nvars: {a: 1}\n" + state).empty());
  CHECK(warnings("states: [{ id: a, module: linux.file, parameter: { path: /a, content: '{{ x y }} {{' } }]")
            .empty());
  CHECK(has(warnings("states: [{ id: a, module: linux.file, parameter: { path: /a, content: '${{ x }}' } }]"),
            "does not say 'version: 2'"));
}

TEST_CASE("a recipe's digest is another one when it is filled in with something else") {
  const std::string text = "vars: { a: 1 }\nstates: [{ linux.file: { path: '/${{ vars.a }}' } }]";
  auto inputs = machine();
  const auto first = load(text, inputs).recipe;
  const auto again = load(text, inputs).recipe;
  inputs.vars = {{"--var", "{\"a\": 2}"}};
  const auto other = load(text, inputs).recipe;
  CHECK(first->digest() == again->digest());
  CHECK(first->digest() != other->digest());
  CHECK(first->text_digest() == other->text_digest());
  CHECK(recipe::same_states(*first, *again));
  CHECK_FALSE(recipe::same_states(*first, *other));
}

TEST_CASE("with another condition that was computed it is another recipe") {
  const auto loaded = [](const std::string& line, const std::string& role) {
    recipe::Inputs inputs = machine();
    inputs.tags = {{"role", role}};
    auto made = load(
        "states:\n  - { id: a, module: linux.cmd, parameter: { cmd: \"true\" } }\n"
        "  - { id: b, module: linux.cmd, parameter: { cmd: \"true\" }, " +
            line + " }\n",
        inputs);
    REQUIRE(made.recipe);
    return made.recipe;
  };
  for (const std::string line :
       {"once: \"${{ tags.role }}\"", "continue_on_failure: \"${{ tags.role == 'web' }}\"",
        "timeout: \"${{ 5 if tags.role == 'web' else 7 }}\"",
        "when: { path_exists: \"/${{ tags.role }}\" }"}) {
    const auto web = loaded(line, "web"), db = loaded(line, "db"), again = loaded(line, "web");
    CHECK_MESSAGE(recipe::same_states(*web, *again), line);
    CHECK_MESSAGE(!recipe::same_states(*web, *db), line);
    CHECK_MESSAGE(web->digest() == again->digest(), line);
    CHECK_MESSAGE(web->digest() != db->digest(), line);
  }
}

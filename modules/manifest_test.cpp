#include "modules/manifest.hpp"

#include <doctest/doctest.h>

#include "base/text.hpp"
#include "modules/module_type.hpp"
#include "tests/support/json_schema_check.hpp"

namespace modules {

namespace {

std::string with(const std::string& more, const std::string& properties = "{}") {
  return R"({"name": "acme.x", "version": "1.0", "command": ["./x"],
 "schema": {"type": "object", "properties": )" +
         properties + "}" + (more.empty() ? "" : ", " + more) + "}";
}

std::string problems(std::string text) {
  return base::join(Manifest::read(std::move(text), "m.json").problems, "\n");
}

std::unique_ptr<const Manifest> read(std::string text) {
  Manifest::Read read = Manifest::read(std::move(text), "m.json");
  for (const std::string& problem : read.problems)
    FAIL_CHECK(problem);
  REQUIRE(read.manifest);
  return std::move(read.manifest);
}

class Probe final : public ModuleType {
 public:
  explicit Probe(const Manifest& manifest) : ModuleType(manifest) {}
  std::string told(std::string_view json, std::string& wrong) const {
    base::Arena arena;
    std::vector<states::ParamProblem> found;
    auto parsed = base::parse_json(json, arena);
    const states::ParamValues* params = read_params(std::get<base::Value>(parsed), arena, found);
    for (const states::ParamProblem& problem : found)
      wrong += problem.message + "\n";
    return params ? parameter_json(*params) : std::string();
  }
  states::Plan make_plan(const states::ParamValues&, states::Context&) const override {
    return states::Plan::kept({});
  }
  states::Applied apply_plan(const states::ParamValues&, const states::Plan&,
                             states::ApplyContext&) const override {
    return states::Applied::done({});
  }
};

constexpr const char* kAll = R"({
  "path": {"type": "string", "minLength": 1, "description": "where it is"},
  "content": {"type": "string", "format": "text"},
  "how": {"type": "string", "enum": ["fast", "slow"], "default": "fast"},
  "port": {"type": "integer", "minimum": 1, "maximum": 65535, "default": 80},
  "on": {"type": "boolean"},
  "names": {"type": "array", "items": {"type": "string"}},
  "labels": {"type": "object", "additionalProperties": {"type": "string"}},
  "token": {"type": "string", "writeOnly": true}})";

}  // namespace

TEST_CASE("a manifest says what the module is called, how it is started and what it takes") {
  const auto manifest = read(with(
      R"("summary": "What it does", "sensitive": ["content"], "supports_plan": false, "timeout": 30, "run_as": "nobody",
      "plan_needs": "network: asks the registry", "limits": {"memory_mb": 64, "processes": 8}, "locks": ["dpkg"],
      "examples": [{"path": "/x"}])",
      kAll));
  CHECK(manifest->name == "acme.x");
  CHECK(manifest->command == std::vector<std::string>{"./x"});
  CHECK(manifest->summary == "What it does");
  CHECK_FALSE(manifest->supports_plan);
  CHECK(manifest->plan_network == "asks the registry");
  CHECK(manifest->timeout == std::chrono::seconds(30));
  CHECK(manifest->run_as == "nobody");
  CHECK(manifest->limits.memory_mb == 64);
  CHECK(manifest->examples == std::vector<std::string>{R"({"path":"/x"})"});
  const states::Schema schema = manifest->schema();
  REQUIRE(schema.size() == 8);
  CHECK(schema[0].doc == "where it is");
  CHECK(schema[1].is_secret);
  CHECK(schema[2].choices.size() == 2);
  CHECK(schema[3].most == 65535);
  CHECK(schema[7].is_secret);
}

TEST_CASE("the schema of a module prints as one that accepts what reading accepts") {
  const auto manifest =
      read(with("", R"({"path": {"type": "string", "minLength": 1}, "text": {"type": "string"},
      "how": {"type": "string", "enum": ["text", "5"]}, "port": {"type": "integer"}, "on": {"type": "boolean"},
      "names": {"type": "array", "items": {"type": "string"}}})"));
  const Probe probe(*manifest);
  tests::SchemaCheck check(probe);
  for (const std::string& disagreement : check.disagreements())
    FAIL_CHECK(disagreement);
}

TEST_CASE("a module is told its parameters in one form, with the defaults") {
  const auto manifest = read(with("", kAll));
  const Probe probe(*manifest);
  std::string wrong;
  CHECK(probe.told("{}", wrong) == R"({"how":"fast","port":80})");
  CHECK(probe.told(R"({"port": "8080", "on": "yes", "names": "one", "labels": [{"a": 1}], "how": "slow"})",
                   wrong) == R"({"how":"slow","labels":{"a":"1"},"names":["one"],"on":true,"port":8080})");
  CHECK(wrong.empty());
  CHECK(probe.told(R"({"prt": 1, "port": 0, "how": "quick", "on": "maybe", "labels": ["a", "a"]})", wrong)
            .empty());
  for (const char* said : {"Unknown parameter 'prt' of acme.x; did you mean 'port'?",
                           "Parameter 'port' must be at least 1, not 0",
                           "Parameter 'how' must be one of 'fast', 'slow', not 'quick'",
                           "Parameter 'on' must be true or false", "Parameter 'labels' has 'a' twice"})
    CHECK_MESSAGE(wrong.find(said) != std::string::npos, wrong);
}

TEST_CASE("what is wrong with a manifest is said with file, line and column") {
  CHECK(problems("{\"name\": \"acme.x\",\n \"versoin\": 1}") ==
        "m.json:2:2: unknown key 'versoin'; did you mean 'version'?\nm.json:1:1: 'version' is missing\n"
        "m.json:1:1: 'command' is missing\nm.json:1:1: 'schema' is missing");
  CHECK(problems("{\"name\": }").starts_with("m.json:1:10: "));
  CHECK(problems("[]").ends_with("a manifest is an object"));
  CHECK(problems(std::string(kLargestManifest + 1, ' ')) == "m.json is larger than 256 KiB");
}

TEST_CASE("whatever a manifest must not say is refused by name") {
  struct Row {
    std::string text;
    const char* said;
  };
  const auto property = [](const char* json) { return with("", std::string(R"({"a": )") + json + "}"); };
  for (const Row& row : {
           Row{with(R"("name": "x")"), "name"},  // twice
           Row{with(R"("timeout": 0)"), "'timeout' must be a number from 1 to 2592000"},
           Row{with(R"("timeout": "60")"), "'timeout' must be a number"},
           Row{with(R"("limits": {"memory_mb": 1})"), "'memory_mb' must be a number from 16"},
           Row{with(R"("limits": {"cpus": 1})"), "unknown limit 'cpus'"},
           Row{with(R"("plan_needs": "root")"), "'plan_needs' can only be \"network\""},
           Row{with(R"("sensitive": ["b"])"), "'sensitive' names 'b'"},
           Row{with(R"("examples": ["x"])"), "an example must be an object"},
           Row{with(R"("supports_plan": "yes")"), "'supports_plan' must be true or false"},
           Row{property(R"({"type": "string", "pattern": "^a"})"), "keyword 'pattern' is not supported"},
           Row{property(R"({"type": "number"})"), "the 'type' of 'a' must be"},
           Row{property(R"({"$ref": "#/x"})"), "the 'type' of 'a' must be"},
           Row{property(R"({"type": "array"})"), "'items' must be {\"type\": \"string\"}"},
           Row{property(R"({"type": "array", "items": {"type": "integer"}})"), "'items' must be"},
           Row{property(R"({"type": "object", "additionalProperties": true})"),
               "'additionalProperties' must be"},
           Row{property(R"({"type": "integer", "default": "x"})"), "the default does not fit"},
           Row{property(R"({"type": "integer", "minimum": 5, "maximum": 4})"), "'minimum' is larger"},
           Row{property(R"({"type": "string", "enum": [1]})"), "'enum' must be"},
           Row{with("", R"({"a b": {"type": "string"}})"), "cannot be the name of a parameter"},
       }) {
    CAPTURE(row.text);
    const std::string said = problems(row.text);
    CHECK_MESSAGE(said.find(row.said) != std::string::npos, said);
    CHECK(said.starts_with("m.json:"));
  }
  for (const char* command : {"[]", R"([""])", R"(["../x"])", R"(["./a/../../x"])", R"("./x")", R"([1])"})
    CHECK_FALSE(problems(std::string(R"({"name": "a", "version": "1", "command": )") + command +
                         R"(, "schema": {"type": "object"}})")
                    .empty());
  for (const char* name : {"", "meta.x", "1a", "a/b", "a b", "Ä"})
    CHECK_FALSE(is_module_name(name));
}

}  // namespace modules

// What a state type is to the engine: an object with data of its own, native or not.
#include "states/state.hpp"

#include <doctest/doctest.h>

#include "tests/support/state_harness.hpp"

namespace {

using namespace states;
using tests::StateHarness;

struct Wanted {
  std::string_view name;
  bool present = true;
};
struct Todo {
  std::string what;
};
constexpr auto kWanted =
    param_table(param<&Wanted::name>("name", "").required(), param<&Wanted::present>("present", ""));

class Typed final : public State<Wanted, Todo> {
 public:
  constexpr Typed() : State({.name = "test.typed"}, kWanted) {}

 private:
  PlanWith<Todo> plan(const Wanted& params, Context&) const override {
    if (!params.present) return Plan::kept("nothing to do");
    return {Plan{.verdict = Verdict::change, .message = "make"}, {.what = std::string(params.name)}};
  }
  Applied apply(const Wanted&, const Plan&, const Todo& steps, ApplyContext&) const override {
    return Applied::done("made " + steps.what);
  }
};
constexpr Typed kTyped;

// One class for many programs: what a type is called, what it takes and what it runs is known at run time
// only.
class FromFile final : public StateType {
 public:
  FromFile(std::string_view name, std::vector<Param> params, std::string program)
      : StateType({.name = name}, Schema(params)), params_(std::move(params)), program_(std::move(program)) {}

  Plan make_plan(const ParamValues& params, Context&) const override {
    Plan plan{.verdict = Verdict::change, .message = program_ + " would run"};
    plan.steps = std::make_unique<Arguments>(static_cast<const Given&>(params).values);
    return plan;
  }
  Applied apply_plan(const ParamValues&, const Plan& plan, ApplyContext&) const override {
    std::string comment = program_;
    for (const std::string& value : static_cast<const Arguments&>(*plan.steps).values)
      comment += " " + value;
    return Applied::done(comment);
  }

 private:
  static constexpr std::size_t kMost = 4;
  struct Given : ParamValues {
    std::array<std::string_view, kMost> values{};
  };
  struct Arguments final : StepsBase {
    explicit Arguments(std::span<const std::string_view> given) {
      for (const std::string_view value : given)
        if (!value.empty()) values.emplace_back(value);
    }
    std::vector<std::string> values;
  };

  ParamValues* make_params(base::Arena& arena) const override { return arena.make<Given>(); }
  base::Result<bool> store_param(ParamValues& params, std::size_t row, const base::Value& value,
                                 base::Arena& arena) const override {
    return read_field(static_cast<Given&>(params).values[row], schema()[row], value, arena);
  }

  std::vector<Param> params_;  // what the schema shows; moved here, so its rows stay where they are
  std::string program_;
};

}  // namespace

TEST_CASE("apply gets the steps that plan made; a plan that changes nothing has none") {
  StateHarness machine;
  const Plan change = machine.plan(kTyped, R"({"name": "it"})");
  CHECK(change.verdict == Verdict::change);
  CHECK(change.steps);
  CHECK(machine.apply(kTyped, R"({"name": "it"})", change).comment == "made it");
  CHECK_FALSE(machine.plan(kTyped, R"({"name": "it", "present": false})").steps);
}

TEST_CASE("a plan without steps is refused, not followed") {
  StateHarness machine;
  const auto applied = machine.apply(kTyped, R"({"name": "it"})", Plan{.verdict = Verdict::change});
  CHECK_FALSE(applied.ok());
  CHECK(applied.comment == "Internal error: the plan has no steps");
}

TEST_CASE("one class can be many state types, each with data of its own") {
  const FromFile one("site.one", {{.name = "host", .is_required = true}}, "/usr/lib/modules/one");
  const FromFile two("site.two", {{.name = "port"}, {.name = "host"}}, "/usr/lib/modules/two");
  StateHarness machine;
  CHECK(machine.problems(one, "{}") == "Missing parameter 'host'");
  CHECK(machine.problems(one, R"({"colour": 1})") ==
        "Unknown parameter 'colour' of site.one\nMissing parameter 'host'");
  CHECK(machine.problems(two, R"({"port": []})") == "Parameter 'port' must be a line of text");
  const auto run = [&](const StateType& type, std::string_view json) {
    return machine.apply(type, json, machine.plan(type, json)).comment;
  };
  CHECK(run(one, R"({"host": "a"})") == "/usr/lib/modules/one a");
  CHECK(run(two, R"({"host": "a", "port": 80})") == "/usr/lib/modules/two 80 a");
}

// meta.wait: stands still until the backend says that states of other machines are done.
#include "states/state.hpp"

namespace builtins::meta_wait {

namespace {

using namespace states;

struct Params {
  // Which states are meant, and whether they are done, is the backend's to know.
  References state;
};

constexpr auto kParams = param_table(param<&Params::state>(
    "state",
    "the states of other machines that are waited for, `instance/state` each; the backend reads this"));

class Wait final : public State<Params> {
 public:
  constexpr Wait()
      : State({.name = "meta.wait",
               .summary = "Waits until states of other machines are done",
               .works_below_root = true,
               .timeout = kNoTimeout},
              kParams) {}

 private:
  PlanWith<NoSteps> plan(const Params& params, Context& context) const override;
  Applied apply(const Params& params, const Plan& plan, const NoSteps& steps,
                ApplyContext& context) const override;
  std::vector<Effect> touched(const Params&) const override { return {}; }
};

PlanWith<NoSteps> Wait::plan(const Params&, Context& context) const {
  if (context.waits.is_done(context.state_id)) return Plan::kept({});
  Plan plan;
  plan.verdict = Verdict::change;
  plan.message = "Waits until the backend says that it is done";
  plan.changes = {{.what = "wait", .before = "not done", .after = "done"}};
  return plan;
}

Applied Wait::apply(const Params&, const Plan&, const NoSteps&, ApplyContext& context) const {
  auto waited = context.waits.wait(context.state_id, context.commands.deadline());
  if (!waited) return Applied::failed(waited.error());
  return Applied::done({});
}

constexpr Wait kType;

}  // namespace

extern const StateType& kState;
constinit const StateType& kState = kType;

}  // namespace builtins::meta_wait

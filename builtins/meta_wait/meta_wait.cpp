// meta.wait: stands still until the backend says that states of other machines are done.
#include "states/state.hpp"

namespace builtins::meta_wait {

namespace {

using namespace states;

struct Params {
  // Not interpreted here: which states are meant, and whether they are done, is the backend's to know.
  // Objects and lists of objects are accepted for that reason.
  bool given = false;
};

base::Result<void> accept_anything(void* params, const Param&, const base::Value& value, base::Arena&) {
  static_cast<Params*>(params)->given = !value.is_null();
  return {};
}

constexpr std::array kParams{
    Param{
        .name = "state",
        .doc =
            "the states of other machines that are waited for, `instance/state` each; the backend reads this",
        .wire = Wire::references,
        .store = accept_anything},
};

Plan plan(const Params&, Context& context) {
  if (context.waits.is_done(context.state_id)) return Plan::kept({});
  Plan plan;
  plan.verdict = Verdict::change;
  plan.message = "Waits until the backend says that it is done";
  plan.changes = {{.what = "wait", .before = "not done", .after = "done"}};
  return plan;
}

Applied apply(const Params&, const Plan&, ApplyContext& context) {
  auto waited = context.waits.wait(context.state_id, context.commands.deadline());
  if (!waited) return Applied::failed(waited.error());
  return Applied::done({});
}

}  // namespace

extern const StateType kState;
const StateType kState{
    .name = "meta.wait",
    .summary = "Waits until states of other machines are done",
    .params = kParams,
    .works_below_root = true,
    .timeout = kNoTimeout,
    .make_params = make_params<Params>,
    .plan = plan_with<Params, plan>,
    .apply = apply_with<Params, apply>,
};

}  // namespace builtins::meta_wait

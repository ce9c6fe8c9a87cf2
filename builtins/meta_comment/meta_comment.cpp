// meta.comment: a remark in a recipe. Always kept.
#include "states/state.hpp"

namespace builtins::meta_comment {

namespace {

using namespace states;

struct Params {
  std::optional<std::string_view> comment;
};

constexpr std::array kParams{
    param<&Params::comment>("comment", "free text for the reader of the recipe").multiline(),
};

Plan plan(const Params&, Context&) {
  return Plan::kept({});
}

Applied apply(const Params&, const Plan&, ApplyContext&) {
  return Applied::done({});
}

}  // namespace

extern const StateType kState;
const StateType kState{
    .name = "meta.comment",
    .aliases = {"meta.#"},
    .summary = "A remark; does nothing and always succeeds",
    .params = kParams,
    .works_below_root = true,
    .make_params = make_params<Params>,
    .plan = plan_with<Params, plan>,
    .apply = apply_with<Params, apply>,
};

}  // namespace builtins::meta_comment

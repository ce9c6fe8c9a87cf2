// meta.comment: a remark in a recipe. Always kept.
#include "states/state.hpp"

namespace builtins::meta_comment {

namespace {

using namespace states;

struct Params {
  std::optional<std::string_view> comment;
};

constexpr auto kParams =
    param_table(param<&Params::comment>("comment", "free text for the reader of the recipe").multiline());

class Comment final : public State<Params> {
 public:
  constexpr Comment()
      : State({.name = "meta.comment",
               .aliases = {"meta.#"},
               .summary = "A remark; does nothing and always succeeds",
               .works_below_root = true},
              kParams) {}

 private:
  PlanWith<NoSteps> plan(const Params& params, Context& context) const override;
  Applied apply(const Params& params, const Plan& plan, const NoSteps& steps,
                ApplyContext& context) const override;
  std::vector<Effect> touched(const Params&) const override { return {}; }
};

PlanWith<NoSteps> Comment::plan(const Params&, Context&) const {
  return Plan::kept({});
}

Applied Comment::apply(const Params&, const Plan&, const NoSteps&, ApplyContext&) const {
  return Applied::done({});
}

constexpr Comment kType;

}  // namespace

extern const StateType& kState;
constinit const StateType& kState = kType;

}  // namespace builtins::meta_comment

// UnusableState: stands in a recipe of version 1 for a state that cannot be used (an unknown module, values
// that its module does not take). It keeps its place: the states before it run, and it fails in its turn,
// with what is wrong with it as the reason.
//
// Constant after construction. It lives as long as the recipe that it is in.
#pragma once

#include <string>

#include "states/state.hpp"

namespace recipe {

class UnusableState final : public states::StateType {
 public:
  // `known`: the type of its module, whose secrets stay secrets; null: there is no such module. `name` and
  // `known` must outlive it.
  UnusableState(std::string_view name, const states::StateType* known, std::string problem)
      : StateType({.name = name,
                   .summary = "A state that cannot be used",
                   .rereadable = false,
                   .works_below_root = true},
                  known ? known->schema() : states::Schema()),
        problem_(std::move(problem)) {}

  // Where others look at parameters.
  const states::ParamValues& no_params() const { return nothing_; }

  states::Plan make_plan(const states::ParamValues&, states::Context&) const override {
    return states::Plan::fail(problem_);
  }
  states::Applied apply_plan(const states::ParamValues&, const states::Plan&,
                             states::ApplyContext&) const override {
    return states::Applied::failed(problem_);
  }
  std::vector<states::Effect> possible_effects(const states::ParamValues&) const override { return {}; }

 private:
  // Nobody reads values with it.
  states::ParamValues* make_params(base::Arena& arena) const override {
    return arena.make<states::ParamValues>();
  }
  base::Result<bool> store_param(states::ParamValues&, std::size_t, const base::Value&,
                                 base::Arena&) const override {
    return true;
  }

  const std::string problem_;
  const states::ParamValues nothing_{};
};

}  // namespace recipe

// StateType: everything the engine knows of a state module, in one row.
//
// A module is one folder, states/<name with underscores>/, whose .cpp defines `const StateType kState` in the
// namespace states::<name with underscores>. The registry and docs/states/ are generated from these rows;
// nothing else is to be edited when a module is added.
#pragma once

#include <array>
#include <chrono>
#include <optional>
#include <span>
#include <string_view>

#include "base/arena.hpp"
#include "base/result.hpp"
#include "states/context.hpp"
#include "states/param.hpp"
#include "states/plan.hpp"

namespace states {

// Which systems a module is for.
enum class Family { any, debian, rhel };

// The files a state watches. When one differs from what it was at the state's last success, plan() finds the
// state's watch_triggered set and names the action.
struct WatchRequest {
  List paths;
  bool first_counts = true;  // a file never seen before counts as changed
  bool always = false;       // triggered in every round, nothing is remembered
};

// For states that may take as long as they like.
inline constexpr std::chrono::seconds kNoTimeout = std::chrono::hours(24 * 365 * 10);

struct StateType {
  std::string_view name;
  std::array<std::string_view, 2> aliases{};
  std::string_view summary;  // one line for lists
  std::span<const Param> params{};
  Family family = Family::any;
  bool rereadable = true;  // false: plan() after apply() cannot tell, so "did not converge" is not checked
  bool works_below_root = false;      // honours Host::root; others refuse to run with one
  std::chrono::seconds timeout{600};  // unless the recipe's state says another

  void* (*make_params)(base::Arena&) = nullptr;
  // Rules between parameters that need no look at the machine; optional.
  base::Result<void> (*check)(const void* params) = nullptr;
  // Reads the machine and changes nothing, anywhere.
  Plan (*plan)(const void* params, Context& context) = nullptr;
  // Makes a plan with the verdict `change` true.
  Applied (*apply)(const void* params, const Plan& plan, ApplyContext& context) = nullptr;
  WatchRequest (*watch)(const void* params) = nullptr;  // optional
  // A time limit among the module's own parameters; the recipe's `timeout` for the state still wins.
  // Optional.
  std::optional<std::chrono::seconds> (*time_limit)(const void* params) = nullptr;

  bool is_called(std::string_view other) const {
    return other == name || (!other.empty() && (other == aliases[0] || other == aliases[1]));
  }
};

// Adapters from a module's typed functions to the row's untyped ones:
//   const StateType kState{.name = "linux.file", .params = kParams, .make_params = make_params<Params>,
//                          .plan = plan_with<Params, plan>, .apply = apply_with<Params, apply>};
template <class Params>
void* make_params(base::Arena& arena) {
  return arena.make<Params>();
}

template <class Params, base::Result<void> (*Check)(const Params&)>
base::Result<void> check_with(const void* params) {
  return Check(*static_cast<const Params*>(params));
}

template <class Params, Plan (*Function)(const Params&, Context&)>
Plan plan_with(const void* params, Context& context) {
  return Function(*static_cast<const Params*>(params), context);
}

template <class Params, Applied (*Function)(const Params&, const Plan&, ApplyContext&)>
Applied apply_with(const void* params, const Plan& plan, ApplyContext& context) {
  return Function(*static_cast<const Params*>(params), plan, context);
}

template <class Params, WatchRequest (*Function)(const Params&)>
WatchRequest watch_with(const void* params) {
  return Function(*static_cast<const Params*>(params));
}

template <class Params, std::optional<std::chrono::seconds> (*Function)(const Params&)>
std::optional<std::chrono::seconds> time_limit_with(const void* params) {
  return Function(*static_cast<const Params*>(params));
}

// A state type with the page that documents it (Markdown, from the module's page.md).
struct RegistryEntry {
  const StateType* type = nullptr;
  std::string_view page;
};

// The native modules, by name. Generated from the folders below states/.
std::span<const RegistryEntry> native_states();

}  // namespace states

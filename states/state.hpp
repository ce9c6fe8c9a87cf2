// StateType: everything the engine knows of a kind of state, and State<Params, Steps>: how a native module
// writes one.
//
// A module is one folder, states/<name with underscores>/, whose .cpp defines `const StateType& kState` in
// the namespace states::<name with underscores>. The registry and docs/states/ are generated from these
// objects; nothing else is to be edited when a module is added.
//
// A state type is constant after construction. Any thread may read its facts and its schema, and read
// parameters; plans are made and applied on one thread at a time, the one that owns the Context.
#pragma once

#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "base/values/arena.hpp"
#include "states/context.hpp"
#include "states/param.hpp"
#include "states/plan.hpp"
#include "states/schema.hpp"

namespace states {

// Which systems a module is for.
enum class Family { any, debian, rhel };

// The files and folders that a state watches. When one differs from what it was at the state's last success,
// plan() finds the state's watch_triggered set and names the action.
struct WatchRequest {
  List paths;
  bool first_counts = true;  // a file never seen before counts as changed
  bool always = false;       // triggered in every round, nothing is remembered
  // Who reacts, each for himself: the services of a state, by name. What one has reacted to is remembered for
  // him though another one fails (Context::watch_reacted, Applied::reacted). Empty: the state as a whole.
  std::vector<std::string_view> parts{};
};

// Which orders the services of a state take from other states of a recipe (Context::orders).
enum class TakesOrders { none, restart, restart_and_reload };

// For states that may take as long as they like.
inline constexpr std::chrono::seconds kNoTimeout = std::chrono::hours(24 * 365 * 10);

// The parameters of one state, read and checked. In the recipe's arena, so never destroyed. Only the type
// that read them knows what is in them.
struct ParamValues {};

// What is known of a state type besides its parameters.
struct StateFacts {
  std::string_view name;
  std::array<std::string_view, 2> aliases{};
  std::string_view summary;  // one line for lists
  Family family = Family::any;
  bool rereadable = true;  // false: planning after applying cannot tell, so "did not converge" is not checked
  bool can_plan = true;    // false: a plan of the recipe says "unknown"; a run applies it in every round
  bool works_below_root = false;  // honours Host::root; others refuse to run with one
  bool watches_files = false;     // watch_request() says which
  TakesOrders takes_orders = TakesOrders::none;
  std::chrono::seconds timeout{600};  // unless the recipe's state says another
};

// Nobody owns one through this interface, so that native types can be constants.
class StateType {
 public:
  StateType(const StateType&) = delete;
  StateType& operator=(const StateType&) = delete;

  constexpr std::string_view name() const { return facts_.name; }
  constexpr std::span<const std::string_view> aliases() const { return facts_.aliases; }  // some may be ""
  constexpr std::string_view summary() const { return facts_.summary; }
  constexpr Family family() const { return facts_.family; }
  constexpr bool rereadable() const { return facts_.rereadable; }
  constexpr bool can_plan() const { return facts_.can_plan; }
  constexpr bool works_below_root() const { return facts_.works_below_root; }
  constexpr bool watches_files() const { return facts_.watches_files; }
  constexpr TakesOrders takes_orders() const { return facts_.takes_orders; }
  constexpr std::chrono::seconds timeout() const { return facts_.timeout; }
  constexpr const Schema& schema() const { return schema_; }

  // Reads a state's `parameter` object into new values in `arena`, and checks them. All problems are
  // appended; null if there is any. Unknown names are problems, or go to `warnings` where that is given.
  const ParamValues* read_params(const base::Value& parameter, base::Arena& arena,
                                 std::vector<ParamProblem>& problems,
                                 std::vector<ParamProblem>* warnings = nullptr) const;
  // The same without check_params(): each parameter by itself, as the schema says.
  const ParamValues* read_values(const base::Value& parameter, base::Arena& arena,
                                 std::vector<ParamProblem>& problems,
                                 std::vector<ParamProblem>* warnings = nullptr) const;

  // `params` of the following were read by this type.

  // Rules between parameters that need no look at the machine.
  virtual base::Result<void> check_params(const ParamValues& /*params*/) const { return {}; }
  // Reads the machine and changes nothing, anywhere.
  virtual Plan make_plan(const ParamValues& params, Context& context) const = 0;
  // Makes a plan of this type, with the verdict `change`, true.
  virtual Applied apply_plan(const ParamValues& params, const Plan& plan, ApplyContext& context) const = 0;
  // Asked when `watches_files`.
  virtual WatchRequest watch_request(const ParamValues& /*params*/) const { return {}; }
  // All that applying a state with these parameters could ever change, for when its plan is not known: later
  // states that depend on any of it are not known either. Whether something would be there does not matter.
  virtual std::vector<Effect> possible_effects(const ParamValues& /*params*/) const {
    return {{.kind = EffectKind::anything}};
  }
  // Whether planning after applying can tell what came of it with these parameters; as rereadable() in
  // general.
  virtual bool rereadable_with(const ParamValues& /*params*/) const { return rereadable(); }
  // A time limit among the parameters; the recipe's `timeout` for the state still wins.
  virtual std::optional<std::chrono::seconds> own_time_limit(const ParamValues& /*params*/) const {
    return std::nullopt;
  }

 protected:
  constexpr StateType(const StateFacts& facts, Schema schema) : facts_(facts), schema_(schema) {}
  ~StateType() = default;

  // New values, with nothing given yet.
  virtual ParamValues* make_params(base::Arena& arena) const = 0;
  // Reads a value, which is not null, for a row of the schema; answers whether it counts as given.
  virtual base::Result<bool> store_param(ParamValues& params, std::size_t row, const base::Value& value,
                                         base::Arena& arena) const = 0;

 private:
  StateFacts facts_;
  Schema schema_;
};

// The typed layer: a native module derives from it, and sees its own Params and Steps only. The casts are
// here: the engine hands back what the same object has made.
//
//   class File final : public State<Params, Steps> {
//    public:
//     constexpr File() : State({.name = "linux.file", .summary = "…"}, kParams) {}
//    private:
//     PlanWith<Steps> plan(const Params& params, Context& context) const override;
//     Applied apply(const Params&, const Plan&, const Steps&, ApplyContext&) const override;
//   };
//   constexpr File kType;
//   constinit const StateType& kState = kType;
template <class Params, class Steps = NoSteps>
class State : public StateType {
 public:
  // What was read by such a type.
  static const Params& values(const ParamValues& params) {
    return static_cast<const ParamsBox&>(params).value;
  }

  base::Result<void> check_params(const ParamValues& params) const final { return check(values(params)); }

  // A plan that changes nothing allocates nothing for steps.
  Plan make_plan(const ParamValues& params, Context& context) const final {
    PlanWith<Steps> planned = plan(values(params), context);
    if constexpr (!std::is_empty_v<Steps>)
      if (planned.plan.verdict == Verdict::change)
        planned.plan.steps = std::make_unique<StepsBox>(std::move(planned.steps).value_or(Steps{}));
    return std::move(planned.plan);
  }

  Applied apply_plan(const ParamValues& params, const Plan& made, ApplyContext& context) const final {
    if constexpr (std::is_empty_v<Steps>) {
      return apply(values(params), made, Steps{}, context);
    } else {
      if (!made.steps) return Applied::failed("Internal error: the plan has no steps");
      return apply(values(params), made, static_cast<const StepsBox&>(*made.steps).value, context);
    }
  }

  WatchRequest watch_request(const ParamValues& params) const final { return watch(values(params)); }

  std::vector<Effect> possible_effects(const ParamValues& params) const final {
    return touched(values(params));
  }

  bool rereadable_with(const ParamValues& params) const final { return can_reread(values(params)); }

  std::optional<std::chrono::seconds> own_time_limit(const ParamValues& params) const final {
    return time_limit(values(params));
  }

 protected:
  // Without parameters.
  constexpr explicit State(const StateFacts& facts) : StateType(facts, {}) {}
  // `table` is a constant: it is not copied.
  template <std::size_t Count>
  constexpr State(const StateFacts& facts, const ParamTable<Params, Count>& table)
      : StateType(facts, Schema(table.schema)), stores_(table.stores) {}

  ~State() = default;

 private:
  // What a module writes; see StateType for what each is for.
  virtual base::Result<void> check(const Params& /*params*/) const { return {}; }
  virtual PlanWith<Steps> plan(const Params& params, Context& context) const = 0;
  virtual Applied apply(const Params& params, const Plan& plan, const Steps& steps,
                        ApplyContext& context) const = 0;
  virtual WatchRequest watch(const Params& /*params*/) const { return {}; }
  virtual std::vector<Effect> touched(const Params& /*params*/) const {
    return {{.kind = EffectKind::anything}};
  }
  virtual bool can_reread(const Params& /*params*/) const { return rereadable(); }
  virtual std::optional<std::chrono::seconds> time_limit(const Params& /*params*/) const {
    return std::nullopt;
  }

  struct ParamsBox : ParamValues {
    Params value;
  };
  struct StepsBox final : StepsBase {
    explicit StepsBox(Steps&& steps) : value(std::move(steps)) {}
    Steps value;
  };

  ParamValues* make_params(base::Arena& arena) const final { return arena.make<ParamsBox>(); }
  base::Result<bool> store_param(ParamValues& params, std::size_t row, const base::Value& value,
                                 base::Arena& arena) const final {
    return stores_[row](static_cast<ParamsBox&>(params).value, schema()[row], value, arena);
  }

  std::span<const Store<Params>> stores_;
};

// A state type with the page that documents it (Markdown, from the module's page.md).
struct RegistryEntry {
  const StateType* type = nullptr;
  std::string_view page;
};

// The native modules, by name. Generated from the folders below states/.
std::span<const RegistryEntry> native_states();

}  // namespace states

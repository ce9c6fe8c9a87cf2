// linux.group: a group of the system, with this id.
#include "states/accounts/account_values.hpp"
#include "states/programs/tool_sequence.hpp"
#include "states/state.hpp"

namespace states::linux_group {

namespace {

struct Params {
  std::string_view groupname;
  std::optional<std::string_view> gid;
  bool system_group = false;
};

constexpr auto kParams =
    param_table(param<&Params::groupname>("groupname", "name of the group").required(),
                param<&Params::gid>("gid", "its number").fallback("kept; the system chooses when created"),
                param<&Params::system_group>("system-group",
                                             "take the number of a new group from those for system groups")
                    .alias("system")
                    .fallback("false"));

struct Steps {
  std::vector<std::string> argv;
  std::optional<gid_t> former_gid;  // nothing for a new group
};

class Group final : public State<Params, Steps> {
 public:
  constexpr Group() : State({.name = "linux.group", .summary = "A group of the system"}, kParams) {}

 private:
  base::Result<void> check(const Params& params) const override;
  PlanWith<Steps> plan(const Params& params, Context& context) const override;
  Applied apply(const Params& params, const Plan& plan, const Steps& steps,
                ApplyContext& context) const override;
  std::vector<Effect> touched(const Params& params) const override;
};

base::Result<void> Group::check(const Params& params) const {
  if (auto name = accounts::check_account_name("groupname", params.groupname); !name) return name;
  if (params.gid && !accounts::parse_account_id(*params.gid))
    return base::Error(base::ErrorCode::invalid, "Illegal gid '" + std::string(*params.gid) + "'");
  return {};
}

std::optional<gid_t> wanted_gid(const Params& params) {
  return params.gid ? accounts::parse_account_id(*params.gid) : std::nullopt;
}

std::vector<Effect> Group::touched(const Params& params) const {
  std::vector<Effect> touched{{.kind = EffectKind::group, .name = std::string(params.groupname)}};
  if (const auto gid = wanted_gid(params))
    touched.push_back({.kind = EffectKind::group, .name = std::to_string(*gid)});
  return touched;
}

PlanWith<Steps> Group::plan(const Params& params, Context& context) const {
  const std::string name(params.groupname);
  if (const Overlay::Entry* earlier = context.overlay.find(EffectKind::group, name))
    return Plan::unknown(earlier->state_id, "Group " + name + " depends on what an earlier state does to it");
  const base::Group* found = context.accounts.group(name);
  const std::optional<gid_t> gid = wanted_gid(params);
  if (found && (!gid || *gid == found->gid)) return Plan::kept("Group " + name + " is as wanted");
  if (gid) {
    if (const Overlay::Entry* earlier = context.overlay.find(EffectKind::group, std::to_string(*gid)))
      return Plan::unknown(earlier->state_id,
                           "gid " + std::to_string(*gid) + " depends on what an earlier state does");
    if (const base::Group* other = context.accounts.group_by_id(*gid))
      return Plan::fail("gid " + std::to_string(*gid) + " is already used by group " + other->name);
  }

  Plan plan{.verdict = Verdict::change};
  // The number too: a later linux.user may name its group by it.
  // Whatever belongs to a group that is here would belong to another once it has another number.
  plan.effects = {{.kind = EffectKind::group,
                   .name = name,
                   .certain = !found,
                   .alias = gid ? std::to_string(*gid) : std::string()}};
  if (found)
    plan.effects.push_back({.kind = EffectKind::group, .name = std::to_string(found->gid), .certain = false});
  if (gid) plan.effects.push_back({.kind = EffectKind::group, .name = std::to_string(*gid), .alias = name});
  Steps steps;
  if (found) {
    plan.message = "Change the gid of " + name;
    plan.changes = {
        {.what = "gid of " + name, .before = std::to_string(found->gid), .after = std::to_string(*gid)}};
    steps.former_gid = found->gid;
    steps.argv = {"groupmod", "-g", std::to_string(*gid), "--", name};
  } else {
    plan.message = "Create group " + name;
    plan.changes = {{.what = "group " + name,
                     .before = "absent",
                     .after = gid ? "gid " + std::to_string(*gid) : "present"}};
    steps.argv = {"groupadd"};
    if (params.system_group) steps.argv.emplace_back("-r");
    if (gid) steps.argv.insert(steps.argv.end(), {"-g", std::to_string(*gid)});
    steps.argv.insert(steps.argv.end(), {"--", name});
  }
  return {std::move(plan), std::move(steps)};
}

Applied Group::apply(const Params& params, const Plan&, const Steps& steps, ApplyContext& context) const {
  const std::string name(params.groupname);
  programs::ToolSequence tools(context.commands, !context.sensitive);
  if (auto ran = tools.run(steps.argv); !ran) return Applied::failed(ran.error(), tools.output());
  context.accounts.forget();
  if (steps.former_gid)
    return Applied::done("gid of " + name + " changed " + std::to_string(*steps.former_gid) + " -> " +
                             std::to_string(*wanted_gid(params)),
                         tools.output());
  const base::Group* made = context.accounts.group(name);
  if (!made) return Applied::failed("groupadd succeeded, but there is no group " + name, tools.output());
  return Applied::done("Group " + name + " created (gid " + std::to_string(made->gid) + ")", tools.output());
}

constexpr Group kType;

}  // namespace

extern const StateType& kState;
constinit const StateType& kState = kType;

}  // namespace states::linux_group

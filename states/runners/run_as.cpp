#include "states/runners/run_as.hpp"

#include <unistd.h>

#include <algorithm>

#include "states/files/ownership.hpp"

namespace states::runners {

std::variant<Runner, Plan> run_as(std::optional<std::string_view> user, std::optional<std::string_view> group,
                                  Context& context) {
  auto resolved = files::resolve_owner(user, group, std::nullopt, context);
  if (auto* stop = std::get_if<Plan>(&resolved)) return std::move(*stop);
  const base::Attributes& ids = std::get<base::Attributes>(resolved);

  Runner runner;
  const base::User* account = nullptr;
  if (user && ids.uid) {
    account = context.accounts.user(*user);
    if (!account) account = context.accounts.user_by_id(*ids.uid);
    // One that an earlier state would create has a number and no more yet.
    const Overlay::Entry* planned = account ? nullptr : context.overlay.find(EffectKind::user, *user);
    if (!account && !(planned && planned->effect.present))
      return Plan::fail("User '" + std::string(*user) + "' does not exist");
    runner.identity =
        account ? context.accounts.identity_of(*account) : base::Identity{*ids.uid, ::getegid(), {}};
  } else {
    account = context.accounts.user_by_id(::geteuid());
  }
  if (ids.gid) {
    if (!runner.identity) runner.identity = base::Identity{::geteuid(), *ids.gid, {}};
    runner.identity->gid = *ids.gid;
    auto& groups = runner.identity->groups;
    if (std::ranges::find(groups, *ids.gid) == groups.end()) groups.push_back(*ids.gid);
  }
  if (account) {
    runner.name = account->name;
    runner.home = account->home.empty() ? "/" : account->home;
    runner.shell = account->shell.empty() ? "/bin/sh" : account->shell;
  }
  return runner;
}

}  // namespace states::runners

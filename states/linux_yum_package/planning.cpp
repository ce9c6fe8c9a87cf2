#include "states/linux_yum_package/planning.hpp"

#include <algorithm>
#include <map>
#include <variant>

#include "base/text.hpp"
#include "states/downloads/local_file.hpp"
#include "states/packages/lists.hpp"
#include "states/versions/rpm_version.hpp"

namespace states::linux_yum_package {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;
using rpm::RpmPackage;
using rpm::RpmRemoval;

// In Context::notes: the newest versions that repositories had when they were asked in this round.
struct Newest {
  std::map<std::string, std::string, std::less<>> versions;
};

Action action_for(const Entry& entry, const std::vector<RpmPackage>& installed) {
  if (entry.want == Want::removed) return Action::remove;
  return entry.want == Want::latest && !installed.empty() ? Action::look_up : Action::install;
}

std::string after_text(const Entry& entry) {
  switch (entry.want) {
    case Want::removed:
      return "removed";
    case Want::latest:
      return "latest";
    case Want::version:
      return version_text(entry);
    case Want::file:
      return entry.version + " from " + entry.file;
    case Want::installed:
      break;
  }
  return "installed";
}

// A package file as the package that it holds; a plan when that cannot be said (yet).
std::variant<Entry, Plan> resolve_file(Entry entry, Context& context) {
  const Overlay::Entry* earlier = context.overlay.path(entry.file);
  auto found = context.tree.look(entry.file);
  if (!earlier && !found) return Plan::fail(found.error());
  if (!earlier && !*found) earlier = context.overlay.provider(EffectKind::file, entry.file);
  if (earlier)
    return Plan::unknown(earlier->state_id, entry.file + " depends on what an earlier state does to it");
  if (!*found) return Plan::fail("Package file " + entry.file + " does not exist");
  if (auto fine = downloads::check_local(entry.file, entry.checksum, context); !fine)
    return Plan::fail(fine.error());
  auto package = rpm::package_in_file(entry.file, context);
  if (!package) return Plan::fail(package.error());
  entry.name = std::move(package->name);
  entry.architecture = package->architecture == "noarch" ? std::string() : std::move(package->architecture);
  entry.version = std::move(package->version);
  entry.relation = versions::Relation::greater_equal;
  return entry;
}

std::optional<bool> is_as_wanted_after(const Effect& earlier, Want want) {
  if (earlier.present && want != Want::installed && want != Want::removed) return std::nullopt;
  return earlier.present != (want == Want::removed);
}

std::variant<Item, Plan> judge(Entry entry, Plan& plan, Context& context) {
  if (entry.want == Want::file) {
    auto resolved = resolve_file(std::move(entry), context);
    if (auto* stop = std::get_if<Plan>(&resolved)) return std::move(*stop);
    entry = std::get<Entry>(std::move(resolved));
  }
  auto installed = installed_for(entry, context);
  if (!installed) return Plan::fail(installed.error());
  bool wanted = is_as_wanted(entry, *installed, context);
  Item item{.before = installed->empty() ? std::string() : installed->front().version};
  const std::string name = entry.whole_name();
  if (const Overlay::Entry* earlier = context.overlay.find(EffectKind::package, name)) {
    const auto after = is_as_wanted_after(earlier->effect, entry.want);
    if (!after || !*after)
      return Plan::unknown(earlier->state_id,
                           "package " + name + " depends on what an earlier state does to it");
    wanted = true;
  }
  if (!wanted) {
    item.action = action_for(entry, *installed);
    plan.changes.push_back({.what = "package " + name,
                            .before = item.before.empty() ? "absent" : item.before,
                            .after = after_text(entry)});
    plan.effects.push_back(
        {.kind = EffectKind::package, .name = name, .present = entry.want != Want::removed});
  }
  item.entry = std::move(entry);
  return item;
}

std::string plan_message(const Steps& steps) {
  std::vector<std::string> removed, installed, changed, looked_up, unnamed;
  for (const Item& item : steps.items) {
    const std::string name = item.entry.whole_name();
    if (item.action == Action::remove) removed.push_back(name);
    if (item.action == Action::look_up) looked_up.push_back(name);
    if (item.action == Action::install) (item.before.empty() ? installed : changed).push_back(name);
  }
  if (steps.unnamed && !steps.unnamed->empty()) unnamed = {packages::bounded_list(names_of(*steps.unnamed))};
  std::string message;
  packages::append_list(message, "remove", removed);
  packages::append_list(message, "install", installed);
  packages::append_list(message, "change the version of", changed);
  packages::append_list(message, "look for a newer version of", looked_up);
  packages::append_list(message, "remove also", unnamed);
  packages::append_list(message, "skipped:", steps.skipped);
  packages::capitalise(message);
  return message;
}

// What dnf would remove besides, by the metadata that is there; apply looks again in any case.
std::optional<std::vector<RpmRemoval>> forecast_unnamed(const Steps& steps, const Params& params,
                                                        Context& context) {
  if (!context.host.is_running_system() || !base::find_program(rpm::dnf_program())) return std::nullopt;
  std::vector<RpmRemoval> unnamed;
  for (const rpm::DnfTransaction& transaction : transactions_for(steps.items, params)) {
    auto removals = rpm::forecast_removals(transaction, context);
    if (!removals) return std::nullopt;
    for (RpmRemoval& removal : unnamed_among(*removals, steps.items))
      if (std::ranges::find(unnamed, removal) == unnamed.end()) unnamed.push_back(std::move(removal));
  }
  std::erase_if(unnamed, [&](const RpmRemoval& removal) {
    const Overlay::Entry* earlier = context.overlay.find(EffectKind::package, removal.name);
    return earlier && !earlier->effect.present;
  });
  return unnamed;
}

// Until it is chosen from what repositories offer: what dnf makes of the name.
std::string target_of(const Item& item) {
  if (!item.target.empty()) return item.target;
  return item.entry.want == Want::file ? item.entry.file : item.entry.whole_name();
}

}  // namespace

Result<std::vector<RpmPackage>> installed_for(const Entry& entry, Context& context) {
  auto database = rpm::installed_rpms(context);
  if (!database) return std::move(database).error();
  std::vector<RpmPackage> installed;
  for (const RpmPackage* package : (*database)->find(entry.name, entry.architecture))
    installed.push_back(*package);
  // A name that is only provided does not say which package is to go, nor in which version it is there.
  if (installed.empty() && entry.want != Want::removed && entry.want != Want::file &&
      entry.architecture.empty())
    return rpm::providers_of(entry.name, context);
  return installed;
}

void note_newest(const Entry& entry, std::string version, Context& context) {
  context.notes.get<Newest>().versions[entry.whole_name()] = std::move(version);
}

bool is_as_wanted(const Entry& entry, const std::vector<RpmPackage>& installed, Context& context) {
  switch (entry.want) {
    case Want::removed:
      return installed.empty();
    case Want::installed:
      return !installed.empty();
    case Want::latest: {
      const auto& versions = context.notes.get<Newest>().versions;
      const auto newest = versions.find(entry.whole_name());
      return !installed.empty() && newest != versions.end() &&
             versions::compare_rpm_versions(installed.front().version, newest->second) >= 0;
    }
    case Want::version:
    case Want::file:
      return std::ranges::any_of(
          installed, [&](const RpmPackage& package) { return is_satisfied(entry, package.version); });
  }
  return false;
}

std::vector<std::string> options_for(const Params& params) {
  std::vector<std::string> options;
  if (params.repo) options = {"--disablerepo=*", "--enablerepo=" + std::string(*params.repo)};
  if (!params.verify_gpg) options.emplace_back("--nogpgcheck");
  if (params.allow_removals) options.emplace_back("--allowerasing");
  return options;
}

std::vector<rpm::DnfTransaction> transactions_for(const std::vector<Item>& items, const Params& params) {
  rpm::DnfTransaction removal{.action = "remove"};
  rpm::DnfTransaction installation{.action = "install", .options = options_for(params)};
  rpm::DnfTransaction downgrade{.action = "downgrade", .options = options_for(params)};
  for (const Item& item : items) {
    if (item.action == Action::remove) removal.targets.push_back(item.entry.whole_name());
    if (item.action != Action::install) continue;
    const bool is_older = !item.before.empty() && !item.target.empty() && item.entry.want == Want::version &&
                          versions::compare_rpm_versions(item.entry.version, item.before) < 0;
    (is_older ? downgrade : installation).targets.push_back(target_of(item));
  }
  std::vector<rpm::DnfTransaction> transactions;
  for (rpm::DnfTransaction* transaction : {&removal, &downgrade, &installation})
    if (!transaction->targets.empty()) transactions.push_back(std::move(*transaction));
  return transactions;
}

std::vector<std::string> names_of(const std::vector<RpmRemoval>& removals) {
  std::vector<std::string> names;
  for (const RpmRemoval& removal : removals)
    names.push_back(removal.name);
  return names;
}

std::vector<RpmRemoval> unnamed_among(const std::vector<RpmRemoval>& removals,
                                      const std::vector<Item>& items) {
  std::vector<RpmRemoval> unnamed;
  for (const RpmRemoval& removal : removals)
    if (std::ranges::none_of(items, [&](const Item& item) {
          return item.entry.want == Want::removed && item.entry.name == removal.name;
        }))
      unnamed.push_back(removal);
  return unnamed;
}

Result<void> check_removals(const std::vector<Item>& items, const std::vector<RpmRemoval>& unnamed,
                            bool allow_removals) {
  if (unnamed.empty()) return {};
  const std::vector<std::string> names = names_of(unnamed);
  std::vector<std::string> wanted;
  for (const Item& item : items)
    if (item.entry.want != Want::removed && std::ranges::find(names, item.entry.name) != names.end())
      wanted.push_back(item.entry.whole_name());
  if (!wanted.empty())
    return Error(ErrorCode::invalid,
                 "dnf would remove " + packages::bounded_list(wanted) +
                     ", which this state wants to be installed: they cannot all be as wanted "
                     "at once");
  if (allow_removals) return {};
  const bool is_one = names.size() == 1;
  return Error(ErrorCode::invalid,
               "dnf would also remove " +
                   (is_one ? std::string("a package") : std::to_string(names.size()) + " packages") +
                   " that the recipe does not name: " + packages::bounded_list(names) + ". Name " +
                   (is_one ? "it" : "them") +
                   " as 'removed' in the same state, or permit it with 'allow_removals: true'");
}

std::string kept_message(const Steps& steps) {
  std::string message = steps.items.size() == 1
                            ? "Package " + steps.items.front().entry.whole_name() + " is already as wanted"
                            : "All " + std::to_string(steps.items.size()) + " packages are already as wanted";
  packages::append_list(message, "skipped:", steps.skipped);
  return message;
}

PlanWith<Steps> plan_packages(const Params& params, Context& context) {
  auto request = read_request(params.name);
  if (!request) return Plan::fail(request.error());
  Plan plan;
  Steps steps{.skipped = std::move(request->skipped)};
  for (Entry& entry : request->entries) {
    auto judged = judge(std::move(entry), plan, context);
    if (auto* stop = std::get_if<Plan>(&judged)) return std::move(*stop);
    steps.items.push_back(std::get<Item>(std::move(judged)));
  }
  if (plan.changes.empty()) return Plan::kept(kept_message(steps));
  steps.unnamed = forecast_unnamed(steps, params, context);
  if (steps.unnamed) {
    if (auto checked = check_removals(steps.items, *steps.unnamed, params.allow_removals); !checked)
      return Plan::fail(checked.error());
    for (const RpmRemoval& removal : *steps.unnamed) {
      plan.changes.push_back({.what = "package " + removal.name,
                              .before = removal.version,
                              .after = "removed (not named by the recipe)"});
      plan.effects.push_back({.kind = EffectKind::package, .name = removal.name, .present = false});
    }
  }
  plan.is_refresh = std::ranges::all_of(steps.items, [](const Item& item) {
    return item.action == Action::none || item.action == Action::look_up;
  });
  plan.verdict = Verdict::change;
  plan.message = plan_message(steps);
  return {std::move(plan), std::move(steps)};
}

}  // namespace states::linux_yum_package

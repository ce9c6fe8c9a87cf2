#include "states/linux_apt_package/planning.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <variant>

#include "base/files/below_root.hpp"
#include "base/text.hpp"
#include "states/debian/apt_cache.hpp"
#include "states/debian/apt_lists.hpp"
#include "states/debian/debian_version.hpp"
#include "states/debian/package_files.hpp"
#include "states/downloads/local_file.hpp"
#include "states/downloads/source.hpp"
#include "states/linux_apt_package/choosing.hpp"
#include "states/linux_apt_package/package_file.hpp"
#include "states/linux_apt_package/remote_file.hpp"
#include "states/linux_apt_package/removals.hpp"
#include "states/linux_apt_package/wording.hpp"

namespace states::linux_apt_package {

namespace {

using base::Result;

Action action_for(Want want) {
  return want == Want::removed ? Action::remove : want == Want::purged ? Action::purge : Action::install;
}

// A package file as the package that it holds; a plan when that cannot be said (yet).
std::variant<Entry, Plan> resolve_file(const Entry& entry, Context& context) {
  const std::string& file = entry.file;
  const Overlay::Entry* earlier = context.overlay.path(file);
  if (!earlier) {
    auto found = context.tree.look(file);
    if (!found) return Plan::fail(found.error());
    if (!*found) earlier = context.overlay.provider(EffectKind::file, file);
    if (!*found && !earlier) return Plan::fail("Package file " + file + " does not exist");
    if (*found && S_ISDIR((*found)->st_mode)) return Plan::fail("Package file " + file + " is a directory");
  }
  if (earlier) return Plan::unknown(earlier->state_id, file + " depends on what an earlier state does to it");
  if (auto fine = downloads::check_local(file, entry.checksum, context); !fine)
    return Plan::fail(fine.error());
  auto read = read_package_file(entry, context);
  if (!read) return Plan::fail(read.error());
  return std::move(*read);
}

// Why apt would not do what is to be done: a package is on hold. "" when none is.
std::string why_held(const Steps& steps, const debian::DpkgStatus& status) {
  std::vector<std::string> held;
  for (const Item& item : steps.items)
    if (const debian::DpkgPackage* package = find_package(status, item.entry);
        item.action != Action::none && package && package->is_held)
      held.push_back(item.entry.name);
  if (held.empty()) return {};
  return base::join(held, ", ") + (held.size() == 1 ? " is" : " are") + " on hold, so apt does not change " +
         (held.size() == 1 ? "it" : "them") + ". To let it: apt-mark unhold " + base::join(held, " ");
}

// The answer of is_as_wanted() for a package that an earlier state of the recipe would install or remove;
// nothing if it depends on the version that will be installed, or on whether its configuration stays.
std::optional<bool> is_as_wanted_after(const Effect& earlier, Want want) {
  const bool wants_it_gone = want == Want::removed || want == Want::purged;
  if (earlier.present && want != Want::installed && !wants_it_gone) return std::nullopt;
  if (!earlier.present && want == Want::purged) return std::nullopt;
  return earlier.present != wants_it_gone;
}

// What is to be done for an entry, as far as the machine and the overlay tell.
std::variant<Item, Plan> judge(Entry entry, const debian::DpkgStatus& status, Context& context) {
  if (is_remote(entry)) {
    // Nothing is fetched for a plan: what was never installed from there is to be installed.
    auto known = remembered_file(entry, context);
    if (!known) {
      if (auto fine = downloads::check_vouched(entry.file, entry.checksum.has_value(), context); !fine)
        return Plan::fail(fine.error());
      return Item{.entry = std::move(entry), .action = Action::install, .found = "not installed from there"};
    }
    entry = std::move(*known);
  } else if (entry.want == Want::file) {
    auto resolved = resolve_file(entry, context);
    if (auto* stop = std::get_if<Plan>(&resolved)) return std::move(*stop);
    entry = std::get<Entry>(std::move(resolved));
  }
  drop_native_architecture(entry, status);
  const debian::DpkgPackage* package = find_package(status, entry);
  std::optional<bool> wanted = is_as_wanted(entry, package);
  Item item{.found = found_text(package), .is_present = package && package->is_present()};
  if (package && package->is_installed()) item.before = package->version;
  if (const Overlay::Entry* earlier = context.overlay.find(EffectKind::package, entry.name)) {
    wanted = is_as_wanted_after(earlier->effect, entry.want);
    // Nor is it known what would be removed, or replaced, by then.
    if (!wanted || !*wanted)
      return Plan::unknown(earlier->state_id,
                           "package " + entry.name + " depends on what an earlier state does to it");
    item.found = earlier->effect.present ? "installed" : "absent";
    item.before.clear();
  }
  if (!*wanted) item.action = action_for(entry.want);
  item.entry = std::move(entry);
  return item;
}

// Whether apt has any lists. Without them there is nothing to ask apt-cache for.
bool has_lists(const Host& host) {
  return std::ranges::any_of(base::names_below(host.root, "/var/lib/apt/lists"), [](const std::string& name) {
    return name.find("_Packages") != std::string::npos;
  });
}

bool has_latest(const Steps& steps) {
  return std::ranges::any_of(steps.items, [](const Item& item) { return item.entry.want == Want::latest; });
}

// The candidates of what would be installed, and of what must be the latest. Nothing when there are no lists
// to tell; an error if apt cannot be asked at all, as with a source that it cannot read: then it cannot do
// anything either. (A release that apt does not know may be in lists that are still to be fetched.)
Result<std::optional<debian::AptCandidates>> look_up(const Steps& steps, debian::AptCache& cache,
                                                     bool names_release, Context& context) {
  const std::vector<std::string> names = names_to_look_up(steps.items);
  if (names.empty()) return std::optional(debian::AptCandidates());
  if (!has_lists(context.host)) return std::optional<debian::AptCandidates>();
  auto found = cache.candidates(names);
  if (found) return std::optional(std::move(*found));
  if (!names_release || (has_latest(steps) && debian::lists_are_recent(context)))
    return std::move(found).error();
  return std::optional<debian::AptCandidates>();
}

// What apt would remove although the recipe does not name it, as far as that can be told now: by the present
// lists, and on the machine as it is before the states that come first. Nothing when it cannot; apply looks
// again in any case.
std::optional<std::vector<debian::AptRemoval>> forecast_unnamed(
    const Steps& steps, const std::optional<debian::AptCandidates>& candidates, const Params& params,
    debian::AptCache& cache, Context& context) {
  if (!candidates || !context.host.is_running_system()) return std::nullopt;
  if (std::ranges::any_of(steps.items, [](const Item& item) {
        return item.action == Action::install && is_remote(item.entry);
      }))
    return std::nullopt;
  std::vector<Item> items = steps.items;
  const auto chosen = choose(items, *candidates, cache);
  if (!chosen) return std::nullopt;
  auto stages = arrange(items, *chosen, install_options(params, *chosen, context.host),
                        [&](const debian::AptTransaction& transaction) {
                          return debian::forecast_removals(transaction, context);
                        });
  if (!stages) return std::nullopt;
  std::erase_if(stages->unnamed, [&](const debian::AptRemoval& removal) {
    const Overlay::Entry* earlier = context.overlay.find(EffectKind::package, removal.name);
    return earlier && !earlier->effect.present;
  });
  return std::move(stages->unnamed);
}

// Adds the changes and effects of what is removed although the recipe does not name it.
void describe_unnamed(const Steps& steps, Plan& plan) {
  constexpr std::size_t kMostListed = 50;
  if (!steps.unnamed) return;
  for (const debian::AptRemoval& removal : *steps.unnamed)
    plan.effects.push_back({.kind = EffectKind::package, .name = removal.name, .present = false});
  const std::size_t shown = std::min(steps.unnamed->size(), kMostListed);
  for (const debian::AptRemoval& removal : std::span(*steps.unnamed).first(shown))
    plan.changes.push_back({.what = "package " + removal.name,
                            .before = removal.version,
                            .after = "removed (not named by the recipe)"});
  if (const std::size_t more = steps.unnamed->size() - shown; more > 0)
    plan.changes.push_back({.what = std::to_string(more) + " more packages",
                            .before = "installed",
                            .after = "removed (not named by the recipe)"});
}

// Adds the change and the effect of every item that needs one. Answers the names that apt's lists do not
// have.
std::vector<std::string> describe(Steps& steps, const std::optional<debian::AptCandidates>& candidates,
                                  const Context& context, Plan& plan) {
  std::vector<std::string> unlisted;
  for (Item& item : steps.items) {
    std::string_view candidate;
    bool is_listed = true;
    if (candidates && item.entry.want != Want::file) {
      const auto found = candidates->find(item.entry.name);
      is_listed = found != candidates->end();
      if (is_listed) candidate = found->second;
    }
    if (item.action == Action::none && is_outdated(item, candidate)) item.action = Action::install;
    if (item.action == Action::none) continue;
    const bool installs = item.action == Action::install;
    if (installs && !is_listed) unlisted.push_back(item.entry.name);
    plan.changes.push_back({.what = "package " + item.entry.name,
                            .before = item.found,
                            .after = after_text(item.entry, candidate, is_listed, context)});
    plan.effects.push_back({.kind = EffectKind::package, .name = item.entry.name, .present = installs});
  }
  return unlisted;
}

// The files of packages that are here and would be removed or replaced: nobody can say what becomes of each.
void add_files_of_packages(const debian::DpkgStatus& status, Context& context, Plan& plan) {
  std::vector<Effect> files;
  for (const Effect& effect : plan.effects)
    for (std::string& path :
         debian::files_of_package(effect.name, status.native_architecture(), context.tree))
      files.push_back({.kind = EffectKind::file, .name = std::move(path), .certain = false});
  std::ranges::move(files, std::back_inserter(plan.effects));
}

// Debconf answers that are not there now: fine, unknown or a failure, as for every file that a state needs.
std::optional<Plan> check_debconf(const Params& params, Context& context) {
  if (!params.deb_conf_file) return std::nullopt;
  const auto clean = base::clean_path(*params.deb_conf_file);
  if (!clean) return Plan::fail(clean.error());
  if (const Overlay::Entry* earlier = context.overlay.path(*clean); earlier && earlier->effect.present)
    return std::nullopt;
  const auto checked = check_debconf_file(*clean, context);
  if (checked) return std::nullopt;
  if (const Overlay::Entry* maker = context.overlay.provider(EffectKind::file, *clean))
    return Plan::unknown(maker->state_id, "debconf file " + *clean + " may come from an earlier state");
  return Plan::fail(checked.error());
}

}  // namespace

bool is_as_wanted(const Entry& entry, const debian::DpkgPackage* package) {
  const bool installed = package && package->is_installed();
  switch (entry.want) {
    case Want::removed:
      return !package || !package->is_present();
    case Want::purged:
      return !package || package->state == debian::DpkgState::not_installed;
    case Want::installed:
    case Want::latest:
      return installed;
    case Want::version:
    case Want::file:
      return installed && is_satisfied(entry, package->version);
  }
  return false;
}

bool is_outdated(const Item& item, std::string_view candidate) {
  return item.entry.want == Want::latest && !candidate.empty() && !item.before.empty() &&
         debian::compare_debian_versions(item.before, candidate) < 0;
}

void drop_native_architecture(Entry& entry, const debian::DpkgStatus& status) {
  if (entry.architecture().empty() || entry.architecture() != status.native_architecture()) return;
  entry.name.resize(entry.package().size());
}

const debian::DpkgPackage* find_package(const debian::DpkgStatus& status, const Entry& entry) {
  return status.find(entry.package(), entry.architecture());
}

Result<void> check_debconf_file(std::string_view path, Context& context) {
  const auto found = context.tree.look(path);
  if (!found) return found.error().with_context("debconf file " + std::string(path) + " cannot be read");
  if (*found && S_ISREG((*found)->st_mode)) return {};
  return base::Error(base::ErrorCode::not_found, "debconf file " + std::string(path) + " cannot be read" +
                                                     (*found ? ": it is not a regular file" : ""));
}

PlanWith<Steps> plan_packages(const Params& params, Context& context) {
  auto request = read_request(params.name);
  if (!request) return Plan::fail(request.error());
  auto status = debian::installed_packages(context);
  if (!status) return Plan::fail(status.error());

  Steps steps{.skipped = std::move(request->skipped)};
  for (Entry& entry : request->entries) {
    auto judged = judge(std::move(entry), **status, context);
    if (auto* stop = std::get_if<Plan>(&judged)) return std::move(*stop);
    steps.items.push_back(std::get<Item>(std::move(judged)));
  }
  debian::AptCache cache(context, params.repo.value_or(""), debian::AptAccess::read_only);
  const Overlay::Entry* configurer = context.overlay.below("/etc/apt");
  auto candidates = look_up(steps, cache, params.repo.has_value(), context);
  if (!candidates)
    return configurer ? Plan::unknown(configurer->state_id, candidates.error().message())
                      : Plan::fail(candidates.error());

  Plan plan;
  const std::vector<std::string> unlisted = describe(steps, *candidates, context, plan);
  // Lists that were refreshed a moment ago would not know a name any better after another refresh.
  if (!unlisted.empty() && debian::lists_are_fresh(context))
    return Plan::fail("Unknown package(s): " + base::join(unlisted, ", "));
  const bool refresh = has_latest(steps) && !debian::lists_are_recent(context);
  if (refresh)
    plan.changes.push_back({.what = "package lists",
                            .before = "refreshed " + debian::lists_age_text(context),
                            .after = "refreshed"});
  plan.is_refresh = refresh && plan.changes.size() == 1;
  if (plan.changes.empty()) return Plan::kept(kept_message(steps));
  if (std::string why = why_held(steps, **status); !why.empty()) {
    const Overlay::Entry* earlier =
        context.overlay.provider(EffectKind::package, steps.items.front().entry.name);
    return earlier ? Plan::unknown(earlier->state_id, std::move(why)) : Plan::fail(std::move(why));
  }
  // By other sources, pins or settings apt finds other versions, or nothing at all.
  if (configurer)
    return Plan::unknown(configurer->state_id,
                         "It depends on what apt finds by then: an earlier state changes " +
                             configurer->effect.name + ". As it is now: " + plan_message(steps, refresh));
  const bool installs = std::ranges::any_of(plan.effects, &Effect::present);
  if (installs)
    if (auto stop = check_debconf(params, context)) return std::move(*stop);
  steps.unnamed = forecast_unnamed(steps, *candidates, params, cache, context);
  if (steps.unnamed)
    if (auto checked = check_removals(steps.items, *steps.unnamed, params.allow_removals); !checked) {
      const Overlay::Entry* earlier =
          context.overlay.provider(EffectKind::package, steps.unnamed->front().name);
      return earlier ? Plan::unknown(earlier->state_id, checked.error().message())
                     : Plan::fail(checked.error());
    }
  describe_unnamed(steps, plan);
  plan.verdict = Verdict::change;
  plan.message = plan_message(steps, refresh);
  add_files_of_packages(**status, context, plan);
  return {std::move(plan), std::move(steps)};
}

}  // namespace states::linux_apt_package

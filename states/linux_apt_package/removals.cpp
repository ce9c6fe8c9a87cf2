#include "states/linux_apt_package/removals.hpp"

#include <algorithm>

#include "states/linux_apt_package/wording.hpp"
#include "states/packages/lists.hpp"

namespace states::linux_apt_package {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;
using debian::AptRemoval;
using debian::AptTransaction;

bool is_to_go(const Entry& entry) {
  return entry.want == Want::removed || entry.want == Want::purged;
}

bool is_named(const std::vector<Item>& items, const AptRemoval& removal) {
  return std::ranges::any_of(
      items, [&](const Item& item) { return is_to_go(item.entry) && item.entry.name == removal.name; });
}

void add_unnamed(const std::vector<Item>& items, const std::vector<AptRemoval>& removed,
                 std::vector<AptRemoval>& unnamed) {
  for (const AptRemoval& removal : removed)
    if (!is_named(items, removal) && std::ranges::find(unnamed, removal) == unnamed.end())
      unnamed.push_back(removal);
}

}  // namespace

Result<Stages> arrange(const std::vector<Item>& items, const Chosen& chosen,
                       const std::vector<std::string>& options, const Forecast& forecast) {
  AptTransaction all{.installs = chosen.targets, .options = options};
  std::vector<std::string> purged;
  bool removes = false;  // without purging
  for (const Item& item : items) {
    if (item.action != Action::remove && item.action != Action::purge) continue;
    if (item.is_present) all.removals.push_back(item.entry.name);
    if (item.action == Action::purge)
      purged.push_back(item.entry.name);
    else
      removes = true;
  }
  Stages stages;
  const auto forecast_of = [&](const AptTransaction& transaction) -> Result<void> {
    if (transaction.empty()) return {};
    auto removed = forecast(transaction);
    if (!removed) return std::move(removed).error();
    add_unnamed(items, *removed, stages.unnamed);
    return {};
  };
  if (!removes && !purged.empty()) {
    const AptTransaction one{
        .installs = all.installs, .removals = purged, .purges = true, .options = options};
    if (auto seen = forecast_of(one); !seen) return std::move(seen).error();
    // What is removed without being named keeps its configuration.
    if (stages.unnamed.empty()) {
      stages.runs = {one};
      return stages;
    }
  }
  if (auto seen = forecast_of(all); !seen) return std::move(seen).error();
  if (purged.empty()) {
    stages.runs = {all};
  } else {
    const AptTransaction removal{.removals = all.removals};
    if (auto seen = forecast_of(removal); !seen) return std::move(seen).error();
    stages.runs = {
        removal, {.removals = purged, .purges = true}, {.installs = all.installs, .options = options}};
  }
  std::erase_if(stages.runs, [](const AptTransaction& run) { return run.empty(); });
  return stages;
}

std::vector<std::string> install_options(const Params& params, const Chosen& chosen, const Host& host) {
  std::vector<std::string> options;
  if (params.repo) options.push_back("--target-release=" + std::string(*params.repo));
  if (chosen.downgrades) options.emplace_back("--allow-downgrades");
  if (!params.verify_gpg && host.allow_unauthenticated_packages)
    options.emplace_back("--allow-unauthenticated");
  return options;
}

Result<void> check_removals(const std::vector<Item>& items, const std::vector<AptRemoval>& unnamed,
                            bool allow_removals) {
  if (unnamed.empty()) return {};
  const std::vector<std::string> names = names_of(unnamed);
  std::vector<std::string> wanted;
  for (const Item& item : items)
    if (!is_to_go(item.entry) && std::ranges::find(names, item.entry.name) != names.end())
      wanted.push_back(item.entry.name);
  if (!wanted.empty())
    return Error(ErrorCode::invalid, "apt would remove " + packages::bounded_list(wanted) +
                                         ", which this state wants to be installed: they cannot all be as "
                                         "wanted at once");
  if (allow_removals) return {};
  return Error(
      ErrorCode::invalid,
      "apt would also remove " +
          (names.size() == 1 ? std::string("a package") : std::to_string(names.size()) + " packages") +
          " that the recipe does not name: " + packages::bounded_list(names) + ". Name " +
          (names.size() == 1 ? "it" : "them") +
          " as 'removed' in the same state, or permit it with 'allow_removals: true'");
}

std::vector<std::string> permitted_names(const std::vector<Item>& items,
                                         const std::vector<AptRemoval>& unnamed) {
  std::vector<std::string> names = names_of(unnamed);
  for (const Item& item : items)
    if (is_to_go(item.entry)) names.push_back(item.entry.name);
  return names;
}

std::vector<std::string> names_of(const std::vector<AptRemoval>& removals) {
  std::vector<std::string> names;
  for (const AptRemoval& removal : removals)
    names.push_back(removal.name);
  return names;
}

}  // namespace states::linux_apt_package

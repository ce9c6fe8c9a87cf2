// What linux.yum.package finds on the machine, and what it would do.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "states/context.hpp"
#include "states/linux_yum_package/entry.hpp"
#include "states/plan.hpp"
#include "states/rpm/dnf.hpp"

namespace states::linux_yum_package {

struct Params {
  Pairs name;
  std::optional<std::string_view> repo;
  bool verify_gpg = true;
  bool allow_removals = false;
};

enum class Action { none, install, remove, look_up };

struct Item {
  Entry entry;
  Action action = Action::none;
  std::string before;  // the version that is installed; "" if none is
  std::string target;  // as dnf takes it, once it is chosen
};

struct Steps {
  std::vector<Item> items;
  std::vector<std::string> skipped;
  // What dnf would remove although the recipe does not name it; nothing if that could not be found out.
  std::optional<std::vector<rpm::RpmRemoval>> unnamed;
};

PlanWith<Steps> plan_packages(const Params& params, Context& context);

// The packages that are installed for an entry, newest first; of something that a package only provides, that
// one.
base::Result<std::vector<rpm::RpmPackage>> installed_for(const Entry& entry, Context& context);
// For Want::latest: installed, and the newest, if that was looked up in this round.
bool is_as_wanted(const Entry& entry, const std::vector<rpm::RpmPackage>& installed, Context& context);
void note_newest(const Entry& entry, std::string version, Context& context);

// The transactions that make it so, removals first. Items with Action::install have a target.
std::vector<rpm::DnfTransaction> transactions_for(const std::vector<Item>& items, const Params& params);
// The options of dnf that the parameters ask for, where something is installed.
std::vector<std::string> options_for(const Params& params);

// The removals that the recipe does not name. An error if one of them must not be.
std::vector<rpm::RpmRemoval> unnamed_among(const std::vector<rpm::RpmRemoval>& removals,
                                           const std::vector<Item>& items);
base::Result<void> check_removals(const std::vector<Item>& items, const std::vector<rpm::RpmRemoval>& unnamed,
                                  bool allow_removals);

std::vector<std::string> names_of(const std::vector<rpm::RpmRemoval>& removals);
std::string kept_message(const Steps& steps);

}  // namespace states::linux_yum_package

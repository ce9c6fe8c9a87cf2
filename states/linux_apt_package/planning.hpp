// What linux.apt.package finds on the machine, and what it would do.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "states/context.hpp"
#include "states/debian/apt_transaction.hpp"
#include "states/debian/dpkg_status.hpp"
#include "states/linux_apt_package/entry.hpp"
#include "states/linux_apt_package/params.hpp"
#include "states/plan.hpp"

namespace states::linux_apt_package {

enum class Action { none, install, remove, purge };

// One package of the request. A package file is an item with the name and the version that the file says.
struct Item {
  Entry entry;
  Action action = Action::none;
  std::string before;       // the version that is installed; empty if none is (completely)
  std::string found;        // the same for people: "absent", "1.0-1", "half-configured (1.0-1)"
  bool is_present = false;  // more than its configuration files is there
};

struct Steps {
  std::vector<Item> items;
  std::vector<std::string> skipped;
  // What apt would remove although the recipe does not name it; nothing if that could not be found out.
  std::optional<std::vector<debian::AptRemoval>> unnamed;
};

PlanWith<Steps> plan_packages(const Params& params, Context& context);

// Whether the package is as the entry wants it. For Want::latest, being installed is enough here.
bool is_as_wanted(const Entry& entry, const debian::DpkgPackage* package);
// Whether a package that must be the latest is older than apt's candidate.
bool is_outdated(const Item& item, std::string_view candidate);

// Names without an architecture that goes without saying.
void drop_native_architecture(Entry& entry, const debian::DpkgStatus& status);

const debian::DpkgPackage* find_package(const debian::DpkgStatus& status, const Entry& entry);

// "debconf file /x cannot be read" unless it is a file that is there.
base::Result<void> check_debconf_file(std::string_view path, Context& context);

}  // namespace states::linux_apt_package

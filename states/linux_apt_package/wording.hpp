// How linux.apt.package speaks of packages to people.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "states/debian/dpkg_status.hpp"
#include "states/linux_apt_package/planning.hpp"

namespace states::linux_apt_package {

// "absent", "1.0-1", "half-configured (1.0-1)"
std::string found_text(const debian::DpkgPackage* package);

// What a package would be after the change: "1.0-1", "purged", ">= 2.0 (not in the present package lists)".
// `candidate`: what apt would install, if that is known.
std::string after_text(const Entry& entry, std::string_view candidate, bool is_listed,
                       const Context& context);

// "Remove a; install b, c; skipped: d"
std::string plan_message(const Steps& steps, bool refresh);

// "All 3 packages are already as wanted; skipped: d"
std::string kept_message(const Steps& steps);

// "Installed: a (1.0); upgraded: b (1.0 -> 2.0); …", by what is on the machine now.
std::string report(const Steps& steps, const debian::DpkgStatus& now);

}  // namespace states::linux_apt_package

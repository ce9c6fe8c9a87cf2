// AptTransaction: packages to be installed and removed in one run of apt-get, so that apt finds one solution
// for all of it; and what such a run would remove.
//
// apt removes whatever depends on what goes, or conflicts with what comes. So every run is simulated before,
// and is given a guard: it ends before its first step if it would remove more than it may.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "states/context.hpp"

namespace states::debian {

struct AptTransaction {
  std::vector<std::string> installs;  // as apt-get takes them: "nginx", "nginx=1.22.1-9", "/tmp/x.deb"
  std::vector<std::string> removals;  // names of packages that are there
  bool purges = false;                // the configuration of all that is removed goes, too
  std::vector<std::string> options;   // of apt-get

  bool empty() const { return installs.empty() && removals.empty(); }
  std::string_view action() const { return !installs.empty() ? "install" : purges ? "purge" : "remove"; }
  // What follows the action. No target is taken for an option.
  std::vector<std::string> arguments() const;
};

struct AptRemoval {
  std::string name;  // with an architecture that is not the machine's own: "libc6:i386"
  std::string version;

  bool operator==(const AptRemoval&) const = default;
};

// What is removed according to the output of `apt-get --simulate`, without what it installs again.
std::vector<AptRemoval> parse_removals(std::string_view output);

// For plans: what the transaction would remove on the machine as it is. Takes no lock and writes nothing.
// Errors: as Commands::run(); ErrorCode::io with apt's reason when there is no such solution.
base::Result<std::vector<AptRemoval>> forecast_removals(const AptTransaction& transaction, Context& context);

// Options of apt-get that make it fail before its first step if it would remove anything but these packages.
// apt asks the guard while it holds its locks, with all that it is about to do.
std::vector<std::string> removal_guard(std::span<const std::string> permitted,
                                       std::string_view native_architecture);

}  // namespace states::debian

// RpmDatabase: which packages rpm has on this machine.
//
// Asked with one query per round and kept in Context::facts. One thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "states/context.hpp"

namespace states::rpm {

struct RpmPackage {
  std::string name;
  std::string architecture;
  std::string version;  // "1.2-3.el9", "2:1.2-3.el9" with an epoch that is not 0
};

// One line of kQueryFormat for each; other lines are passed over.
inline constexpr const char* kQueryFormat = "%{NAME}\\t%{ARCH}\\t%{EPOCHNUM}\\t%{VERSION}-%{RELEASE}\\n";
std::vector<RpmPackage> parse_packages(std::string_view output);

class RpmDatabase {
 public:
  explicit RpmDatabase(std::vector<RpmPackage> packages);

  // The packages of this name, newest first; of one architecture or of all. Kernels are there several times.
  std::vector<const RpmPackage*> find(std::string_view name, std::string_view architecture = {}) const;
  const std::vector<RpmPackage>& packages() const { return packages_; }

 private:
  std::vector<RpmPackage> packages_;  // by name, newest first
};

// Valid until context.facts is cleared or forget_rpms() is called.
base::Result<const RpmDatabase*> installed_rpms(Context& context);
void forget_rpms(Context& context);

// The installed package that provides something of this name; nothing if none does. Asked once.
base::Result<std::vector<RpmPackage>> providers_of(const std::string& name, Context& context);

// The package in a file (a path). ErrorCode::invalid: "<path> is not an rpm package".
base::Result<RpmPackage> package_in_file(const std::string& path, Context& context);

}  // namespace states::rpm

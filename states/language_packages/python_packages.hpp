// Which packages Python has, from the metadata in its folders, without starting it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "states/context.hpp"

namespace states::language_packages {

struct PythonPackage {
  std::string name;  // normalised: "ruamel-yaml"
  std::string version;
  std::string metadata;  // the path of its dist-info or egg-info
};

// Letters small, and every run of ".", "-" and "_" a "-".
std::string normalised_python_name(std::string_view name);

// The packages in a folder such as /usr/lib/python3/dist-packages, by name; none where there is no such
// folder. A folder is read once, and again when Context::facts is forgotten.
base::Result<const std::vector<PythonPackage>*> python_packages_in(const std::string& folder,
                                                                   Context& context);

// Whether it is there with all that an installer writes last.
base::Result<bool> is_python_package_whole(const PythonPackage& package, Context& context);

// Where the system's /usr/bin/python3 finds packages, in its order.
std::vector<std::string> system_python_folders(Context& context);

// The version of an interpreter by the name of its program, "3.11"; "" if that does not say it.
std::string python_version_of(const std::string& interpreter, Context& context);

// What keeps pip from installing beside the distribution's packages (EXTERNALLY-MANAGED) is there.
bool is_python_externally_managed(Context& context);

}  // namespace states::language_packages

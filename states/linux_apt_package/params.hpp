// The parameters of linux.apt.package.
#pragma once

#include <optional>
#include <string_view>

#include "states/param.hpp"

namespace states::linux_apt_package {

struct Params {
  Pairs name;
  std::optional<std::string_view> repo;
  std::optional<std::string_view> deb_conf_file;
  bool verify_gpg = true;
  bool allow_removals = false;
};

}  // namespace states::linux_apt_package

// The parameters of linux.service.
#pragma once

#include <optional>

#include "states/param.hpp"

namespace states::linux_service {

struct Params {
  Pairs name;
  Watch watch;
  bool running = true;
  std::optional<bool> enabled;
  std::optional<bool> masked;
  References actions;  // of old recipes
};

}  // namespace states::linux_service

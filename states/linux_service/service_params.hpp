// The parameters of linux.service.
#pragma once

#include "states/param.hpp"

namespace states::linux_service {

struct Params {
  Pairs name;
  Watch watch;
};

}  // namespace states::linux_service

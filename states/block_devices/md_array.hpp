// Arrays of the kernel's md driver, as /sys shows them. Reads only, starts nothing.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.hpp"

namespace states::block_devices {

struct MdArray {
  enum class Activity { none, inactive, active };
  Activity activity = Activity::none;  // inactive: it has members, and does not run
  std::string level;                   // "raid1", "linear", "container"
  std::int64_t degraded = 0;           // members that are missing
  std::string uuid;                    // as libblkid reads it from a member; "" when that says none
};

// Nothing when the device is not one of md.
base::Result<std::optional<MdArray>> read_array(dev_t number);

}  // namespace states::block_devices

// What LVM knows: volume groups and their physical volumes, from its report as JSON. Asked once per round,
// without its locks: reading changes nothing.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "states/block_devices/block_device.hpp"
#include "states/context.hpp"

namespace states::block_devices {

struct PhysicalVolume {
  std::string path;   // "/dev/sdb"
  std::string group;  // "" for none
};
struct LvmReport {
  std::vector<std::string> groups;
  std::vector<PhysicalVolume> volumes;  // those of groups

  bool has_group(std::string_view name) const;
};

// The program lvm must be there.
base::Result<LvmReport> read_lvm(Context& context);
base::Result<LvmReport> parse_lvm_report(std::string json);
// The group that a device belongs to, under whatever name LVM has it; "" for none.
std::string group_of(const LvmReport& report, const BlockDevice& device);

// Why a device cannot become a physical volume: something is on it, or somebody uses it; "" when it can, or
// is one.
base::Result<std::string> why_not_lvm(const BlockDevice& device, const Content& content, bool may_overwrite);
inline bool is_physical_volume(const Content& content) {
  return content.type == "LVM2_member";
}

// Values of options: one word, which cannot be taken for an option. An error: "Illegal value for '<param>':
// …".
base::Result<void> check_lvm_value(std::string_view param, std::string_view value);
// The name of a group or volume.
base::Result<void> check_lvm_name(std::string_view param, std::string_view name);
// Absolute paths without control characters.
base::Result<void> check_device_path(std::string_view param, std::string_view path);

}  // namespace states::block_devices

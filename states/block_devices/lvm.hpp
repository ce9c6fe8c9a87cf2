// What LVM knows: volume groups with their physical volumes, and logical volumes, from its reports as JSON.
// Asked once per round, without its locks: reading changes nothing.
#pragma once

#include <cstdint>
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
struct VolumeGroup {
  std::string name;
  std::uint64_t extent_size = 0;  // bytes
  std::uint64_t free_extents = 0;
};
struct LvmReport {
  std::vector<VolumeGroup> groups;
  std::vector<PhysicalVolume> volumes;  // those of groups

  const VolumeGroup* find_group(std::string_view name) const;  // null: there is none
  bool has_group(std::string_view name) const { return find_group(name) != nullptr; }
};

// The program lvm must be there.
base::Result<LvmReport> read_lvm(Context& context);
base::Result<LvmReport> parse_lvm_report(std::string json);
// The group that a device belongs to, under whatever name LVM has it; "" for none.
std::string group_of(const LvmReport& report, const BlockDevice& device);

struct LogicalVolume {
  std::string group;
  std::string name;
  std::uint64_t size = 0;         // bytes
  std::uint64_t extent_size = 0;  // bytes, of its group
  std::string origin;             // of a snapshot
  std::string pool;               // of a thin volume
  bool is_pool = false;
  std::vector<std::string> tags;
};
struct LogicalVolumes {
  std::vector<LogicalVolume> volumes;  // without the hidden ones that others are made of

  const LogicalVolume* find(std::string_view group, std::string_view name) const;  // null: there is none
};
// The program lvm must be there.
base::Result<LogicalVolumes> read_logical_volumes(Context& context);
base::Result<LogicalVolumes> parse_logical_volumes(std::string json);

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

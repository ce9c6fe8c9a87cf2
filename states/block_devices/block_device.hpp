// Block devices: from a name to the device, what is on it, and who uses it. Reads only.
//
// Names are walked as states::Context::tree does it, so that no user's link leads us to another device. What
// is on a device is what libblkid reads from the device itself, whatever its name is.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "states/block_devices/mount_table.hpp"
#include "states/context.hpp"

namespace states::block_devices {

struct BlockDevice {
  std::string path;  // without links: "/dev/dm-0" for "/dev/vg/lv"
  dev_t number = 0;
};

// Nothing when there is none of this name, or it is something else.
base::Result<std::optional<BlockDevice>> find_device(std::string_view path, Context& context);

// UUID=, LABEL=, PARTUUID=, PARTLABEL= with what stands behind it, quoted or not.
bool is_tag(std::string_view device);
// The path of the device with this tag; nothing when there is none.
base::Result<std::optional<std::string>> device_with_tag(std::string_view tag);

// What a device begins with.
struct Content {
  std::string type;             // "ext4", "LVM2_member", "linux_raid_member"; "" when nothing is known of it
  std::string usage;            // "filesystem", "raid", "crypto", "other"
  std::string uuid;             // of what type names; "" when there is none
  std::string partition_table;  // "gpt", "dos"; "" for none
  bool is_ambiguous = false;    // several things claim to be on it, and type is ""
  bool is_unfinished = false;   // an xfs whose mkfs.xfs was ended half-way: it cannot be mounted
};
base::Result<Content> read_content(const BlockDevice& device);

// Who uses it: "mounted on /srv", "swap", "part of md0", "has partitions"; "" when nobody does, as far as
// this mount namespace tells. is_claimed() knows better, and disturbs whoever wants to mount it just now.
base::Result<std::string> user_of(const BlockDevice& device);
// Whether the kernel has given it to somebody (a mount, also in a container; md, dm, swap).
bool is_claimed(const BlockDevice& device);

// Whether what is mounted there is on this device.
bool is_of_device(const Mount& mount, dev_t number);

// The image file of a loop device, as it was named; "" when it is another device.
std::string backing_file(dev_t number);

}  // namespace states::block_devices

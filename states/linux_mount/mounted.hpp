// What is mounted at a path now. Reads only.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "states/block_devices/mount_table.hpp"
#include "states/context.hpp"

namespace states::linux_mount {

struct MountPoint {
  std::string real_path;  // without links; as the recipe says where it is missing
  bool exists = false;
  bool is_folder = false;
  std::optional<block_devices::Mount> mount;  // the topmost one, if anything is mounted just there
};
base::Result<MountPoint> find_mount_point(const std::string& path, Context& context);

// mount(8) walks the path again, as root. So nobody else may be able to lead it elsewhere meanwhile: an error
// when others can change the folder that the mount point is in, or one above it.
base::Result<void> check_nobody_can_move(const std::string& real_path);

}  // namespace states::linux_mount

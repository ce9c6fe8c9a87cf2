// Mount options: what a recipe asks for, against what the kernel shows of a mount.
//
// Compared is what the kernel shows in one form only: the flags of every mount (ro, nosuid, nodev, noexec,
// noatime and the like, with their opposites) and the size of a tmpfs. Of what a file system makes of its
// other options nobody can tell whether it is the same.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "states/block_devices/mount_table.hpp"
#include "states/param.hpp"

namespace states::linux_mount {

// Refused: control characters, and passwords, which everybody could read there.
base::Result<void> check_options(List given);
// The same for a name and a password in the device: "//name:password@host/share".
base::Result<void> check_device(std::string_view device);

// For what others have mounted, or written into fstab: the password replaced by ***.
std::string without_password(std::string_view device);
std::string without_passwords(std::string_view options);

// One text with commas, "defaults" where nothing is given. Of a bind mount without "bind" (the type "none"
// says it) that is added.
std::string options_text(List given, bool is_bind);

bool has_option(std::string_view options, std::string_view name);

// The options of those wanted that the mount does not have: "nosuid, size=64m"; "" when it has all.
std::string missing_options(std::string_view wanted, const block_devices::Mount& mount);

}  // namespace states::linux_mount

// What is mounted where, as the kernel says in /proc/self/mountinfo. Values; read anew with each call.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace states::block_devices {

// One line of mountinfo; see proc(5).
struct Mount {
  std::int64_t id = 0;
  dev_t device = 0;           // of a file system without a block device a number that the kernel made up
  std::string root;           // which part of the file system is seen: "/" unless it is a bind mount
  std::string path;           // where
  std::string options;        // of this mount: "rw,nosuid,relatime"
  std::string type;           // "ext4"
  std::string source;         // "/dev/sda1", "tmpfs", "server:/export"
  std::string super_options;  // of the file system: "rw,errors=remount-ro"
};

// Lines that are none are left out: the kernel may add to them, and one must not hide all others.
std::vector<Mount> parse_mounts(std::string_view mountinfo);

// Those of our own mount namespace.
base::Result<std::vector<Mount>> read_mounts();

// "a\040b" as "a b", as the kernel and fstab(5) write blanks; and back.
std::string unescaped(std::string_view field);
std::string escaped(std::string_view text);

}  // namespace states::block_devices

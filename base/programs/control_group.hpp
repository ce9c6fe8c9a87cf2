// Where systemd has put a process, by the control groups that the kernel tells of it. Pure; any thread.
#pragma once

#include <cstddef>
#include <string_view>

namespace base {

// More than /proc/PID/cgroup has.
inline constexpr std::size_t kLargestCgroupFile = 64 * 1024;

// In the text of /proc/PID/cgroup: "/system.slice/opsagent.service". Empty when that cannot be told.
std::string_view systemd_group(std::string_view cgroup);

}  // namespace base

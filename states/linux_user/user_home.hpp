// The place of a home directory: what is there, what is missing on the way.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "states/context.hpp"

namespace states::linux_user {

inline constexpr mode_t kNewHomeMode = 0700;  // when we make it; useradd has its own setting

struct HomePlace {
  bool exists = false;                       // as whatever
  bool is_folder = false;                    // a symlink is none: its owner decides where it leads
  base::Seen seen;                           // what is there
  std::string owner;                         // "root:root", when it exists
  std::vector<std::string> missing_parents;  // outermost first
};
base::Result<HomePlace> look_at_home(const std::string& home, Context& context);

// Folders that accounts share or that the system lives in (system accounts have homes such as / or
// /usr/sbin): they keep their owner, or the account could replace what root runs.
bool is_system_folder(std::string_view path);

// Makes them for root, open to all to pass.
base::Result<void> make_parents(const std::vector<std::string>& folders, ApplyContext& context);

}  // namespace states::linux_user

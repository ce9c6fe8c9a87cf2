// The place of a home directory: what is there, what is missing on the way.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/host/accounts.hpp"
#include "base/result.hpp"
#include "states/context.hpp"

namespace states::linux_user {

inline constexpr mode_t kNewHomeMode = 0700;  // when we make it; useradd has its own setting

struct HomePlace {
  bool exists = false;                       // as whatever
  bool is_folder = false;                    // a symlink is none: its owner decides where it leads
  base::Seen seen;                           // what is there
  std::string owner;                         // "root:root", when it exists
  mode_t mode = 0;                           // useradd makes a home with none, at first
  std::vector<std::string> missing_parents;  // outermost first
};
base::Result<HomePlace> look_at_home(const std::string& home, Context& context);

// Folders that accounts share or that the system lives in (system accounts have homes such as / or
// /usr/sbin): they keep their owner, or the account could replace what root runs.
bool is_system_folder(std::string_view path);

// Makes them for root, open to all to pass.
base::Result<void> make_parents(const std::vector<std::string>& folders, ApplyContext& context);

// The home of an account that is being created. It is noted in the state folder before there is an account,
// and forgotten when all of it is done: an account whose home could not be made or given away looks like any
// other.
struct NewHome {
  bool is_made = false;  // with what is in /etc/skel; else it was there already, and is only given away
  std::string path;
};
std::optional<NewHome> noted_home(std::string_view user, const Context& context);
base::Result<void> note_home(std::string_view user, const NewHome& home, ApplyContext& context);
base::Result<void> forget_home(std::string_view user, ApplyContext& context);

// What of /etc/skel is not in the home, or only its beginning, as a copy has left it that was cut short: on a
// full disk useradd says nothing of that.
base::Result<std::vector<std::string>> missing_first_files(const std::string& home, Context& context);
// Puts it there for this user.
base::Result<void> copy_first_files(const std::string& home, const base::User& user, ApplyContext& context);

}  // namespace states::linux_user

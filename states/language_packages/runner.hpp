// Who runs a language's tools in a folder.
//
// Such tools read configuration from the folder that they work in, and run programs from it. So they run as
// the user whose folder it is, and not at all where several users could put something there.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>

#include "base/programs/process.hpp"
#include "base/result.hpp"
#include "base/tree/attributes.hpp"
#include "states/context.hpp"

namespace states::language_packages {

struct Runner {
  std::optional<base::Identity> identity;  // absent: as the agent is
  std::string home = "/root";
  uid_t uid = 0;  // whose what is made there will be
  gid_t gid = 0;

  // Sets who runs it, and the environment that he gets.
  void prepare(base::Command& command) const;
  base::Attributes folder_attributes() const { return {.uid = uid, .gid = gid, .mode = 0755}; }
};

// For a folder (a clean_path) that is there or is to be made. ErrorCode::permission: "/srv/app can be written
// to by everybody, so …".
base::Result<Runner> runner_in(std::string_view folder, Context& context);

// Whether nobody but root and this user can change what is at a path that is there, or put something else in
// its place. ErrorCode::permission as above. Below another root nothing is run, and all is well.
base::Result<void> check_owned_way(const std::string& path, uid_t owner, const Context& context);

}  // namespace states::language_packages

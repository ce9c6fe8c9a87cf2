// A way: a path that is walked component by component, so that nobody can lead us astray.
//
// A symlink is followed only if it belongs to root or to us, and lies in a folder that others cannot write to
// (others.hpp). Absolute links and ".." stay below the root of the walk. Everything is opened before it is
// judged, so that what is judged is what is used, however fast names are swapped.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "base/unique_fd.hpp"

namespace base {

struct WayRules {
  // Somebody whose links, and whose folders, count as ours: for what is done in his name.
  std::optional<uid_t> also = std::nullopt;
  bool may_end_in_file = false;  // or in a device, a socket …; else the end must be a folder
  // Called for every folder before a name is looked up in it; an Error ends the walk.
  std::function<Result<void>(int folder, const std::string& path)> judge = {};
  // Called for a name that is missing, to make it; without it, that is ErrorCode::not_found.
  std::function<Result<void>(int folder, const std::string& name, bool is_last)> make = {};
  // Called for every path, without links, before it is looked up; an Error ends the walk.
  std::function<Result<void>(const std::string& path, bool is_last)> foresee = {};
};

struct Way {
  UniqueFd end;      // O_PATH
  std::string path;  // of the end, as seen from the root, without links
};

// From `root` (an open folder) on; slashes at the beginning do not matter. ErrorCode::not_found when a
// component is missing, ErrorCode::exists when one is not a folder, ErrorCode::permission for a link that is
// not followed.
Result<Way> walk_way(int root, std::string_view path, const WayRules& rules = {});

// From "/" on; a relative path means one in the working folder.
Result<Way> walk_way(std::string_view path, const WayRules& rules = {});

}  // namespace base

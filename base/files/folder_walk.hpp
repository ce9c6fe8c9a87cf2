// Going through everything below a folder: by descriptor, so that nobody can swap a folder on the way; never
// through a symlink; never into another mount.
#pragma once

#include <sys/stat.h>

#include <functional>
#include <string>
#include <string_view>

#include "base/interrupt.hpp"
#include "base/result.hpp"
#include "base/unique_fd.hpp"

namespace base {

// Opens the folder `name` inside `folder` for reading its entries. Empty with errno set: ELOOP or ENOTDIR
// when it is a link or no folder, EXDEV when another file system (or a bind mount) begins there.
UniqueFd open_subfolder(int folder, const char* name);

// What a walk has come across. Valid during the visit only.
class WalkEntry {
 public:
  int folder = -1;             // descriptor of the folder that it is in …
  const char* name = nullptr;  // … and its name there
  struct stat info {};         // lstat; of symlinks only the type is filled in
  // Another mount begins here: `info` is that of what is mounted; not entered. Of files kernels since 5.8 say
  // so.
  bool is_mount = false;

  // Put together when asked for: most visits do not need it.
  std::string path() const { return path_of_ ? path_of_(walk_, name) : std::string(name); }

 private:
  friend class FolderWalk;
  std::string (*path_of_)(const void* walk, const char* name) = nullptr;
  const void* walk_ = nullptr;
};

// An error ends the walk.
using Visit = std::function<Result<void>(const WalkEntry&)>;

// Visits all that is below a folder (an open descriptor, O_PATH will do), each folder before what is in it.
// What vanishes meanwhile is left out. `path` is for messages and WalkEntry::path(). ErrorCode::cancelled
// when interrupted. Folders may be nested as deeply as the file system lets them.
Result<void> walk_below(int folder, std::string_view path, Interrupt& interrupt, const Visit& visit);

}  // namespace base

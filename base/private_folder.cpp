#include "base/private_folder.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace base {

base::Result<void> make_private_folder(std::string path, mode_t mode) {
  while (path.size() > 1 && path.ends_with('/'))
    path.pop_back();
  const auto make = [](const std::string& folder, mode_t folder_mode) -> base::Result<void> {
    if (::mkdir(folder.c_str(), folder_mode) == 0 || errno == EEXIST) return {};
    return base::os_error(errno, "creating " + folder);
  };
  for (std::size_t slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1))
    if (auto made = make(path.substr(0, slash), 0755); !made) return made;
  if (auto made = make(path, mode); !made) return made;

  struct stat st {};
  if (::stat(path.c_str(), &st) != 0) return base::os_error(errno, path);
  if (st.st_uid != ::geteuid() || (st.st_mode & S_IWOTH) != 0)
    return base::Error(base::ErrorCode::permission,
                       path + " can be written by others (it belongs to uid " + std::to_string(st.st_uid) +
                           "), so the agent cannot trust what is in it; choose a folder of its own");
  return {};
}

}  // namespace base

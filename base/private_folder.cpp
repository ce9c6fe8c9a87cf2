#include "base/private_folder.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "base/others.hpp"
#include "base/unique_fd.hpp"

namespace base {

namespace {

// How others can write to the folder, or put another one in its place; "" when they cannot.
Result<std::string> how_others_reach(const std::string& path) {
  std::error_code failed;
  const std::filesystem::path real = std::filesystem::canonical(path, failed);
  if (failed) return os_error(failed.value(), path);
  for (std::filesystem::path folder = real;; folder = folder.parent_path()) {
    const UniqueFd fd(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    struct stat st {};
    if (!fd || ::fstat(fd.get(), &st) != 0) return os_error(errno, folder.string());
    const bool is_above = folder != real;
    std::string how = how_others_write_to(fd.get(), st);
    if (!is_above && how.empty() && st.st_uid != ::geteuid())
      how = "belongs to uid " + std::to_string(st.st_uid);
    // In a sticky folder such as /tmp nobody can rename what is not his, unless the folder is.
    const bool is_sticky = (st.st_mode & S_ISVTX) != 0 && (st.st_uid == 0 || st.st_uid == ::geteuid());
    if (!how.empty() && !(is_above && is_sticky)) return folder.string() + " " + how;
    if (folder == folder.root_path()) return std::string();
  }
}

}  // namespace

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

  auto how = how_others_reach(path);
  if (!how) return std::move(how).error();
  if (how->empty()) return {};
  return base::Error(base::ErrorCode::permission, *how + ", so the agent cannot trust what is in " + path +
                                                      "; choose a folder that only its user can write to");
}

}  // namespace base

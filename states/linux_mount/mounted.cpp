#include "states/linux_mount/mounted.hpp"

#include <sys/stat.h>

#include <algorithm>

#include "base/files/mount_id.hpp"
#include "base/files/private_folder.hpp"

namespace states::linux_mount {

using block_devices::Mount;

base::Result<MountPoint> find_mount_point(const std::string& path, Context& context) {
  MountPoint point{.real_path = path};
  auto opened = context.tree.follow(path);
  if (!opened && opened.error().code() == base::ErrorCode::not_found) {
    point.real_path = context.tree.real_path(path);
    return point;
  }
  if (!opened) return std::move(opened).error();
  auto real = context.tree.followed_path(path);
  if (!real) return std::move(real).error();
  point.real_path = std::move(*real);
  struct stat found {};
  if (::fstat(opened->get(), &found) != 0) return base::os_error(errno, path);
  point.exists = true;
  point.is_folder = S_ISDIR(found.st_mode);
  auto mounts = block_devices::read_mounts();
  if (!mounts) return std::move(mounts).error();
  // By the mount that we have come to: of several at one path the topmost, of those below others none.
  const auto id = base::mount_id(opened->get());
  const auto mount = std::ranges::find_if(*mounts, [&](const Mount& one) { return one.id == id; });
  if (mount != mounts->end() && mount->path == point.real_path) point.mount = std::move(*mount);
  return point;
}

base::Result<void> check_nobody_can_move(const std::string& real_path) {
  std::string folder = real_path;
  while (folder != "/") {
    folder = std::string(base::split_path(folder).folder);
    auto guarded = base::open_guarded_folder(folder);
    if (guarded) return {};
    if (guarded.error().code() == base::ErrorCode::not_found) continue;  // will be made
    return base::Error(
        guarded.error().code(),
        real_path + " is no safe mount point: " + guarded.error().message() +
            "; others could have something else mounted over. Use one below folders of root's");
  }
  return {};
}

}  // namespace states::linux_mount

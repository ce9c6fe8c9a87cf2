#include "states/linux_mount/mount_source.hpp"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <array>

#include "base/files/mount_id.hpp"
#include "states/block_devices/block_device.hpp"

namespace states::linux_mount {

namespace {

using block_devices::Mount;

// File systems of which only they know what their source means, though it may look like a path.
bool has_own_names(const WantedSource& wanted) {
  constexpr std::array<std::string_view, 8> kTypes{"nfs",  "nfs4", "cifs",      "smb3",
                                                   "ceph", "9p",   "glusterfs", "virtiofs"};
  return wanted.device.starts_with("//") || wanted.filesystem.starts_with("fuse") ||
         std::ranges::find(kTypes, wanted.filesystem) != kTypes.end();
}

base::Result<std::optional<Source>> device_source(std::string_view path, Context& context) {
  auto device = block_devices::find_device(path, context);
  if (!device) return std::move(device).error();
  if (!*device) return std::optional<Source>();
  return std::optional(
      Source{.kind = Source::Kind::device, .argument = (*device)->path, .number = (*device)->number});
}

// Which part of which file system a path is: what the kernel shows of a mount that is bound to it.
base::Result<std::optional<Source>> bind_source(int opened, bool is_file, const std::string& path) {
  auto mounts = block_devices::read_mounts();
  if (!mounts) return std::move(mounts).error();
  const auto id = base::mount_id(opened);
  const auto below = std::ranges::find_if(*mounts, [&](const Mount& mount) { return mount.id == id; });
  if (below == mounts->end())
    return base::Error(base::ErrorCode::unsupported, "Cannot tell which file system " + path + " is on");
  std::string inside = below->path == "/" ? path : path.substr(below->path.size());
  if (inside == "/") inside.clear();
  std::string root = below->root == "/" ? inside : below->root + inside;
  return std::optional(Source{.kind = Source::Kind::bind,
                              .argument = path,
                              .number = below->device,
                              .root = root.empty() ? "/" : std::move(root),
                              .is_file = is_file});
}

base::Result<std::optional<Source>> path_source(const WantedSource& wanted, Context& context) {
  auto opened = context.tree.follow(wanted.device);
  if (!opened && opened.error().code() == base::ErrorCode::not_found) return std::optional<Source>();
  if (!opened) return std::move(opened).error();
  struct stat found {};
  if (::fstat(opened->get(), &found) != 0) return base::os_error(errno, wanted.device);
  if (S_ISBLK(found.st_mode) && !wanted.is_bind) return device_source(wanted.device, context);
  auto real = context.tree.followed_path(wanted.device);
  if (!real) return std::move(real).error();
  if (wanted.is_bind) return bind_source(opened->get(), !S_ISDIR(found.st_mode), *real);
  if (S_ISREG(found.st_mode))
    return std::optional(Source{.kind = Source::Kind::image, .argument = std::move(*real)});
  return std::optional(Source{.argument = std::string(wanted.device)});
}

std::string_view without_slash(std::string_view text) {
  return text.size() > 1 && text.ends_with('/') ? text.substr(0, text.size() - 1) : text;
}

// "nfs" is shown as "nfs4", "sshfs" as "fuse.sshfs".
bool is_type(std::string_view wanted, std::string_view shown) {
  return wanted == "auto" || shown.starts_with(wanted) || wanted.starts_with(shown) ||
         shown == "fuse." + std::string(wanted);
}

}  // namespace

base::Result<std::optional<Source>> find_source(const WantedSource& wanted, Context& context) {
  if (block_devices::is_tag(wanted.device)) {
    auto path = block_devices::device_with_tag(wanted.device);
    if (!path) return std::move(path).error();
    if (!*path) return std::optional<Source>();
    return device_source(**path, context);
  }
  if (wanted.device.starts_with('/') && !has_own_names(wanted)) return path_source(wanted, context);
  return std::optional(Source{.argument = std::string(wanted.device)});
}

bool is_mounted(const Source& source, std::string_view filesystem, const Mount& mount) {
  switch (source.kind) {
    case Source::Kind::device:
      // A part of it that is bound here is not the device. What btrfs shows are subvolumes.
      return block_devices::is_of_device(mount, source.number) &&
             (mount.root == "/" || mount.type == "btrfs");
    case Source::Kind::image:
      return block_devices::backing_file(mount.device) == source.argument && mount.root == "/";
    case Source::Kind::bind:
      return mount.device == source.number && mount.root == source.root;
    case Source::Kind::name:
      return without_slash(mount.source) == without_slash(source.argument) && is_type(filesystem, mount.type);
  }
  return false;
}

}  // namespace states::linux_mount

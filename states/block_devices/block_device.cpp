#include "states/block_devices/block_device.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include "base/files/file_read.hpp"
#include "base/text.hpp"
#include "base/unique_fd.hpp"
#include "states/block_devices/blkid_library.hpp"

namespace states::block_devices {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLargestProcFile = 1024 * 1024;
constexpr std::array<std::string_view, 4> kTags{"UUID", "LABEL", "PARTUUID", "PARTLABEL"};

std::string sys_folder(dev_t number) {
  return "/sys/dev/block/" + std::to_string(major(number)) + ":" + std::to_string(minor(number));
}

// Opens the very device, or says that another one has its name by now.
base::Result<base::UniqueFd> open_device(const BlockDevice& device, int flags) {
  base::UniqueFd fd(::open(device.path.c_str(), flags | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW));
  if (!fd) return base::os_error(errno, "Cannot read " + device.path);
  struct stat found {};
  if (::fstat(fd.get(), &found) != 0) return base::os_error(errno, "Cannot read " + device.path);
  if (!S_ISBLK(found.st_mode) || found.st_rdev != device.number)
    return base::Error(base::ErrorCode::exists, device.path + " has become another device");
  return fd;
}

std::string_view without_quotes(std::string_view text) {
  const bool quoted =
      text.size() >= 2 && (text.front() == '"' || text.front() == '\'') && text.back() == text.front();
  return quoted ? text.substr(1, text.size() - 2) : text;
}

// The first entry of a folder of /sys; "" when it is empty or not there.
std::string first_name(const std::string& folder) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored))
    return entry.path().filename().string();
  return {};
}

bool has_partitions(const std::string& folder) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored))
    if (fs::exists(entry.path() / "partition", ignored)) return true;
  return false;
}

base::Result<bool> is_swap(dev_t number) {
  auto text = base::read_file("/proc/swaps", kLargestProcFile);
  if (!text) return std::move(text).error();
  for (const std::string_view line : base::split(*text, '\n')) {
    const auto words = base::split_words(line);
    struct stat found {};
    if (!words.empty() && words[0].starts_with('/') && ::stat(unescaped(words[0]).c_str(), &found) == 0 &&
        S_ISBLK(found.st_mode) && found.st_rdev == number)
      return true;
  }
  return false;
}

// mkfs.xfs writes the first superblock early, and the mark in it goes when all is done. libblkid does not
// look.
base::Result<bool> is_xfs_in_progress(int fd, const BlockDevice& device) {
  constexpr off_t kInProgress = 126;
  char mark = 0;
  if (::pread(fd, &mark, 1, kInProgress) != 1) return base::os_error(errno, "Cannot read " + device.path);
  return mark != 0;
}

}  // namespace

base::Result<std::optional<BlockDevice>> find_device(std::string_view path, Context& context) {
  auto opened = context.tree.follow(path);
  if (!opened) {
    const base::ErrorCode code = opened.error().code();
    if (code == base::ErrorCode::not_found || code == base::ErrorCode::exists)
      return std::optional<BlockDevice>();
    return std::move(opened).error();
  }
  struct stat found {};
  if (::fstat(opened->get(), &found) != 0) return base::os_error(errno, path);
  if (!S_ISBLK(found.st_mode)) return std::optional<BlockDevice>();
  auto real = context.tree.followed_path(path);
  if (!real) return std::move(real).error();
  return std::optional(BlockDevice{std::move(*real), found.st_rdev});
}

bool is_tag(std::string_view device) {
  return std::ranges::any_of(kTags, [&](std::string_view tag) {
    return device.size() > tag.size() + 1 && device.starts_with(tag) && device[tag.size()] == '=';
  });
}

base::Result<std::optional<std::string>> device_with_tag(std::string_view tag) {
  auto library = BlkidLibrary::load();
  if (!library) return std::move(library).error();
  const std::size_t equals = tag.find('=');
  const std::string name(tag.substr(0, equals));
  const std::string value(without_quotes(tag.substr(equals + 1)));
  // No file with what was seen earlier: it may be old, and would be written.
  blkid_cache cache = nullptr;
  if (library->get_cache(&cache, "/dev/null") != 0)
    return base::Error(base::ErrorCode::io, "Cannot look for " + std::string(tag));
  const std::unique_ptr<char, decltype(&std::free)> found(
      library->evaluate_tag(name.c_str(), value.c_str(), &cache), std::free);
  library->put_cache(cache);
  if (!found) return std::optional<std::string>();
  return std::optional<std::string>(found.get());
}

base::Result<Content> read_content(const BlockDevice& device) {
  auto library = BlkidLibrary::load();
  if (!library) return std::move(library).error();
  auto fd = open_device(device, O_RDONLY);
  if (!fd) return std::move(fd).error();
  const std::unique_ptr<std::remove_pointer_t<blkid_probe>, decltype(library->free_probe)> probe(
      library->new_probe(), library->free_probe);
  const base::Error unreadable(base::ErrorCode::io, "Cannot read what is on " + device.path);
  if (!probe || library->probe_set_device(probe.get(), fd->get(), 0, 0) != 0) return unreadable;
  library->probe_enable_superblocks(probe.get(), 1);
  library->probe_set_superblocks_flags(probe.get(),
                                       BLKID_SUBLKS_TYPE | BLKID_SUBLKS_USAGE | BLKID_SUBLKS_UUID);
  library->probe_enable_partitions(probe.get(), 1);
  Content content;
  const int done = library->do_safeprobe(probe.get());
  if (done == -1) return unreadable;
  if (done == -2) content.is_ambiguous = true;
  const auto value = [&](const char* name) {
    const char* data = nullptr;
    return library->probe_lookup_value(probe.get(), name, &data, nullptr) == 0 && data ? std::string(data)
                                                                                       : std::string();
  };
  if (done == 0) {
    content.type = value("TYPE");
    content.usage = value("USAGE");
    content.uuid = value("UUID");
    content.partition_table = value("PTTYPE");
  }
  if (content.type == "xfs") {
    const auto in_progress = is_xfs_in_progress(fd->get(), device);
    if (!in_progress) return in_progress.error();
    content.is_unfinished = *in_progress;
  }
  return content;
}

base::Result<std::string> user_of(const BlockDevice& device) {
  auto mounts = read_mounts();
  if (!mounts) return std::move(mounts).error();
  for (const Mount& mount : *mounts)
    if (is_of_device(mount, device.number)) return "mounted on " + mount.path;
  auto swap = is_swap(device.number);
  if (!swap) return std::move(swap).error();
  if (*swap) return std::string("swap");
  const std::string folder = sys_folder(device.number);
  if (const std::string holder = first_name(folder + "/holders"); !holder.empty()) return "part of " + holder;
  if (has_partitions(folder)) return std::string("has partitions");
  return std::string();
}

bool is_claimed(const BlockDevice& device) {
  const base::UniqueFd fd(
      ::open(device.path.c_str(), O_RDONLY | O_EXCL | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW));
  return !fd && errno == EBUSY;
}

bool is_of_device(const Mount& mount, dev_t number) {
  if (mount.device == number) return true;
  // Of btrfs and overlays the kernel makes the number up.
  struct stat source {};
  return major(mount.device) == 0 && mount.source.starts_with("/dev/") &&
         ::stat(mount.source.c_str(), &source) == 0 && S_ISBLK(source.st_mode) && source.st_rdev == number;
}

std::string backing_file(dev_t number) {
  auto text = base::read_file(sys_folder(number) + "/loop/backing_file", kLargestProcFile);
  if (!text) return {};
  if (text->ends_with('\n')) text->pop_back();
  return *text;
}

}  // namespace states::block_devices

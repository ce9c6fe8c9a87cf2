#include "states/checkouts/locks.hpp"

#include <dirent.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>

#include "base/files/file_read.hpp"
#include "base/text.hpp"
#include "base/tree/tree.hpp"

namespace states::checkouts {

namespace {

using base::Result;

constexpr std::size_t kMostEntries = 20'000;  // of a folder with locks, and all below it
constexpr int kDeepest = 16;
constexpr std::string_view kAnyLock = "/*.lock";

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> open(::opendir(folder.c_str()), ::closedir);
  if (!open) return names;
  while (const dirent* entry = ::readdir(open.get()))
    if (const std::string_view name = entry->d_name; name != "." && name != "..") names.emplace_back(name);
  return names;
}

std::string target_of_link(const std::string& link) {
  std::array<char, 4096> target{};
  const ssize_t length = ::readlink(link.c_str(), target.data(), target.size());
  return length > 0 ? std::string(target.data(), static_cast<std::size_t>(length)) : std::string();
}

bool is_below(std::string_view path, std::string_view folder) {
  return path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/');
}

bool has_such_name(const std::string& process) {
  const auto name = base::read_file(process + "/comm", 256);
  if (!name) return false;
  return std::ranges::any_of(std::array<std::string_view, 3>{"git", "hg", "svn"},
                             [&](std::string_view known) { return name->starts_with(known); });
}

// Whether it has ended, and only its parent has not asked yet how: it holds nothing any more. (The first of
// several threads can end before the others.)
bool has_ended(const std::string& process) {
  const auto stat = base::read_file(process + "/stat", 4096);
  if (!stat) return false;
  // "7 (git) Z 1 …"; the name may have anything in it.
  const std::size_t name_end = stat->rfind(") ");
  return name_end != stat->npos && stat->substr(name_end + 2, 1) == "Z" &&
         names_in(process + "/task").size() <= 1;
}

// Only what this machine's own processes can have locked.
bool is_local(const std::string& path) {
  struct statfs found {};
  if (::statfs(path.c_str(), &found) != 0) return false;
  constexpr std::array<long, 10> kKnown{
      EXT4_SUPER_MAGIC,      XFS_SUPER_MAGIC,  BTRFS_SUPER_MAGIC,    TMPFS_MAGIC,
      OVERLAYFS_SUPER_MAGIC, F2FS_SUPER_MAGIC, REISERFS_SUPER_MAGIC, 0x2FC12FC1 /* zfs */,
      0x3153464a /* jfs */,  0xca451a4e /* bcachefs */};
  return std::ranges::find(kKnown, static_cast<long>(found.f_type)) != kKnown.end();
}

// The paths of all that ends with ".lock" in a folder and below it.
void collect(const std::string& folder, int depth, std::size_t& left, Context& context,
             std::vector<std::string>& locks) {
  const auto opened = context.tree.folder(folder);
  if (!opened || depth > kDeepest) return;
  for (const std::string& name : names_in("/proc/self/fd/" + std::to_string(*opened))) {
    if (left == 0) return;
    --left;
    const std::string path = folder + "/" + name;
    auto found = context.tree.look(path);
    if (!found || !*found) continue;
    if (S_ISDIR((*found)->st_mode))
      collect(path, depth + 1, left, context, locks);
    else if (name.ends_with(".lock"))
      locks.push_back(path);
  }
}

}  // namespace

bool is_worked_in(const std::string& path, std::string_view marker, Context& context) {
  const std::string real = context.host.root + context.tree.real_path(path);
  const std::string inside = real + "/" + std::string(marker);
  const std::string ours = target_of_link("/proc/self/ns/mnt");
  const std::string self = std::to_string(::getpid());
  struct stat here {};
  if (::stat(real.c_str(), &here) != 0) return true;
  for (const std::string& name : names_in("/proc")) {
    if (name == self || name.find_first_not_of("0123456789") != name.npos) continue;
    const std::string process = "/proc/" + name;
    const bool is_such = has_such_name(process) && !has_ended(process);
    // Paths of another view of the machine say nothing here, but that it is another disk.
    if (is_such && target_of_link(process + "/ns/mnt") != ours) {
      struct stat there {};
      if (::stat((process + "/cwd").c_str(), &there) != 0 || there.st_dev == here.st_dev) return true;
      continue;
    }
    // Somebody's shell in the working copy holds no lock.
    if (is_such && is_below(target_of_link(process + "/cwd"), real)) return true;
    for (const std::string& fd : names_in(process + "/fd"))
      if (is_below(target_of_link(process + "/fd/" + fd), inside)) return true;
  }
  return false;
}

Result<std::vector<std::string>> remove_dead_locks(const std::string& path, std::string_view marker,
                                                   const std::vector<std::string_view>& locks,
                                                   ApplyContext& context) {
  context.tree.forget();
  const std::string inside = path + "/" + std::string(marker) + "/";
  std::vector<std::string> there;
  std::size_t left = kMostEntries;
  for (const std::string_view lock : locks) {
    const std::string whole = inside + std::string(lock);
    if (lock.ends_with(kAnyLock))
      collect(whole.substr(0, whole.size() - kAnyLock.size()), 0, left, context, there);
    else
      there.push_back(whole);
  }
  std::vector<std::pair<std::string, struct stat>> found;
  for (const std::string& lock : there) {
    auto looked = context.tree.look(lock);
    if (!looked) return std::move(looked).error();
    if (*looked && !S_ISDIR((*looked)->st_mode)) found.emplace_back(lock, **looked);
  }
  std::vector<std::string> removed;
  if (found.empty() || !is_local(context.host.root + path) || is_worked_in(path, marker, context))
    return removed;
  for (const auto& [lock, st] : found) {
    // The one that was looked at, and no other: a new one has an owner.
    if (auto gone = context.files.remove(lock, base::Seen(st)); !gone) return std::move(gone).error();
    removed.push_back(lock.substr(inside.size()));
  }
  context.commands.tell("Removed locks in " + path + " that nobody holds: " + base::join(removed, ", "));
  return removed;
}

}  // namespace states::checkouts

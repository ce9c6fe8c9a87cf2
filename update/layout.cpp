#include "update/layout.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <thread>

#include "base/files/durable_file.hpp"

namespace update {

namespace {

namespace fs = std::filesystem;
using base::Error;
using base::ErrorCode;
using base::os_error;
using base::Result;

constexpr std::string_view kVersions = "versions/";
constexpr std::size_t kHashDigits = 8;
constexpr mode_t kFolderMode = 0755;

Result<void> make_folder(const std::string& path) {
  if (::mkdir(path.c_str(), kFolderMode) == 0) return base::sync_folder_of(path);
  struct stat st {};
  if (errno == EEXIST && ::stat(path.c_str(), &st) == 0 && S_ISDIR(st.st_mode)) return {};
  return os_error(errno, "making " + path);
}

Result<void> remove_all(const std::string& path) {
  std::error_code failed;
  fs::remove_all(path, failed);
  if (failed) return os_error(failed.value(), "removing " + path);
  return {};
}

Result<void> rename_lasting(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) return os_error(errno, "renaming " + from + " to " + to);
  if (auto synced = base::sync_folder_of(to); !synced) return synced;
  return base::sync_folder_of(from);
}

bool is_at(int fd, const std::string& path) {
  struct stat ours {};
  struct stat there {};
  return ::fstat(fd, &ours) == 0 && ::stat(path.c_str(), &there) == 0 && ours.st_ino == there.st_ino &&
         ours.st_dev == there.st_dev;
}

}  // namespace

std::string Layout::version_folder(std::string_view name) const {
  return prefix_ + "/versions/" + std::string(name);
}

std::string Layout::program(std::string_view name) const {
  return version_folder(name) + "/bin/opsagent";
}

std::string Layout::staging() const {
  return prefix_ + "/staging";
}

std::string Layout::launcher() const {
  return prefix_ + "/launch";
}

// staging/ is what is locked, because nobody but its owner can open it: whoever can open a folder can lock
// it.
Result<base::UniqueFd> Layout::lock(std::chrono::milliseconds patience) const {
  constexpr std::chrono::milliseconds kLookEvery{50};
  constexpr mode_t kPrivate = 0700;
  const std::string path = staging();
  const auto end = std::chrono::steady_clock::now() + patience;
  while (true) {
    if (::mkdir(path.c_str(), kPrivate) != 0 && errno != EEXIST) return os_error(errno, "making " + path);
    base::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!fd || ::fchmod(fd.get(), kPrivate) != 0) return os_error(errno, path);
    if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK && errno != EINTR) return os_error(errno, "locking " + path);
    } else if (is_at(fd.get(), path)) {
      return fd;  // else who had it before has removed it
    }
    if (std::chrono::steady_clock::now() >= end)
      return Error(ErrorCode::exists,
                   "another install or uninstall is at work in " + prefix_ + ": wait for its end");
    std::this_thread::sleep_for(kLookEvery);
  }
}

std::string Layout::folder_name(std::string_view version, std::string_view sha256) {
  return std::string(version) + "-" + std::string(sha256.substr(0, kHashDigits));
}

bool Layout::is_name(std::string_view name) {
  const auto is_plain = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' ||
           c == '-' || c == '+' || c == '_';
  };
  return !name.empty() && name.size() <= 128 && name.front() != '.' && std::ranges::all_of(name, is_plain);
}

Result<std::string> Layout::current() const {
  const std::string link = prefix_ + "/current";
  std::array<char, 512> target{};
  const ssize_t length = ::readlink(link.c_str(), target.data(), target.size());
  if (length < 0) return os_error(errno, link);
  const std::string_view text(target.data(), static_cast<std::size_t>(length));
  const std::string_view name = text.starts_with(kVersions) ? text.substr(kVersions.size()) : "";
  if (!is_name(name))
    return Error(ErrorCode::invalid, link + " leads to '" + std::string(text) + "', not to a version");
  struct stat st {};
  if (::stat(version_folder(name).c_str(), &st) != 0 || !S_ISDIR(st.st_mode))
    return Error(ErrorCode::not_found, link + " leads to " + std::string(text) + ", which is not there");
  return std::string(name);
}

bool Layout::is_complete(std::string_view name) const {
  struct stat st {};
  return is_name(name) && ::stat(program(name).c_str(), &st) == 0 && S_ISREG(st.st_mode) &&
         (st.st_mode & S_IXUSR) != 0;
}

Result<void> Layout::switch_to(std::string_view name) const {
  if (!is_complete(name))
    return Error(ErrorCode::not_found, version_folder(name) + " is not there, or has no program");
  const std::string link = prefix_ + "/current";
  const std::string scratch = link + ".new";
  const std::string target = std::string(kVersions) + std::string(name);
  ::unlink(scratch.c_str());  // of one that was killed
  if (::symlink(target.c_str(), scratch.c_str()) != 0) return os_error(errno, "creating " + scratch);
  if (::rename(scratch.c_str(), link.c_str()) != 0) {
    const Error failed = os_error(errno, "replacing " + link);
    ::unlink(scratch.c_str());
    return failed;
  }
  return base::sync_folder_of(link);
}

std::vector<std::string> Layout::versions() const {
  std::vector<std::pair<fs::file_time_type, std::string>> found;
  std::error_code failed;
  for (fs::directory_iterator entry(prefix_ + "/versions", failed), end; !failed && entry != end;
       entry.increment(failed)) {
    std::string name = entry->path().filename().string();
    std::error_code ignored;
    if (is_name(name) && entry->is_directory(ignored) && !entry->is_symlink(ignored))
      found.emplace_back(entry->last_write_time(ignored), std::move(name));
  }
  std::ranges::sort(found, std::greater<>());
  std::vector<std::string> names;
  for (auto& [time, name] : found)
    names.push_back(std::move(name));
  return names;
}

Result<void> Layout::adopt(const std::string& staged, std::string_view name) const {
  if (!is_name(name)) return Error(ErrorCode::invalid, "'" + std::string(name) + "' is not a version's name");
  if (auto made = make_folder(prefix_ + "/versions"); !made) return made;
  if (is_complete(name)) return remove_all(staged);
  if (auto gone = discard(name); !gone) return gone;
  return rename_lasting(staged, version_folder(name));
}

// By way of staging/, so that no half folder is ever in versions/.
Result<void> Layout::discard(std::string_view name) const {
  const std::string leaving = staging() + "/old-" + std::string(name);
  if (auto removed = remove_all(leaving); !removed) return removed;
  if (::access(version_folder(name).c_str(), F_OK) != 0) return {};
  if (auto made = make_folder(staging()); !made) return made;
  if (auto moved = rename_lasting(version_folder(name), leaving); !moved) return moved;
  return remove_all(leaving);
}

Result<void> Layout::keep_only(const std::vector<std::string>& names) const {
  auto in_use = current();
  if (!in_use) return std::move(in_use).error();
  for (const std::string& name : versions()) {
    if (name == *in_use || std::ranges::find(names, name) != names.end()) continue;
    if (auto gone = discard(name); !gone) return gone;
  }
  return {};
}

Result<void> Layout::sweep_staging(const std::vector<std::string>& keep) const {
  std::vector<std::string> rest;
  std::error_code failed;
  for (fs::directory_iterator entry(staging(), failed), end; !failed && entry != end; entry.increment(failed))
    rest.push_back(entry->path().filename().string());
  if (failed && failed.value() != ENOENT) return os_error(failed.value(), "reading " + staging());
  for (const std::string& name : rest)
    if (std::ranges::find(keep, name) == keep.end())
      if (auto removed = remove_all(staging() + "/" + name); !removed) return removed;
  return {};
}

}  // namespace update

#include "agent/install/files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <set>

#include <climits>

#include "base/files/durable_file.hpp"
#include "base/files/file_read.hpp"
#include "base/sha256.hpp"
#include "base/unique_fd.hpp"

namespace agent::install {

namespace {

namespace fs = std::filesystem;
using base::Error;
using base::ErrorCode;
using base::os_error;
using base::Result;

constexpr mode_t kFolderMode = 0755;
constexpr std::size_t kLargestFile = 512UL * 1024 * 1024;  // of a release, as its archive's limit

Result<void> sync_path(const std::string& path) {
  const base::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd || ::fsync(fd.get()) != 0) return os_error(errno, "syncing " + path);
  return {};
}

std::string parent_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

// The folders of a release, below its own.
std::set<std::string> folders_of(const Manifest& manifest) {
  std::set<std::string> folders;
  for (const ManifestFile& file : manifest.files)
    for (std::size_t slash = file.path.find('/'); slash != std::string::npos;
         slash = file.path.find('/', slash + 1))
      folders.insert(file.path.substr(0, slash));
  return folders;
}

}  // namespace

bool is_there(const std::string& path) {
  struct stat st {};
  return ::lstat(path.c_str(), &st) == 0;
}

bool is_folder(const std::string& path) {
  struct stat st {};
  return ::lstat(path.c_str(), &st) == 0 && S_ISDIR(st.st_mode);
}

Result<void> make_folders(const std::string& path) {
  struct stat st {};
  if (::stat(path.c_str(), &st) == 0) {
    if (S_ISDIR(st.st_mode)) return {};
    return Error(ErrorCode::exists, path + " is in the way: it is not a folder");
  }
  const std::string parent = parent_of(path);
  if (auto made = make_folders(parent); !made) return made;
  if (::mkdir(path.c_str(), kFolderMode) != 0) {
    if (errno == EEXIST && ::stat(path.c_str(), &st) == 0 && S_ISDIR(st.st_mode)) return {};  // just now
    return os_error(errno, "making " + path);
  }
  // By descriptor: the umask has no say, and a link in its place is not followed.
  const base::UniqueFd made(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!made || ::fstat(made.get(), &st) != 0) return os_error(errno, "making " + path);
  if (st.st_uid != ::geteuid()) return Error(ErrorCode::permission, path + " was replaced by somebody else");
  if (::fchmod(made.get(), kFolderMode) != 0) return os_error(errno, "making " + path);
  return base::sync_folder_of(path);
}

std::string link_target(const std::string& path) {
  std::array<char, PATH_MAX> target{};
  const ssize_t length = ::readlink(path.c_str(), target.data(), target.size());
  return length < 0 ? "" : std::string(target.data(), static_cast<std::size_t>(length));
}

Result<void> make_durable_link(const std::string& path, const std::string& target) {
  if (link_target(path) == target) return {};
  const std::string scratch = path + ".new";
  ::unlink(scratch.c_str());  // of one that was killed
  if (::symlink(target.c_str(), scratch.c_str()) != 0) return os_error(errno, "creating " + scratch);
  if (::rename(scratch.c_str(), path.c_str()) != 0) {
    const Error failed = os_error(errno, "replacing " + path);
    ::unlink(scratch.c_str());
    return failed;
  }
  return base::sync_folder_of(path);
}

Result<bool> put_file(const std::string& path, std::string_view content, mode_t mode) {
  struct stat st {};
  if (::lstat(path.c_str(), &st) == 0 && S_ISREG(st.st_mode) && (st.st_mode & 07777) == mode) {
    const auto old = base::read_file(path, kLargestFile);
    if (old && *old == content) return false;
  }
  if (auto written = base::write_durable_file(path, content, mode); !written)
    return std::move(written).error();
  return true;
}

Result<void> copy_release(const std::string& from, const Manifest& manifest, const std::string& to) {
  for (const std::string& folder : folders_of(manifest))
    if (auto made = make_folders(to + "/" + folder); !made) return made;
  for (const ManifestFile& file : manifest.files) {
    const auto content = base::read_file(from + "/" + file.path, kLargestFile);
    if (!content) return content.error();
    if (base::sha256_hex(*content) != file.sha256)
      return Error(ErrorCode::invalid, from + "/" + file.path + " is not what the manifest says");
    if (auto put = put_file(to + "/" + file.path, *content, file.mode); !put) return std::move(put).error();
  }
  const auto content = base::read_file(from + "/" + kManifestName, kLargestFile);
  if (!content) return content.error();
  auto put = put_file(to + "/" + kManifestName, *content, 0644);
  if (!put) return std::move(put).error();
  return {};
}

Result<void> sync_release(const std::string& folder, const Manifest& manifest) {
  for (const ManifestFile& file : manifest.files)
    if (auto synced = sync_path(folder + "/" + file.path); !synced) return synced;
  if (auto synced = sync_path(folder + "/" + kManifestName); !synced) return synced;
  for (const std::string& below : folders_of(manifest))
    if (auto synced = sync_path(folder + "/" + below); !synced) return synced;
  return sync_path(folder);
}

Result<void> remove_name(const std::string& path) {
  return base::remove_lasting_file(path);
}

Result<void> remove_tree(const std::string& path) {
  if (!is_there(path)) return {};
  std::error_code failed;
  fs::remove_all(path, failed);
  if (failed) return os_error(failed.value(), "removing " + path);
  return base::sync_folder_of(path);
}

Result<bool> remove_empty_folder(const std::string& path) {
  if (::rmdir(path.c_str()) != 0) {
    if (errno == ENOENT) return true;
    if (errno == ENOTEMPTY || errno == EEXIST || errno == EBUSY) return false;
    return os_error(errno, "removing " + path);
  }
  if (auto synced = base::sync_folder_of(path); !synced) return std::move(synced).error();
  return true;
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code failed;
  for (fs::directory_iterator entry(folder, failed), end; !failed && entry != end; entry.increment(failed))
    names.push_back(entry->path().filename().string());
  std::ranges::sort(names);
  return names;
}

}  // namespace agent::install

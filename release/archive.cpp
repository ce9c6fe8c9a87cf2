#include "release/archive.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <vector>

#include "base/files/durable_file.hpp"
#include "base/text.hpp"
#include "base/unique_fd.hpp"
#include "release/tar_reader.hpp"

namespace release {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;
using base::UniqueFd;

// Writes below one folder, whatever happens to names meanwhile: by descriptor, following nothing.
class Unpacking {
 public:
  explicit Unpacking(const std::string& folder) : folder_(folder) {}

  Result<void> begin() {
    if (::mkdir(folder_.c_str(), 0700) != 0) return base::os_error(errno, "making " + folder_);
    root_.reset(::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    // By descriptor: the umask has no say.
    if (!root_ || ::fchmod(root_.get(), 0755) != 0) return base::os_error(errno, "opening " + folder_);
    return {};
  }

  Result<void> add_folder(const std::string& path) {
    auto parent = open_parent(path);
    if (!parent) return std::move(parent).error();
    const std::string name = name_of(path);
    if (::mkdirat(parent->get(), name.c_str(), 0700) != 0) return failed("making", path);
    const UniqueFd made(open_below(parent->get(), name));
    if (!made || ::fchmod(made.get(), 0755) != 0) return failed("making", path);
    folders_.push_back(path);
    return {};
  }

  Result<void> add_file(const TarEntry& entry, TarReader& tar) {
    auto parent = open_parent(entry.path);
    if (!parent) return std::move(parent).error();
    const UniqueFd file(::openat(parent->get(), name_of(entry.path).c_str(),
                                 O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!file) return failed("making", entry.path);
    while (true) {
      auto chunk = tar.read();
      if (!chunk) return std::move(chunk).error();
      if (chunk->empty()) break;
      if (auto written = write_all(file.get(), *chunk, entry.path); !written) return written;
    }
    if (::fchmod(file.get(), entry.is_executable ? 0755 : 0644) != 0 || ::fsync(file.get()) != 0)
      return failed("writing", entry.path);
    return {};
  }

  // Folders after what is in them, the outermost name last.
  Result<void> finish() {
    for (auto path = folders_.rbegin(); path != folders_.rend(); ++path) {
      auto folder = open_folder(*path);
      if (!folder) return std::move(folder).error();
      if (::fsync(folder->get()) != 0) return failed("syncing", *path);
    }
    if (::fsync(root_.get()) != 0) return base::os_error(errno, "syncing " + folder_);
    return base::sync_folder_of(folder_);
  }

 private:
  static std::string name_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }
  static int open_below(int folder, const std::string& name) {
    return ::openat(folder, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  }
  Error failed(std::string_view doing, const std::string& path) const {
    return base::os_error(errno, std::string(doing) + " " + folder_ + "/" + path);
  }

  Result<UniqueFd> open_folder(std::string_view path) const {
    UniqueFd at(open_below(root_.get(), "."));
    for (const std::string_view part : base::split(path, '/')) {
      if (!at) break;
      at.reset(open_below(at.get(), std::string(part)));
    }
    if (!at) return failed("opening", std::string(path));
    return at;
  }
  Result<UniqueFd> open_parent(const std::string& path) const {
    const std::size_t slash = path.rfind('/');
    return open_folder(slash == std::string::npos ? std::string_view()
                                                  : std::string_view(path).substr(0, slash));
  }

  Result<void> write_all(int fd, std::string_view bytes, const std::string& path) const {
    while (!bytes.empty()) {
      const ssize_t written = ::write(fd, bytes.data(), bytes.size());
      if (written >= 0)
        bytes.remove_prefix(static_cast<std::size_t>(written));
      else if (errno != EINTR)
        return failed("writing", path);
    }
    return {};
  }

  std::string folder_;
  UniqueFd root_;
  std::vector<std::string> folders_;  // each after the one that it is in
};

}  // namespace

Result<void> unpack(const std::string& archive, const std::string& folder, ArchiveLimits limits) {
  auto tar = TarReader::open(archive, limits);
  if (!tar) return std::move(tar).error();
  Unpacking unpacking(folder);
  if (auto begun = unpacking.begin(); !begun) return begun;
  while (true) {
    auto entry = tar->next();
    if (!entry) return std::move(entry).error();
    if (!*entry) return unpacking.finish();
    auto added =
        (*entry)->is_folder ? unpacking.add_folder((*entry)->path) : unpacking.add_file(**entry, *tar);
    if (!added) return added;
  }
}

Result<std::string> read_archived(const std::string& archive, std::string_view path, std::size_t limit,
                                  ArchiveLimits limits) {
  auto tar = TarReader::open(archive, limits);
  if (!tar) return std::move(tar).error();
  std::optional<std::string> content;
  while (true) {
    auto entry = tar->next();
    if (!entry) return std::move(entry).error();
    if (!*entry) break;
    if ((*entry)->path != path || (*entry)->is_folder) continue;
    if ((*entry)->size > limit)
      return Error(ErrorCode::limit, "'" + std::string(path) + "' in the archive is larger than " +
                                         std::to_string(limit) + " bytes");
    content.emplace();
    for (std::uint64_t left = (*entry)->size; left > 0;) {
      auto chunk = tar->read();
      if (!chunk) return std::move(chunk).error();
      left -= chunk->size();
      *content += *chunk;
    }
  }
  if (!content) return Error(ErrorCode::not_found, "the archive has no file '" + std::string(path) + "'");
  return std::move(*content);
}

}  // namespace release

#include "modules/fetch/module_store.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>

#include "base/files/folder_walk.hpp"
#include "base/files/others.hpp"
#include "base/files/private_folder.hpp"
#include "base/token.hpp"
#include "base/tree/tree_removal.hpp"

namespace modules::fetch {

namespace {

using base::Error;
using base::ErrorCode;
using base::os_error;
using base::Result;
using base::UniqueFd;
using ::modules::git::EntryKind;
using ::modules::git::ObjectId;
using ::modules::git::SnapshotEntry;

constexpr std::chrono::seconds kLongestWait{30};
constexpr std::string_view kStaging = ".new-", kFetching = ".fetch-", kRemoving = ".old-";
constexpr mode_t kFolderMode = 0555, kFileMode = 0444, kProgramMode = 0555;

// Whoever looks for old ones holds each for a moment.
Result<void> lock_for_use(int folder) {
  constexpr int kTries = 100, kPauseMs = 10;
  for (int i = 0; i < kTries; ++i) {
    if (::flock(folder, LOCK_SH | LOCK_NB) == 0) return {};
    if (errno != EWOULDBLOCK && errno != EINTR) break;
    ::poll(nullptr, 0, kPauseMs);
  }
  return os_error(errno, "a shared lock");
}

UniqueFd open_folder(int parent, const std::string& name) {
  return UniqueFd(::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

std::vector<std::string> names_in(int folder) {
  std::vector<std::string> names;
  const int copy = ::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* listing = copy < 0 ? nullptr : ::fdopendir(copy);
  if (listing == nullptr) return names;
  while (const dirent* entry = ::readdir(listing))
    if (const std::string name = entry->d_name; name != "." && name != "..") names.push_back(name);
  ::closedir(listing);
  return names;
}

// Read-only folders, for whoever is not root, can be emptied when they are writable again.
Result<void> remove_tree(int parent, const std::string& name, const std::string& path) {
  base::NoInterrupt none;
  UniqueFd folder = open_folder(parent, name);
  if (!folder && errno == ENOENT) return {};
  if (!folder) {
    if (::unlinkat(parent, name.c_str(), 0) == 0) return {};
    return os_error(errno, "removing " + path);
  }
  ::fchmod(folder.get(), 0700);
  auto opened = base::walk_below(folder.get(), path, none, [](const base::WalkEntry& entry) -> Result<void> {
    if (S_ISDIR(entry.info.st_mode) && ::fchmodat(entry.folder, entry.name, 0700, 0) != 0)
      return os_error(errno, "opening " + entry.path());
    return {};
  });
  if (!opened) return opened;
  if (auto emptied = base::empty_folder(std::move(folder), path, none); !emptied) return emptied;
  if (::unlinkat(parent, name.c_str(), AT_REMOVEDIR) != 0 && errno != ENOENT)
    return os_error(errno, "removing " + path);
  return {};
}

Result<void> write_whole(int file, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return os_error(errno, "writing " + path);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

}  // namespace

Result<ModuleStore> ModuleStore::open(const std::string& state_dir, base::Interrupt& interrupt) {
  if (auto state = base::make_private_folder(state_dir); !state) return std::move(state).error();
  auto way = base::make_private_folder(state_dir + "/modules");
  if (!way) return std::move(way).error();
  const std::string path = way->path;
  UniqueFd folder(::openat(way->end.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  UniqueFd lock(folder ? ::openat(folder.get(), "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600)
                       : -1);
  if (!lock) return os_error(errno, "opening " + path + "/lock");
  const auto end = std::chrono::steady_clock::now() + kLongestWait;
  while (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) return os_error(errno, "locking " + path);
    if (interrupt.requested()) return Error(ErrorCode::cancelled, "cancelled");
    if (std::chrono::steady_clock::now() > end)
      return Error(ErrorCode::timed_out, "another fetch of modules is under way; try again when it is done");
    pollfd waiting{interrupt.wait_fd(), POLLIN, 0};
    ::poll(&waiting, 1, 50);
  }
  ModuleStore store(path, std::move(folder), std::move(lock));
  if (auto removed = store.remove_leftovers(); !removed) return std::move(removed).error();
  return store;
}

Result<ModuleStore> ModuleStore::look(const std::string& state_dir) {
  const std::string path = state_dir + "/modules";
  struct stat found {};
  if (::lstat(path.c_str(), &found) != 0) return os_error(errno, path);  // nothing is made here
  auto way = base::make_private_folder(path);
  if (!way) return std::move(way).error();
  UniqueFd folder(::openat(way->end.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder) return os_error(errno, path);
  return ModuleStore(way->path, std::move(folder), UniqueFd());
}

Result<void> ModuleStore::remove_leftovers() {
  for (const std::string& name : names_in(folder_.get()))
    if (name.starts_with(kStaging) || name.starts_with(kFetching) || name.starts_with(kRemoving))
      if (auto removed = remove(name); !removed) return removed;
  return {};
}

Result<void> ModuleStore::remove(const std::string& name) {
  return remove_tree(folder_.get(), name, path_ + '/' + name);
}

Result<Checkout> ModuleStore::use(const std::string& commit) {
  Checkout checkout{
      .commit = commit, .path = path_ + '/' + commit, .folder = open_folder(folder_.get(), commit)};
  const int folder = checkout.folder.get();
  if (!checkout.folder && errno == ENOENT)
    return Error(ErrorCode::not_found, checkout.path + " is not there");
  struct stat found {};
  const bool is_ours = checkout.folder && ::fstat(folder, &found) == 0 && found.st_uid == ::geteuid() &&
                       (found.st_mode & 0222) == 0 && !base::others_can_write_to(folder);
  if (!is_ours)
    return Error(ErrorCode::permission,
                 checkout.path + " was not made by the agent: it is not used; remove it");
  if (auto locked = lock_for_use(folder); !locked)
    return std::move(locked).error().with_context("locking " + checkout.path);
  // Whoever removes old ones may have been quicker.
  struct stat named {};
  if (::fstatat(folder_.get(), commit.c_str(), &named, AT_SYMLINK_NOFOLLOW) != 0 ||
      named.st_ino != found.st_ino)
    return Error(ErrorCode::not_found, checkout.path + " is not there");
  ::futimens(folder, nullptr);  // which was used last
  return checkout;
}

std::vector<std::string> ModuleStore::commits() const {
  std::vector<std::string> found;
  for (std::string& name : names_in(folder_.get()))
    if (ObjectId::parse(name)) found.push_back(std::move(name));
  return found;
}

Result<std::string> ModuleStore::make_fetch_folder(std::uint32_t uid) {
  std::string name = std::string(kFetching) + base::random_hex(8);
  if (::mkdirat(folder_.get(), name.c_str(), 0700) != 0)
    return os_error(errno, "making " + path_ + '/' + name);
  if (uid != 0 && ::fchownat(folder_.get(), name.c_str(), uid, uid, AT_SYMLINK_NOFOLLOW) != 0)
    return os_error(errno, "giving away " + path_ + '/' + name);
  return name;
}

Result<void> ModuleStore::prune() {
  struct Unused {
    std::int64_t used = 0;
    std::string commit;
    UniqueFd folder;  // locked: nobody begins to use it
  };
  std::vector<Unused> unused;
  for (const std::string& commit : commits()) {
    UniqueFd folder = open_folder(folder_.get(), commit);
    struct stat found {};
    if (!folder || ::fstat(folder.get(), &found) != 0) continue;
    if (::flock(folder.get(), LOCK_EX | LOCK_NB) != 0) continue;  // in use
    const std::int64_t used = std::int64_t{found.st_mtim.tv_sec} * 1'000'000'000 + found.st_mtim.tv_nsec;
    unused.push_back({.used = used, .commit = commit, .folder = std::move(folder)});
  }
  std::ranges::sort(unused, std::greater{}, &Unused::used);
  for (std::size_t i = 0; i < std::min(kKept, unused.size()); ++i)
    unused[i].folder.reset();
  for (std::size_t i = kKept; i < unused.size(); ++i) {
    const std::string& commit = unused[i].commit;
    const std::string away = std::string(kRemoving) + commit;
    // First the name: nobody sees half of it.
    if (::renameat(folder_.get(), commit.c_str(), folder_.get(), away.c_str()) != 0)
      return os_error(errno, "removing " + path_ + '/' + commit);
    if (auto removed = remove(away); !removed) return removed;
  }
  return {};
}

CheckoutWriter::CheckoutWriter(ModuleStore& store,
                               std::function<Result<void>(const ::modules::git::Resolved&)> accept)
    : store_(store), accept_(std::move(accept)) {}

CheckoutWriter::~CheckoutWriter() {
  if (name_.empty()) return;
  // What cannot be removed now is removed when the store is opened next.
  [[maybe_unused]] const auto removed = store_.remove(name_);
}

Result<void> CheckoutWriter::on_resolved(const ::modules::git::Resolved& resolved) {
  return accept_(resolved);
}

Result<void> CheckoutWriter::on_tree(const std::vector<SnapshotEntry>& entries) {
  entries_ = entries;
  name_ = std::string(kStaging) + base::random_hex(8);
  if (::mkdirat(store_.folder_.get(), name_.c_str(), 0700) != 0)
    return os_error(errno, "making " + store_.path_ + '/' + name_);
  folder_ = open_folder(store_.folder_.get(), name_);
  if (!folder_) return os_error(errno, "opening " + store_.path_ + '/' + name_);
  for (const SnapshotEntry& entry : entries_)
    if (entry.kind == EntryKind::folder && ::mkdirat(folder_.get(), entry.path.c_str(), 0700) != 0)
      return os_error(errno, "making the folder '" + entry.path + "'");
  return {};
}

// There is no link below the folder yet, and nobody else can write to it: paths lead where they say.
Result<UniqueFd> CheckoutWriter::make_file(const SnapshotEntry& entry) {
  UniqueFd file(
      ::openat(folder_.get(), entry.path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) return os_error(errno, "making the file '" + entry.path + "'");
  if (::fchmod(file.get(), entry.kind == EntryKind::program ? kProgramMode : kFileMode) != 0)
    return os_error(errno, "making the file '" + entry.path + "' read-only");
  return file;
}

Result<void> CheckoutWriter::begin_file(const std::vector<std::size_t>& places, std::uint64_t) {
  places_ = places;
  auto file = make_file(entries_[places[0]]);
  if (!file) return std::move(file).error();
  file_ = std::move(*file);
  return {};
}

Result<void> CheckoutWriter::add_bytes(std::string_view bytes) {
  return write_whole(file_.get(), bytes, "'" + entries_[places_[0]].path + "'");
}

// Copies for the other places.
Result<void> CheckoutWriter::end_file() {
  for (std::size_t i = 1; i < places_.size(); ++i) {
    const SnapshotEntry& entry = entries_[places_[i]];
    auto copy = make_file(entry);
    if (!copy) return std::move(copy).error();
    char buffer[64 * 1024];
    for (off_t at = 0;;) {
      const ssize_t length = ::pread(file_.get(), buffer, sizeof buffer, at);
      if (length < 0) return os_error(errno, "reading '" + entries_[places_[0]].path + "'");
      if (length == 0) break;
      at += length;
      if (auto written = write_whole(copy->get(), std::string_view(buffer, static_cast<std::size_t>(length)),
                                     "'" + entry.path + "'");
          !written)
        return written;
    }
  }
  file_.reset();
  return {};
}

Result<void> CheckoutWriter::finish(const ::modules::git::Snapshot& snapshot) {
  for (const auto& [path, target] : snapshot.links)
    if (::symlinkat(target.c_str(), folder_.get(), path.c_str()) != 0)
      return os_error(errno, "making the link '" + path + "'");
  for (auto entry = entries_.rbegin(); entry != entries_.rend(); ++entry)
    if (entry->kind == EntryKind::folder &&
        ::fchmodat(folder_.get(), entry->path.c_str(), kFolderMode, 0) != 0)
      return os_error(errno, "making the folder '" + entry->path + "' read-only");
  // All of it is on disk before it has its name.
  if (::fchmod(folder_.get(), kFolderMode) != 0 || ::syncfs(folder_.get()) != 0)
    return os_error(errno, "writing the modules to disk");
  const std::string commit = snapshot.resolved.commit.hex();
  const int store = store_.folder_.get();
  if (::renameat2(store, name_.c_str(), store, commit.c_str(), RENAME_NOREPLACE) != 0) {
    if (errno != EEXIST) return os_error(errno, "naming " + store_.path_ + '/' + commit);
    // It was there and was fetched again, to see who signed it: what is there stays if it is ours.
    if (auto there = store_.use(commit); !there) return std::move(there).error();
    return {};
  }
  name_.clear();
  if (::fsync(store) != 0) return os_error(errno, "writing " + store_.path_ + " to disk");
  return {};
}

}  // namespace modules::fetch

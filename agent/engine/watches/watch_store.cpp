#include "agent/engine/watches/watch_store.hpp"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>
#include <filesystem>
#include <iterator>
#include <optional>

#include "base/files/file_read.hpp"
#include "base/files/private_folder.hpp"
#include "base/sha256.hpp"
#include "base/text.hpp"

namespace agent::engine {

using base::Result;
using base::UniqueFd;

namespace {

constexpr std::size_t kMd5Digits = 32;
// An old record of a larger file counts as changed; only the first round after a migration asks.
constexpr std::size_t kLargestMd5 = 256 * 1024 * 1024;
// A second's work or two. A watched file may be a user's, and a sparse one of any size costs him nothing:
// what is larger is known by its inode, size and time of change.
constexpr off_t kLargestHashed = 1024 * 1024 * 1024;
// A file changed so recently may change again without its times showing it (file systems count in steps of up
// to 2 s), so its digest is not remembered.
constexpr std::int64_t kSettledNs = 2'000'000'000;

std::int64_t nanoseconds(const timespec& time) {
  return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

// Nothing when it is not there.
Result<std::optional<WatchedPath>> look(base::Tree& tree, std::string_view path) {
  auto end = tree.follow(path);
  if (!end) {
    const base::ErrorCode why = end.error().code();
    if (why == base::ErrorCode::not_found || why == base::ErrorCode::exists)
      return std::optional<WatchedPath>();
    return std::move(end).error().with_context("watching");
  }
  WatchedPath found{.end = std::move(*end)};
  if (::fstat(found.end.get(), &found.st) != 0)
    return base::os_error(errno, std::string(path)).with_context("watching");
  return std::optional(std::move(found));
}

// The very file that was found, whatever has its name by now.
UniqueFd open_to_read(const WatchedPath& found) {
  const std::string by_descriptor = "/proc/self/fd/" + std::to_string(found.end.get());
  return UniqueFd(::open(by_descriptor.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
}

// What a file that is too large to be read is known by, in the form of a digest.
std::string rough_digest(const struct stat& st) {
  return base::sha256_hex("large file " + std::to_string(st.st_ino) + " " + std::to_string(st.st_size) + " " +
                          std::to_string(nanoseconds(st.st_mtim)));
}

// A disk or server that fails says nothing of the content: whoever took that for a change would restart
// services now, and again when the file can be read.
base::Error not_read(int why, const std::string& path) {
  return base::os_error(why, "cannot read " + path).with_context("watching");
}

// A file may grow while it is read, and for ever.
Result<std::string> hash(int fd, const struct stat& st, const std::string& path, base::Interrupt& interrupt) {
  if (st.st_size > kLargestHashed) return rough_digest(st);
  base::Sha256 sha;
  std::array<char, 64 * 1024> buffer;
  for (off_t done = 0; done <= kLargestHashed;) {
    if (interrupt.requested())
      return base::Error(base::ErrorCode::cancelled, "Cancelled while a watched file was read");
    const ssize_t got = ::read(fd, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return not_read(errno, path);
    if (got == 0) return sha.finish();
    sha.add({buffer.data(), static_cast<std::size_t>(got)});
    done += got;
  }
  return rough_digest(st);
}

bool has_md5(const WatchedPath& found, std::string_view path, std::string_view digest) {
  if (!S_ISREG(found.st.st_mode) || found.st.st_size > static_cast<off_t>(kLargestMd5)) return false;
  const UniqueFd fd = open_to_read(found);
  if (!fd) return false;
  const auto bytes = base::read_all(fd.get(), kLargestMd5, std::string(path));
  return bytes && base::equal_ignoring_case(base::md5_hex(*bytes), digest);
}

std::string hashed_name(const std::string& name, std::size_t keep) {
  return name.substr(0, keep) + "-" + base::sha256_hex(name) + ".cksum";
}

// A path and the name of its record.
struct Watched {
  std::string_view path;
  std::string record;
};

// `taken`: those of the state's other paths.
std::string record_name(std::string_view sid, std::string_view path, const std::vector<Watched>& taken) {
  constexpr std::size_t kKept = 180;  // with 64 digits, "-" and ".cksum" below NAME_MAX
  static_assert(kKept + 64 + 7 <= NAME_MAX);
  // Of a path every "/" becomes "-", so the first "--" is where it begins, unless the id has one, too, or
  // makes one with what follows: then another id with another path might come to the same name.
  const bool is_ambiguous =
      sid.find("--") != sid.npos || sid.ends_with('-') || sid.find('/') != sid.npos || !path.starts_with('/');
  const std::string whole =
      (is_ambiguous ? std::to_string(sid.size()) + ":" : "") + std::string(sid) + "-" + std::string(path);
  std::string name = whole + ".cksum";
  std::ranges::replace(name, '/', '-');
  if (!is_ambiguous && name.size() <= NAME_MAX &&
      std::ranges::find(taken, name, &Watched::record) == taken.end())
    return name;
  name = hashed_name(whole, kKept);
  std::ranges::replace(name, '/', '-');
  return name;
}

// What a state watches, each path once.
std::vector<Watched> watched_by(std::string_view sid, const states::WatchRequest& request) {
  std::vector<Watched> watched;
  for (const std::string_view path : request.paths)
    if (std::ranges::find(watched, path, &Watched::path) == watched.end())
      watched.push_back({path, record_name(sid, path, watched)});
  return watched;
}

std::string storing(std::string_view sid) {
  return "storing what " + std::string(sid) + " watches";
}

bool has(const std::vector<std::string>& list, std::string_view value) {
  return std::ranges::find(list, value) != list.end();
}

}  // namespace

WatchStore::Fingerprint WatchStore::fingerprint_of(const struct stat& st) {
  return {st.st_dev, st.st_ino, st.st_size, nanoseconds(st.st_mtim), nanoseconds(st.st_ctim)};
}

Result<std::string> WatchStore::digest_of(const WatchedPath& found, const std::string& key,
                                          base::Interrupt& interrupt) {
  const auto known = known_.find(key);
  if (known != known_.end() && known->second.fingerprint == fingerprint_of(found.st))
    return known->second.digest;
  if (known != known_.end()) known_.erase(known);

  const UniqueFd fd = open_to_read(found);
  struct stat before {};
  struct stat after {};
  // Not for us to read, or gone since it was looked at.
  if (!fd && (errno == EACCES || errno == EPERM || errno == ENOENT)) return std::string();
  if (!fd || ::fstat(fd.get(), &before) != 0) return not_read(errno, key);
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  auto digest = hash(fd.get(), before, key, interrupt);
  if (!digest || digest->empty() || ::fstat(fd.get(), &after) != 0) return digest;
  const Fingerprint fingerprint = fingerprint_of(before);
  const bool settled =
      fingerprint == fingerprint_of(after) && nanoseconds(now) - fingerprint.changed_ns >= kSettledNs;
  if (known_.size() >= kMostKnown) known_.clear();
  if (settled) known_.insert_or_assign(key, Known{fingerprint, *digest});
  return digest;
}

// The digest of what is there; "" with a word why in `unseen` when there is nothing to watch.
Result<std::string> WatchStore::digest_at(std::string_view path, const std::optional<WatchedPath>& found,
                                          base::Tree& tree, base::Interrupt& interrupt, WatchState& state) {
  const auto nothing = [&](std::string_view why) {
    state.unseen.push_back({std::string(path), std::string(why)});
    return std::string();
  };
  if (!found) return nothing("is not there");
  const auto of_file = [&](const WatchedPath& file, const std::string& name) {
    return digest_of(file, tree.root() + name, interrupt);
  };
  if (S_ISDIR(found->st.st_mode)) return folder_digest(*found, path, tree, limits_, interrupt, of_file);
  // Only files are opened for reading: opening a device or FIFO may do something.
  if (!S_ISREG(found->st.st_mode)) return nothing("is neither a file nor a folder");
  auto digest = of_file(*found, std::string(path));
  return digest && digest->empty() ? nothing("cannot be read") : digest;
}

Result<WatchState> WatchStore::evaluate(std::string_view sid, const states::WatchRequest& request,
                                        base::Tree& tree, base::Interrupt& interrupt) {
  WatchState state;
  if (request.always) {
    state.triggered = true;
    return state;
  }
  state.parts.assign(request.parts.begin(), request.parts.end());
  if (state.parts.empty()) state.parts.emplace_back();
  for (Watched& watched : watched_by(sid, request)) {
    const auto found = look(tree, watched.path);
    if (!found) return found.error();
    auto digest = digest_at(watched.path, *found, tree, interrupt, state);
    if (!digest) return std::move(digest).error();
    auto record = read_watch_record(folder_ + "/" + watched.record);
    if (!record) return std::move(record).error();
    Seen seen{.path = std::string(watched.path),
              .record = std::move(watched.record),
              .digest = std::move(*digest),
              .noted = record->value_or(WatchRecord{})};
    seen.is_recorded = seen.noted == WatchRecord{.all = seen.digest};
    const auto is_same = [&](const std::string& reacted_to) {
      return reacted_to == seen.digest || (!*record && !request.first_counts) ||
             (reacted_to.size() == kMd5Digits && !seen.digest.empty() &&
              has_md5(**found, watched.path, reacted_to));
    };
    for (const std::string& part : state.parts)
      if (!is_same(seen.noted.of(part))) seen.to_react.push_back(part);
    state.seen.push_back(std::move(seen));
  }
  sum_up(state);
  return state;
}

// Says for the state as a whole what was seen of its paths.
void WatchStore::sum_up(WatchState& state) {
  state.changed.clear();
  for (const Seen& seen : state.seen)
    if (!seen.to_react.empty()) state.changed.push_back(seen.path);
  state.triggered = !state.changed.empty();
  state.reacted.clear();
  if (!state.triggered) return;
  for (const std::string& part : state.parts)
    if (std::ranges::none_of(state.seen, [&](const Seen& seen) { return has(seen.to_react, part); }))
      state.reacted.push_back(part);
}

Result<UniqueFd> WatchStore::open_folder() {
  if (auto made = base::make_private_folder(folder_); !made) return std::move(made).error();
  UniqueFd folder(::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder) return base::os_error(errno, "opening " + folder_);
  return folder;
}

Result<void> WatchStore::begin(std::string_view sid, WatchState& state) {
  UniqueFd folder;
  for (Seen& seen : state.seen) {
    WatchRecord next = seen.noted;
    next.set(seen.to_react, kPending, state.parts);
    if (seen.to_react.empty() || next == seen.noted) continue;
    if (auto written = write(folder, seen.record, next, false); !written)
      return std::move(written).error().with_context(storing(sid));
    seen.noted = std::move(next);
    seen.is_recorded = false;
  }
  return {};
}

Result<void> WatchStore::mark(std::string_view sid, const states::WatchRequest& request,
                              const IsWritten& is_written) {
  UniqueFd folder;
  const WatchRecord pending{.all = std::string(kPending)};
  for (const Watched& watched : watched_by(sid, request)) {
    if (!is_written(watched.path)) continue;
    auto record = read_watch_record(folder_ + "/" + watched.record);
    if (!record) return std::move(record).error();
    if (!*record || **record == pending) continue;
    if (auto written = write(folder, watched.record, pending, false); !written)
      return std::move(written).error().with_context(storing(sid));
  }
  return {};
}

Result<void> WatchStore::store_reacted(std::string_view sid, const std::vector<std::string>& parts,
                                       WatchState& state) {
  UniqueFd folder;
  for (Seen& seen : state.seen) {
    std::vector<std::string> reacted;
    std::ranges::copy_if(seen.to_react, std::back_inserter(reacted),
                         [&](const std::string& part) { return has(parts, part); });
    if (reacted.empty()) continue;
    WatchRecord next = seen.noted;
    next.set(reacted, seen.digest, state.parts);
    if (auto written = write(folder, seen.record, next, true); !written)
      return std::move(written).error().with_context(storing(sid));
    seen.noted = std::move(next);
    std::erase_if(seen.to_react, [&](const std::string& part) { return has(reacted, part); });
  }
  if (folder && ::fsync(folder.get()) != 0) return base::os_error(errno, storing(sid));
  sum_up(state);
  return {};
}

// A record that says so already is only marked as used, now and then: removal goes by that.
Result<void> WatchStore::store(std::string_view sid, const WatchState& state) {
  UniqueFd folder;
  for (const Seen& seen : state.seen) {
    if (seen.is_recorded) {
      mark_used(seen.record);
      continue;
    }
    if (auto written = write(folder, seen.record, {.all = seen.digest}, true); !written)
      return std::move(written).error().with_context(storing(sid));
  }
  if (folder && ::fsync(folder.get()) != 0) return base::os_error(errno, storing(sid));
  return {};
}

void WatchStore::mark_used(const std::string& record) {
  const auto now = std::chrono::steady_clock::now();
  const auto [known, is_new] = marked_used_.try_emplace(record, now);
  if (!is_new && now - known->second < kMarkedEvery) return;
  known->second = now;
  const std::string path = folder_ + "/" + record;
  struct stat st {};
  const bool is_there = ::lstat(path.c_str(), &st) == 0;
  const std::chrono::seconds age(std::time(nullptr) - st.st_mtime);  // negative: a clock was wrong
  if (is_there && std::chrono::abs(age) >= kMarkedEvery)
    (void)::utimensat(AT_FDCWD, path.c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
}

void WatchStore::remove_unused() {
  const UniqueFd folder(::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder) return;
  const std::time_t now = std::time(nullptr);
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder_, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().native();
    struct stat st {};
    const bool is_old = name.ends_with(".cksum") && !marked_used_.contains(name) &&
                        ::fstatat(folder.get(), name.c_str(), &st, AT_SYMLINK_NOFOLLOW) == 0 &&
                        st.st_mtime < now - kUnusedFor.count();
    if (!is_old) continue;
    // Who has yet to react must not forget it.
    const auto record = read_watch_record(folder_ + "/" + name);
    const bool is_pending =
        !record || !*record || (*record)->all == kPending ||
        std::ranges::any_of((*record)->others, [](const auto& other) { return other.second == kPending; });
    if (!is_pending) ::unlinkat(folder.get(), name.c_str(), 0);
  }
}

// `folder` is opened when first needed.
Result<void> WatchStore::write(UniqueFd& folder, const std::string& name, const WatchRecord& record,
                               bool synced) {
  if (!folder) {
    auto opened = open_folder();
    if (!opened) return std::move(opened).error();
    folder = std::move(*opened);
  }
  return write_watch_record(folder.get(), name, record, synced);
}

}  // namespace agent::engine

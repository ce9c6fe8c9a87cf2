#include "agent/engine/watch_store.hpp"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>
#include <optional>

#include "base/file_read.hpp"
#include "base/private_folder.hpp"
#include "base/sha256.hpp"
#include "base/text.hpp"

namespace agent::engine {

using base::Result;
using base::UniqueFd;

// A watched file that is there.
struct WatchStore::Found {
  UniqueFd end;  // O_PATH
  struct stat st {};
};

namespace {

using Found = WatchStore::Found;

constexpr std::size_t kMd5Digits = 32;
constexpr std::size_t kLargestRecord = 4096;
// An old record of a larger file counts as changed; only the first round after a migration asks.
constexpr std::size_t kLargestMd5 = 256 * 1024 * 1024;
// A second's work or two. A watched file may be a user's, and a sparse one of any size costs him nothing:
// what is larger is known by its inode, size and time of change.
constexpr off_t kLargestHashed = 1024 * 1024 * 1024;
// A file changed so recently may change again without its times showing it (file systems count in steps of up
// to 2 s), so its digest is not remembered.
constexpr std::int64_t kSettledNs = 2'000'000'000;
constexpr const char* kScratch = ".record.tmp";

std::int64_t nanoseconds(const timespec& time) {
  return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

// Nothing unless it is a regular file. Only those are opened for reading: opening a device or FIFO may do
// something.
Result<std::optional<Found>> look(base::Tree& tree, std::string_view path) {
  auto end = tree.follow(path);
  if (!end) {
    const base::ErrorCode why = end.error().code();
    if (why == base::ErrorCode::not_found || why == base::ErrorCode::exists) return std::optional<Found>();
    return std::move(end).error().with_context("watching");
  }
  Found found{.end = std::move(*end)};
  if (::fstat(found.end.get(), &found.st) != 0 || !S_ISREG(found.st.st_mode)) return std::optional<Found>();
  return std::optional(std::move(found));
}

// The very file that was found, whatever has its name by now.
UniqueFd open_to_read(const Found& found) {
  const std::string by_descriptor = "/proc/self/fd/" + std::to_string(found.end.get());
  return UniqueFd(::open(by_descriptor.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
}

// What a file that is too large to be read is known by, in the form of a digest.
std::string rough_digest(const struct stat& st) {
  return base::sha256_hex("large file " + std::to_string(st.st_ino) + " " + std::to_string(st.st_size) + " " +
                          std::to_string(nanoseconds(st.st_mtim)));
}

// "" when it cannot be read. A file may grow while it is read, and for ever.
Result<std::string> hash(int fd, const struct stat& st, base::Interrupt& interrupt) {
  if (st.st_size > kLargestHashed) return rough_digest(st);
  base::Sha256 sha;
  std::array<char, 64 * 1024> buffer;
  for (off_t done = 0; done <= kLargestHashed;) {
    if (interrupt.requested())
      return base::Error(base::ErrorCode::cancelled, "Cancelled while a watched file was read");
    const ssize_t got = ::read(fd, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::string();
    if (got == 0) return sha.finish();
    sha.add({buffer.data(), static_cast<std::size_t>(got)});
    done += got;
  }
  return rough_digest(st);
}

bool has_md5(const Found& found, std::string_view path, std::string_view digest) {
  if (found.st.st_size > static_cast<off_t>(kLargestMd5)) return false;
  const UniqueFd fd = open_to_read(found);
  if (!fd) return false;
  const auto bytes = base::read_all(fd.get(), kLargestMd5, std::string(path));
  return bytes && base::equal_ignoring_case(base::md5_hex(*bytes), digest);
}

std::string hashed_name(const std::string& name, std::size_t keep) {
  return name.substr(0, keep) + "-" + base::sha256_hex(name) + ".cksum";
}

// `taken`: the names of the state's other records.
std::string record_name(std::string_view sid, std::string_view path, const std::vector<Seen>& taken) {
  constexpr std::size_t kKept = 180;  // with 64 digits, "-" and ".cksum" below NAME_MAX
  static_assert(kKept + 64 + 7 <= NAME_MAX);
  const std::string whole = std::string(sid) + "-" + std::string(path);
  std::string name = whole + ".cksum";
  std::ranges::replace(name, '/', '-');
  if (name.size() <= NAME_MAX && std::ranges::find(taken, name, &Seen::record) == taken.end()) return name;
  name = hashed_name(whole, kKept);
  std::ranges::replace(name, '/', '-');
  return name;
}

Result<std::optional<std::string>> read_record(const std::string& path) {
  auto text = base::read_file(path, kLargestRecord);
  if (text) return std::optional(std::string(base::trim(*text)));
  if (text.error().code() == base::ErrorCode::not_found) return std::optional<std::string>();
  if (text.error().code() == base::ErrorCode::limit) return std::optional<std::string>("damaged");
  return std::move(text).error().with_context("reading a watch record");
}

Result<void> write_record(int folder, const Seen& seen) {
  const auto failed = [&](std::string_view what) -> Result<void> {
    const int reason = errno;
    ::unlinkat(folder, kScratch, 0);
    return base::os_error(reason, std::string(what) + " " + seen.record);
  };
  ::unlinkat(folder, kScratch, 0);  // of a run that was killed
  const UniqueFd file(::openat(folder, kScratch, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) return failed("creating");
  // So few bytes are written whole or not at all.
  if (::write(file.get(), seen.digest.data(), seen.digest.size()) != static_cast<ssize_t>(seen.digest.size()))
    return failed("writing");
  if (::fsync(file.get()) != 0) return failed("syncing");
  if (::renameat(folder, kScratch, folder, seen.record.c_str()) != 0) return failed("renaming");
  return {};
}

}  // namespace

WatchStore::Fingerprint WatchStore::fingerprint_of(const struct stat& st) {
  return {st.st_dev, st.st_ino, st.st_size, nanoseconds(st.st_mtim), nanoseconds(st.st_ctim)};
}

Result<std::string> WatchStore::digest_of(const Found& found, const std::string& key,
                                          base::Interrupt& interrupt) {
  const auto known = known_.find(key);
  if (known != known_.end() && known->second.fingerprint == fingerprint_of(found.st))
    return known->second.digest;
  if (known != known_.end()) known_.erase(known);

  const UniqueFd fd = open_to_read(found);
  struct stat before {};
  struct stat after {};
  if (!fd || ::fstat(fd.get(), &before) != 0) return std::string();
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  auto digest = hash(fd.get(), before, interrupt);
  if (!digest || digest->empty() || ::fstat(fd.get(), &after) != 0) return digest;
  const Fingerprint fingerprint = fingerprint_of(before);
  const bool settled =
      fingerprint == fingerprint_of(after) && nanoseconds(now) - fingerprint.changed_ns >= kSettledNs;
  if (known_.size() >= kMostKnown) known_.clear();
  if (settled) known_.insert_or_assign(key, Known{fingerprint, *digest});
  return digest;
}

Result<WatchState> WatchStore::evaluate(std::string_view sid, const states::WatchRequest& request,
                                        base::Tree& tree, base::Interrupt& interrupt) {
  WatchState state;
  if (request.always) {
    state.triggered = true;
    return state;
  }
  for (std::size_t i = 0; i < request.paths.size(); ++i) {
    const std::string_view path = request.paths[i];
    if (std::ranges::find(request.paths.first(i), path) != request.paths.first(i).end()) continue;
    const auto found = look(tree, path);
    if (!found) return found.error();
    auto digest =
        *found ? digest_of(**found, tree.root() + std::string(path), interrupt) : Result<std::string>("");
    if (!digest) return std::move(digest).error();
    Seen seen{.record = record_name(sid, path, state.seen), .digest = std::move(*digest)};
    auto record = read_record(folder_ + "/" + seen.record);
    if (!record) return std::move(record).error();
    seen.is_recorded = record->value_or("") == seen.digest;
    const bool same_as_before = seen.is_recorded || (!*record && !request.first_counts) ||
                                (*record && (*record)->size() == kMd5Digits && !seen.digest.empty() &&
                                 has_md5(**found, path, **record));
    if (!same_as_before) state.changed.emplace_back(path);
    state.seen.push_back(std::move(seen));
  }
  state.triggered = !state.changed.empty();
  return state;
}

Result<UniqueFd> WatchStore::open_folder() {
  if (auto made = base::make_private_folder(folder_); !made) return std::move(made).error();
  UniqueFd folder(::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder) return base::os_error(errno, "opening " + folder_);
  return folder;
}

Result<void> WatchStore::store(std::string_view sid, const WatchState& state) {
  if (std::ranges::all_of(state.seen, &Seen::is_recorded)) return {};
  const std::string context = "storing what " + std::string(sid) + " watches";
  auto folder = open_folder();
  if (!folder) return std::move(folder).error().with_context(context);
  for (const Seen& seen : state.seen) {
    if (seen.is_recorded) continue;
    if (auto written = write_record(folder->get(), seen); !written)
      return std::move(written).error().with_context(context);
  }
  if (::fsync(folder->get()) != 0) return base::os_error(errno, context);
  return {};
}

}  // namespace agent::engine

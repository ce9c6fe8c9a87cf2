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

#include "base/below_root.hpp"
#include "base/file_read.hpp"
#include "base/private_folder.hpp"
#include "base/sha256.hpp"
#include "base/text.hpp"

namespace agent::engine {

namespace {

using base::Result;
using base::UniqueFd;

constexpr std::size_t kMd5Digits = 32;
constexpr std::size_t kLargestRecord = 4096;
// An old record of a larger file counts as changed; only the first round after a migration asks.
constexpr std::size_t kLargestMd5 = 256 * 1024 * 1024;
// A file changed so recently may change again without its times showing it (file systems count in steps of up
// to 2 s), so its digest is not remembered.
constexpr std::int64_t kSettledNs = 2'000'000'000;
constexpr const char* kScratch = ".record.tmp";

std::int64_t nanoseconds(const timespec& time) {
  return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

// Nothing unless it is a regular file. Only those are opened afterwards: opening a device or FIFO may do
// something.
std::optional<struct stat> look(const std::string& root, std::string_view path) {
  const auto found = base::stat_below(root, path);
  return found && S_ISREG(found->st_mode) ? found : std::nullopt;
}

std::optional<std::string> hash(int fd) {
  base::Sha256 sha;
  std::array<char, 64 * 1024> buffer;
  while (true) {
    const ssize_t got = ::read(fd, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return {};
    if (got == 0) return sha.finish();
    sha.add({buffer.data(), static_cast<std::size_t>(got)});
  }
}

bool has_md5(const std::string& root, std::string_view path, std::string_view digest) {
  const UniqueFd fd = base::open_below(root, path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
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

std::string WatchStore::digest_of(const std::string& root, std::string_view path) {
  const std::string key = root + std::string(path);
  const auto found = look(root, path);
  const auto known = known_.find(key);
  if (found && known != known_.end() && known->second.fingerprint == fingerprint_of(*found))
    return known->second.digest;
  if (known != known_.end()) known_.erase(known);
  if (!found) return {};

  const UniqueFd fd = base::open_below(root, path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
  struct stat before {};
  struct stat after {};
  if (!fd || ::fstat(fd.get(), &before) != 0 || !S_ISREG(before.st_mode)) return {};
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  const auto digest = hash(fd.get());
  if (!digest || ::fstat(fd.get(), &after) != 0) return {};
  const Fingerprint fingerprint = fingerprint_of(before);
  const bool settled =
      fingerprint == fingerprint_of(after) && nanoseconds(now) - fingerprint.changed_ns >= kSettledNs;
  if (known_.size() >= kMostKnown) known_.clear();
  if (settled) known_.insert_or_assign(key, Known{fingerprint, *digest});
  return *digest;
}

Result<WatchState> WatchStore::evaluate(std::string_view sid, const states::WatchRequest& request,
                                        const std::string& root) {
  WatchState state;
  if (request.always) {
    state.triggered = true;
    return state;
  }
  for (std::size_t i = 0; i < request.paths.size(); ++i) {
    const std::string_view path = request.paths[i];
    if (std::ranges::find(request.paths.first(i), path) != request.paths.first(i).end()) continue;
    Seen seen{.record = record_name(sid, path, state.seen), .digest = digest_of(root, path)};
    auto record = read_record(folder_ + "/" + seen.record);
    if (!record) return std::move(record).error();
    seen.is_recorded = record->value_or("") == seen.digest;
    const bool same_as_before =
        seen.is_recorded || (!*record && !request.first_counts) ||
        (*record && (*record)->size() == kMd5Digits && !seen.digest.empty() && has_md5(root, path, **record));
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

// From the archive to versions/: steps 3 to 5 of candidate.hpp.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>

#include "agent/updater/candidate.hpp"
#include "base/files/durable_file.hpp"
#include "base/files/file_read.hpp"
#include "base/sha256.hpp"
#include "base/unique_fd.hpp"
#include "release/archive.hpp"

namespace agent::updater {

namespace {

using base::Error;
using base::ErrorCode;
using base::os_error;
using base::Result;
using update::Layout;

// How much more room the unpacked files take than the archive.
constexpr std::uint64_t kUnpacked = 3;
constexpr std::uint64_t kNeededInodes = 256;
constexpr mode_t kFolderMode = 0755;
// Somebody installs by hand meanwhile: no more than unpacked files to copy.
constexpr std::chrono::seconds kOthersInstall{20};

std::string part_name(const Candidate& candidate) {
  return candidate.folder + ".part";
}
std::string part_path(const Settings& settings, const Candidate& candidate) {
  return Layout(settings.prefix).staging() + "/" + part_name(candidate);
}
std::string staged_path(const Settings& settings, const Candidate& candidate) {
  return Layout(settings.prefix).staging() + "/" + candidate.folder;
}

std::uint64_t size_of(const std::string& path) {
  struct stat st {};
  return ::stat(path.c_str(), &st) == 0 ? static_cast<std::uint64_t>(st.st_size) : 0;
}

// The folders are there, on one file system: what is staged gets into versions/ by a rename.
Result<void> make_room(const Settings& settings, const Candidate& candidate) {
  const Layout layout(settings.prefix);
  const std::string versions = settings.prefix + "/versions";
  std::array<struct stat, 2> found{};
  std::size_t at = 0;
  for (const std::string& path : {layout.staging(), versions}) {
    if (::mkdir(path.c_str(), kFolderMode) != 0 && errno != EEXIST) return os_error(errno, "making " + path);
    if (::stat(path.c_str(), &found[at++]) != 0) return os_error(errno, path);
  }
  if (found[0].st_dev != found[1].st_dev)
    return Error(ErrorCode::unsupported,
                 layout.staging() + " and " + versions + " must be on the same file system");
  // What others have left makes room; what there is of this archive is of use.
  const auto lock = layout.lock(kOthersInstall);
  if (!lock) return lock.error();
  if (auto swept = layout.sweep_staging({part_name(candidate)}); !swept) return swept;
  struct statvfs space {};
  if (::statvfs(layout.staging().c_str(), &space) != 0) return os_error(errno, layout.staging());
  const std::uint64_t there = std::min(size_of(part_path(settings, candidate)), candidate.target.size);
  const std::uint64_t needed = candidate.target.size - there + kUnpacked * candidate.target.size;
  const std::uint64_t free = std::uint64_t{space.f_bavail} * space.f_frsize;
  if (free < needed)
    return Error(ErrorCode::no_space, "there is not enough room below " + settings.prefix + ": " +
                                          std::to_string(needed) + " bytes are needed, " +
                                          std::to_string(free) + " are free");
  if (space.f_files > 0 && space.f_favail < kNeededInodes)
    return Error(ErrorCode::no_space, "there are not enough inodes below " + settings.prefix);
  return {};
}

Result<std::string> sha256_of(const std::string& path, base::Interrupt& interrupt) {
  const base::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd) return os_error(errno, "opening " + path);
  base::Sha256 hash;
  std::array<char, 64 * 1024> buffer;
  while (!interrupt.requested()) {
    const ssize_t got = ::read(fd.get(), buffer.data(), buffer.size());
    if (got < 0 && errno != EINTR) return os_error(errno, "reading " + path);
    if (got == 0) return hash.finish();
    if (got > 0) hash.add({buffer.data(), static_cast<std::size_t>(got)});
  }
  return Error(ErrorCode::cancelled, "the agent ends");
}

// The first line of the manifest, which the release's hash vouches for.
Result<void> check_manifest(const std::string& folder, const std::string& version) {
  constexpr std::size_t kLargest = 1024 * 1024;
  const auto text = base::read_file(folder + "/manifest", kLargest);
  if (!text) return text.error();
  const std::string first = text->substr(0, text->find('\n'));
  if (first != "opsagent " + version)
    return Error(ErrorCode::invalid, "the archive is of '" + first + "', not of opsagent " + version);
  return {};
}

}  // namespace

void distrust_installed(const Settings& settings, Candidate& candidate, const std::string& own,
                        base::Interrupt& interrupt) {
  if (!candidate.is_installed || candidate.folder == own) return;
  const Layout layout(settings.prefix);
  const std::string folder = layout.version_folder(candidate.folder);
  auto whole = check_manifest(folder, candidate.version);
  if (whole) whole = run_self_test(settings, folder, interrupt);
  if (whole || whole.error().code() == ErrorCode::cancelled) return;
  const auto current = layout.current();
  if (!current || *current == candidate.folder) return;
  const auto lock = layout.lock(kOthersInstall);
  if (!lock) return;
  if (layout.discard(candidate.folder)) candidate.is_installed = false;
}

Attempt<std::monostate> fetch_archive(const Settings& settings, ReleaseSource& source,
                                      const Candidate& candidate,
                                      const std::function<void(int percent)>& progress) {
  if (auto room = make_room(settings, candidate); !room) return failed(room.error());
  const std::string part = part_path(settings, candidate);
  const release::Target& target = candidate.target;
  const auto tell = [&](std::uint64_t bytes) {
    progress(static_cast<int>(target.size > 0 ? bytes * 100 / target.size : 100));
  };
  base::NoInterrupt never;
  for (bool is_resumed = size_of(part) > 0;; is_resumed = false) {
    if (auto got = source.archive(target.path, part, target.size, tell); !got) {
      // The room that it takes is what the report of this needs.
      if (got.error().code() == ErrorCode::no_space) (void)base::remove_lasting_file(part);
      return failed(got.error());
    }
    if (!is_resumed) return std::monostate();
    // Its beginning may be what a power cut has left of it.
    const auto hash = sha256_of(part, never);
    if (!hash) return failed(hash.error());
    if (*hash == target.sha256) return std::monostate();
    if (auto removed = base::remove_lasting_file(part); !removed) return failed(removed.error());
  }
}

Attempt<std::monostate> verify_archive(const Settings& settings, const Candidate& candidate,
                                       base::Interrupt& interrupt) {
  const std::string staged = staged_path(settings, candidate);
  std::string folder = Layout(settings.prefix).version_folder(candidate.folder);
  if (!candidate.is_installed) {
    const std::string part = part_path(settings, candidate);
    const auto hash = sha256_of(part, interrupt);
    if (!hash) return failed(hash.error());
    if (*hash != candidate.target.sha256 || size_of(part) != candidate.target.size) {
      (void)base::remove_lasting_file(part);
      return refused("the archive is not the one that was signed: its hash differs");
    }
    std::error_code gone;
    std::filesystem::remove_all(staged, gone);
    if (auto unpacked = release::unpack(part, staged); !unpacked) {
      std::filesystem::remove_all(staged, gone);
      return failed(unpacked.error().with_context("unpacking"));
    }
    folder = staged;
  }
  if (auto right = check_manifest(folder, candidate.version); !right) return failed(right.error(), false);
  if (auto healthy = run_self_test(settings, folder, interrupt); !healthy) {
    const ErrorCode code = healthy.error().code();
    const bool is_its_own = code == ErrorCode::invalid || code == ErrorCode::timed_out;
    return failed(healthy.error(), !is_its_own);
  }
  return std::monostate();
}

Attempt<std::monostate> adopt_version(const Settings& settings, const Candidate& candidate) {
  const Layout layout(settings.prefix);
  const auto lock = layout.lock(kOthersInstall);
  if (!lock) return failed(lock.error());
  if (!candidate.is_installed) {
    if (auto adopted = layout.adopt(staged_path(settings, candidate), candidate.folder); !adopted)
      return failed(adopted.error());
  }
  // The archive is of no use any more; nobody is hurt when it stays until the next sweep.
  (void)layout.sweep_staging();
  return std::monostate();
}

}  // namespace agent::updater

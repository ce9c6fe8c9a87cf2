#include "modules/fetch/fetcher_process.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>

#include "base/files/folder_walk.hpp"
#include "base/host/accounts.hpp"
#include "base/programs/process.hpp"
#include "base/text.hpp"
#include "base/unique_fd.hpp"

namespace modules::fetch {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

constexpr std::uint32_t kFirstUid = 65520, kLastUid = 65533;
constexpr const char* kMountPoints[] = {"/mnt", "/srv", "/media", "/var/tmp", "/opt", "/tmp"};
constexpr auto kLookInterval = std::chrono::milliseconds(200);
constexpr std::uint64_t kMostFiles = 10'000;  // in its folder
constexpr std::size_t kLongestSaid = 1024;    // a line of its
constexpr std::chrono::milliseconds kGrace{300};

bool is_below_folder(std::string_view path, std::string_view folder) {
  return path == folder ||
         (path.starts_with(folder) && path.size() > folder.size() && path[folder.size()] == '/');
}

std::vector<std::uint32_t> users_with_processes() {
  std::vector<std::uint32_t> users;
  DIR* listing = ::opendir("/proc");
  if (listing == nullptr) return users;
  while (const dirent* entry = ::readdir(listing)) {
    struct stat found {};
    if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' &&
        ::fstatat(::dirfd(listing), entry->d_name, &found, 0) == 0)
      users.push_back(found.st_uid);
  }
  ::closedir(listing);
  return users;
}

// Ends the run when somebody else wants that, when what comes is not believed, and when the folder has become
// too large: that is looked at five times a second.
class RunWatch final : public base::Interrupt {
 public:
  RunWatch(const FetcherRun& run, base::Interrupt& outer)
      : run_(run),
        outer_(outer),
        timer_(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)),
        both_(::epoll_create1(EPOLL_CLOEXEC)) {
    itimerspec every{};
    every.it_interval.tv_nsec = every.it_value.tv_nsec = std::chrono::nanoseconds(kLookInterval).count();
    ::timerfd_settime(timer_.get(), 0, &every, nullptr);
    epoll_event event{};
    event.events = EPOLLIN;
    ::epoll_ctl(both_.get(), EPOLL_CTL_ADD, timer_.get(), &event);
    if (outer_.wait_fd() >= 0) ::epoll_ctl(both_.get(), EPOLL_CTL_ADD, outer_.wait_fd(), &event);
  }

  bool requested() override {
    std::uint64_t ticks = 0;
    if (!failure && ::read(timer_.get(), &ticks, sizeof ticks) > 0) look();
    if (!failure && outer_.requested()) failure = Error(ErrorCode::cancelled, "the fetch was cancelled");
    return failure.has_value();
  }
  int wait_fd() const override { return both_.get(); }

  // What comes is not believed, or cannot be written.
  void refuse(Error error) {
    is_of_repository = error.code() != ErrorCode::io && error.code() != ErrorCode::no_space &&
                       error.code() != ErrorCode::read_only && error.code() != ErrorCode::internal;
    failure = std::move(error);
  }

  std::optional<Error> failure;
  bool is_of_repository = false;

 private:
  void look();

  const FetcherRun& run_;
  base::Interrupt& outer_;
  const base::UniqueFd timer_, both_;
};

void RunWatch::look() {
  const base::UniqueFd folder(::open(run_.folder.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder) return;
  base::NoInterrupt none;
  std::uint64_t bytes = 0, files = 0;
  const Error too_much(ErrorCode::limit, "the repository is too large: the fetcher's folder has more than " +
                                             std::to_string(run_.folder_bytes >> 20) + " MiB or 10000 files");
  const auto walked =
      base::walk_below(folder.get(), run_.folder, none, [&](const base::WalkEntry& entry) -> Result<void> {
        bytes += static_cast<std::uint64_t>(entry.info.st_blocks) * 512;
        if (++files > kMostFiles || bytes > run_.folder_bytes) return too_much;
        return {};
      });
  if (!walked && walked.error().code() == ErrorCode::limit) refuse(too_much);
}

// "progress …" and "error KIND …", as they come in pieces.
class SaidLines {
 public:
  explicit SaidLines(const std::function<void(const std::string&)>& on_progress)
      : on_progress_(on_progress) {}

  void take(std::string_view bytes) {
    for (const char c : bytes) {
      if (c == '\n') {
        end_line();
      } else if (line_.size() < kLongestSaid) {
        line_ += c;
      }
    }
  }

  std::string kind, text;  // of the last error

 private:
  void end_line() {
    const std::string line = std::exchange(line_, {});
    const auto now = std::chrono::steady_clock::now();
    if (line.starts_with("progress ")) {
      if (!on_progress_ || now - said_ < std::chrono::seconds(1)) return;
      said_ = now;
      on_progress_(base::quote_of(std::string_view(line).substr(9)));
    } else if (line.starts_with("error ") && kind.empty()) {
      const std::size_t blank = line.find(' ', 6);
      kind = line.substr(6, blank == std::string::npos ? std::string::npos : blank - 6);
      text = blank == std::string::npos ? "" : line.substr(blank + 1);
    }
  }

  const std::function<void(const std::string&)>& on_progress_;
  std::string line_;
  std::chrono::steady_clock::time_point said_;
};

FetchFailure failure_of(const SaidLines& said, const base::Completed& done, const FetcherRun& run) {
  if (done.ending == base::Ending::timed_out)
    return {
        Error(ErrorCode::timed_out, "the fetch took longer than " + std::to_string(run.timeout.count()) +
                                        " s (module_fetch_timeout): the server is slow or does not answer"),
        true};
  if (said.kind == "network")
    return {Error(ErrorCode::io, "the repository cannot be reached: " + said.text), true};
  if (said.kind == "credentials" || said.kind == "host-key" || said.kind == "certificate" ||
      said.kind == "redirect" || said.kind == "confine")
    return {Error(ErrorCode::permission, said.text)};
  if (said.kind == "not-found")
    return {.error = Error(ErrorCode::not_found, said.text), .is_of_repository = true};
  if (said.kind == "limit") return {.error = Error(ErrorCode::limit, said.text), .is_of_repository = true};
  if (said.kind == "killed")
    return {Error(ErrorCode::limit,
                  "the fetcher was ended by the kernel, most likely at one of its limits: " + said.text)};
  if (!said.text.empty()) return {Error(ErrorCode::io, "the repository cannot be fetched: " + said.text)};
  return {Error(ErrorCode::io, "the fetcher failed and does not say why")};
}

}  // namespace

std::variant<::modules::git::Snapshot, FetchFailure> run_fetcher(const FetcherRun& run,
                                                                 const fetcher::Request& request,
                                                                 ::modules::git::Intake& intake,
                                                                 base::Interrupt& interrupt) {
  std::string mount_point = "-";
  if (run.uid != 0) {
    const std::string own = run.program.substr(0, run.program.rfind('/'));
    auto found = mount_point_beside({own.substr(0, own.rfind('/')), run.repository_path});
    if (!found) return FetchFailure{std::move(found).error()};
    mount_point = std::move(*found);
  }
  RunWatch watch(run, interrupt);
  SaidLines said(run.on_progress);
  base::Command command;
  command.argv = {run.program,
                  "confine",
                  run.folder,
                  mount_point,
                  std::to_string(run.uid),
                  std::to_string(run.memory),
                  std::to_string(run.folder_bytes),
                  std::to_string(run.timeout.count()),
                  run.program};
  // The proxy of the environment is in the request, as far as it is meant for this address.
  command.env = {"PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8", "HOME=" + (run.uid != 0 ? mount_point : run.folder)};
  command.input = to_text(request);
  command.timeout = run.timeout;
  command.term_grace = kGrace;
  command.drain_grace = kGrace;
  command.keep_head = command.keep_tail = 1024;
  command.interrupt = &watch;
  command.on_output = [&](base::Stream stream, std::string_view bytes) {
    if (stream == base::Stream::err) return said.take(bytes);
    if (watch.failure) return;
    if (auto taken = intake.take(bytes); !taken) watch.refuse(std::move(taken).error());
  };
  // As root, the kernel has ended what it started. The last id is that of our own supervisor.
  command.on_left_behind = [](const std::vector<pid_t>& left) {
    for (std::size_t i = 0; i + 1 < left.size(); ++i)
      ::kill(left[i], SIGKILL);
  };
  const auto done = base::run(command);
  if (!done) return FetchFailure{done.error().with_context("starting the fetcher")};
  if (watch.failure) return FetchFailure{.error = *watch.failure, .is_of_repository = watch.is_of_repository};
  if (!done->ok()) return failure_of(said, *done, run);
  auto snapshot = intake.finish();
  if (!snapshot) return FetchFailure{std::move(snapshot).error()};
  return std::move(*snapshot);
}

Result<std::uint32_t> free_user_id() {
  if (::geteuid() != 0) return 0U;
  const std::vector<std::uint32_t> busy = users_with_processes();
  base::Accounts accounts;
  for (std::uint32_t uid = kFirstUid; uid <= kLastUid; ++uid)
    if (std::ranges::find(busy, uid) == busy.end() && accounts.user_by_id(uid) == nullptr &&
        accounts.group_by_id(uid) == nullptr)
      return uid;
  return Error(ErrorCode::unsupported,
               "all user ids from 65520 to 65533 are in use: the fetcher needs one of its own");
}

Result<std::string> mount_point_beside(const std::vector<std::string>& needed) {
  for (const std::string point : kMountPoints) {
    struct stat found {};
    const bool hides =
        std::ranges::any_of(needed, [&](const std::string& path) { return is_below_folder(path, point); });
    if (!hides && ::lstat(point.c_str(), &found) == 0 && S_ISDIR(found.st_mode)) return point;
  }
  return Error(ErrorCode::unsupported,
               "none of /mnt, /srv, /media, /var/tmp, /opt and /tmp can be mounted over");
}

}  // namespace modules::fetch

#include "update/launcher/launcher_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "base/files/file_read.hpp"
#include "base/files/private_folder.hpp"
#include "base/text.hpp"
#include "update/must_finish.hpp"

namespace update::launcher {

namespace {

using std::chrono::milliseconds;
using namespace std::chrono_literals;

constexpr int kHeard[] = {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGCHLD};
constexpr int kFailure = 1;
constexpr int kCannotStart = 127;
// From TERM to KILL for an agent whose trial is over: it lets its state finish for 30 s.
constexpr milliseconds kEndGrace = 40s;
// The same for one whose launcher is asked to stop; less than a service manager waits for us.
constexpr milliseconds kStopGrace = 50s;
constexpr milliseconds kLookForOther = 200ms;
// An agent that lets a package manager finish gets more time, and so do we.
constexpr milliseconds kLookForEnd = 1s;
constexpr std::chrono::seconds kMoreTime = 60s;

std::string end_text(int status) {
  if (WIFEXITED(status)) return "exit status " + std::to_string(WEXITSTATUS(status));
  const int number = WTERMSIG(status);
  const char* name = ::strsignal(number);
  return "ended by signal " + std::to_string(number) + (name ? std::string(" (") + name + ")" : "");
}

// The process that this file names, if a launcher started it; 0 if a person did. The launcher's lock is ours,
// so that launcher is gone.
pid_t launched_agent_in(const std::string& pid_file) {
  constexpr std::size_t kMost = 256 * 1024;
  const auto text = base::read_file(pid_file, kMost);
  const auto pid = text ? base::parse_integer(base::trim(*text)) : std::nullopt;
  if (!pid || *pid <= 1) return 0;
  const auto environment = base::read_file("/proc/" + std::to_string(*pid) + "/environ", kMost);
  const std::string mark = std::string(kLaunchedMark) + "=1";
  if (!environment) return 0;
  const auto variables = base::split(*environment, '\0');
  return std::ranges::find(variables, mark) != variables.end() ? static_cast<pid_t>(*pid) : 0;
}

}  // namespace

Launch::Launch(LaunchOptions options)
    : options_(std::move(options)), layout_(options_.prefix), notify_(base::Notify::from_environment()) {}

Launch::Instant Launch::now() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return std::chrono::seconds(time.tv_sec) +
         std::chrono::duration_cast<milliseconds>(std::chrono::nanoseconds(time.tv_nsec));
}

int Launch::run() {
  // Whoever started us may ignore its children, and then the kernel keeps ours from us.
  ::signal(SIGCHLD, SIG_DFL);
  inherited_pipe_ = ::signal(SIGPIPE, SIG_IGN);  // a log that nobody reads any more is no reason to end
  sigset_t heard;
  ::sigemptyset(&heard);
  for (const int number : kHeard)
    ::sigaddset(&heard, number);
  ::sigprocmask(SIG_BLOCK, &heard, &inherited_);
  signals_.reset(::signalfd(-1, &heard, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals_) {
    log_.error("cannot hear signals: " + base::os_text(errno));
    return kFailure;
  }
  if (!take_lock()) return kFailure;
  // Where there is a service manager, whether it has a watchdog is its business.
  if (options_.watchdog > 0s && !std::getenv("NOTIFY_SOCKET"))
    pulse_.listen(options_.state_dir + "/launch.sock", options_.watchdog);
  while (true) {
    if (!wait_for_other_agent()) return 0;
    DiskState sight = look();
    // What a version on trial has done to the journal does not end its trial: what was counted last decides.
    if (trial_record_ && !sight.record) sight.record = trial_record_;
    Decision decision = deadline_passed_ ? decide_after_deadline(sight) : decide(sight);
    deadline_passed_ = false;
    perform(decision);
    if (const auto status = run_agent(decision)) return *status;
  }
}

// One launcher per state folder. Where nothing can be written, there is no lock, and the agent still starts.
// Where others can write, nothing is believed: the agent would not start there either.
bool Launch::take_lock() {
  const auto state = base::open_guarded_folder(options_.state_dir);
  if (!state && state.error().code() == base::ErrorCode::permission) {
    log_.error(state.error().message());
    return false;
  }
  const std::string path = options_.state_dir + "/launch.lock";
  lock_.reset(::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!lock_ || ::flock(lock_.get(), LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return true;
  log_.error("another launcher runs with " + options_.state_dir);
  return false;
}

// An agent whose launcher was killed ends by itself, in up to 30 s; one that hangs is helped. To start
// another beside it would only cost attempts. False: asked to stop meanwhile.
bool Launch::wait_for_other_agent() {
  const std::string path = options_.state_dir + "/opsagent.pid";
  const Instant patience = now() + kEndGrace;
  for (bool is_first = true;; is_first = false) {
    const base::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    if (!fd || ::flock(fd.get(), LOCK_SH | LOCK_NB) == 0 || errno != EWOULDBLOCK) return true;
    if (is_first) log_.warning("another agent runs with " + options_.state_dir + ": waiting for its end");
    const pid_t orphan = now() >= patience ? launched_agent_in(path) : 0;
    if (orphan > 0) {
      log_.warning("the agent of a launcher that is gone does not end: killing process " +
                   std::to_string(orphan));
      ::kill(orphan, SIGKILL);
    }
    if (!pause(kLookForOther)) return false;
  }
}

DiskState Launch::look() {
  DiskState sight;
  auto record = read_journal(options_.state_dir);
  if (record)
    sight.record = std::move(*record);
  else
    sight.journal_problem = record.error().message();
  if (unwritten_ && record && unwritten_->on_disk == sight.record)
    sight.record = unwritten_->wanted;
  else
    unwritten_.reset();
  auto current = layout_.current();
  if (!current)
    sight.current_problem = current.error().message();
  else if (layout_.is_complete(*current))
    sight.current = std::move(*current);
  else
    sight.current_problem = layout_.program(*current) + " cannot be started";
  for (std::string& name : layout_.versions())
    if (layout_.is_complete(name)) sight.complete.push_back(std::move(name));
  sight.last_end = last_end_;
  return sight;
}

void Launch::perform(Decision& decision) {
  for (const std::string& line : decision.say)
    if (!line.empty()) log_.warning(line);
  uncounted_.reset();
  if (decision.write) {
    auto on_disk = read_journal(options_.state_dir);
    if (on_disk && decision.deadline) uncounted_ = *on_disk;
    if (auto written = write_journal(options_.state_dir, *decision.write); written) {
      unwritten_.reset();
    } else if (!decision.start_uncounted.empty()) {
      log_.error(written.error().message() +
                 "; the attempt cannot be counted, so the version before is started");
      // It may have failed after the rename, and would be held against the version.
      if (on_disk && *on_disk) (void)write_journal(options_.state_dir, **on_disk);
      decision.start = decision.start_uncounted;
      decision.deadline.reset();
    } else {
      log_.error(written.error().message());
      unwritten_ = Unwritten{on_disk ? *on_disk : std::nullopt, *decision.write};
    }
  }
  if (decision.switch_to)
    if (auto switched = layout_.switch_to(*decision.switch_to); !switched)
      log_.error(switched.error().message());  // the program is started by its own path
}

// One run of the agent and the pause after it. A status: that is the end.
std::optional<int> Launch::run_agent(const Decision& decision) {
  if (decision.start.empty()) {
    if (!pause(restarts_.after_nothing())) return 0;
    return std::nullopt;
  }
  trial_record_ = decision.deadline ? decision.write : std::nullopt;
  // The version on trial may hang before it says so itself: the deadline is ours, not the service manager's.
  if (decision.deadline) notify_.ready();
  if (!decision.deadline) {
    trial_until_.reset();
  } else if (!trial_until_ || trial_of_ != decision.start) {
    trial_until_ = now() + *decision.deadline;
    trial_of_ = decision.start;
  }
  if (!start(decision.start)) {
    // The version cannot be blamed for it.
    if (uncounted_) (void)write_journal(options_.state_dir, *uncounted_);
    if (!pause(restarts_.after_nothing())) return 0;
    return std::nullopt;
  }
  AgentEnd end = watch(trial_until_);
  end.was_last_attempt = decision.deadline && is_used_up();
  if (deadline_passed_ && !asked_to_stop_) return std::nullopt;
  const AfterEnd next = restarts_.after(end);
  if (next.end_with) return next.end_with;
  if (next.wait > 0ms) {
    log_.warning("the agent ended (" + last_end_ + "); starting it again in " +
                 std::to_string(next.wait.count() / 1000) + " s");
    if (!pause(next.wait)) return 0;
  }
  return std::nullopt;
}

// Whether the trial has no attempt left; the agent may have given up itself.
bool Launch::is_used_up() {
  const DiskState sight = look();
  return sight.record && is_on_trial(*sight.record) && sight.record->attempts >= kMostAttempts;
}

bool Launch::start(const std::string& folder) {
  const std::string program = layout_.program(folder);
  std::vector<std::string> words = {program, "run"};
  words.insert(words.end(), options_.arguments.begin(), options_.arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words)
    argv.push_back(word.data());
  argv.push_back(nullptr);
  const pid_t launcher = ::getpid();
  child_ended_ = false;
  child_ = ::fork();
  if (child_ < 0) {
    log_.error("cannot start the agent: " + base::os_text(errno));
    return false;
  }
  if (child_ > 0) {
    pulse_.begin(child_);
    return true;
  }
  // A launcher that is killed takes its agent with it; one that was killed just now has done so already.
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != launcher) ::_exit(kFailure);
  ::setpgid(0, 0);  // a terminal's ^C reaches the agent once, through us
  ::setenv(kLaunchedMark, "1", 1);
  pulse_.set_environment();
  if (::getenv("WATCHDOG_PID")) ::setenv("WATCHDOG_PID", std::to_string(::getpid()).c_str(), 1);
  ::signal(SIGPIPE, inherited_pipe_);
  ::sigprocmask(SIG_SETMASK, &inherited_, nullptr);
  ::execv(program.c_str(), argv.data());
  log_.error("cannot start " + program + ": " + base::os_text(errno));
  ::_exit(kCannotStart);
}

AgentEnd Launch::watch(std::optional<Instant> deadline) {
  const Instant started = now();
  // A version on trial that hangs does not feed the service manager's watchdog, which would end us.
  bool must_feed = deadline.has_value();
  kill_at_.reset();
  while (true) {
    hear_signals();
    if (auto end = reap(started)) return *end;
    const Instant time = now();
    if (deadline && time >= *deadline && !deadline_passed_) {
      if (is_trial_over()) {
        must_feed = false;
        trial_record_.reset();  // whatever becomes of the journal from now on
      } else {
        end_agent_late(time);
      }
      deadline.reset();
    }
    if (kill_at_ && time >= *kill_at_) {
      if (must_finish(options_.state_dir)) {
        kill_at_ = time + kLookForEnd;
        notify_.extend_timeout(kMoreTime);
      } else {
        ::kill(child_, SIGKILL);
        kill_at_.reset();
      }
    }
    pulse_.hear();
    if (pulse_.is_gone(AgentWatchdog::Clock::now())) {
      log_.warning("the agent does not answer any more: killing it");
      ::kill(child_, SIGKILL);
    }
    std::optional<Instant> next = kill_at_ ? kill_at_ : deadline;
    if (must_feed) {
      notify_.alive();
      next = std::min(next.value_or(Instant::max()), time + feed_period());
    }
    wait_for_news(next);
  }
}

// Until a signal, a word of the agent, or the time has come.
void Launch::wait_for_news(std::optional<Instant> until) {
  std::optional<milliseconds> left;
  if (until) left = *until - now();
  if (const auto look = pulse_.next()) {
    const auto pulse = std::chrono::ceil<milliseconds>(*look - AgentWatchdog::Clock::now());
    left = std::min(left.value_or(pulse), pulse);
  }
  pollfd poll_for[] = {{signals_.get(), POLLIN, 0}, {pulse_.descriptor(), POLLIN, 0}};
  ::poll(poll_for, std::size(poll_for),
         left ? static_cast<int>(std::max<milliseconds>(*left, 0ms).count()) + 1 : -1);
}

// A journal that cannot be read, or is gone, says nothing new: the trial is still what it was when it was
// counted.
bool Launch::is_trial_over() {
  const auto record = read_journal(options_.state_dir);
  return record && *record && !is_on_trial(**record);
}

void Launch::end_agent_late(Instant time) {
  log_.warning("the trial's time is over: ending the agent");
  deadline_passed_ = true;
  ::kill(child_, SIGTERM);
  kill_at_ = time + kEndGrace;
}

std::optional<AgentEnd> Launch::reap(Instant started) {
  int status = 0;
  pid_t gone = 0;
  std::optional<AgentEnd> end;
  // Others than ours end up here when we are the machine's first process.
  while ((gone = ::waitpid(-1, &status, WNOHANG)) > 0) {
    if (gone != child_) continue;
    child_ = -1;
    if (!deadline_passed_) last_end_ = end_text(status);
    end = AgentEnd{.ran = now() - started, .was_asked_to_stop = asked_to_stop_};
    if (WIFEXITED(status)) end->status = WEXITSTATUS(status);
  }
  return end;
}

void Launch::hear_signals() {
  signalfd_siginfo heard{};
  while (::read(signals_.get(), &heard, sizeof heard) == sizeof heard) {
    const int number = static_cast<int>(heard.ssi_signo);
    const bool is_end = number == SIGTERM || number == SIGINT;
    // Not the agent's to say: it also ends for an update, and then we go on.
    if (is_end && !asked_to_stop_) notify_.stopping();
    if (is_end) asked_to_stop_ = true;
    if ((is_end || number == SIGHUP) && child_ > 0) ::kill(child_, number);
    if (is_end && child_ > 0 && !kill_at_) kill_at_ = now() + kStopGrace;
  }
}

bool Launch::pause(milliseconds wait) {
  const Instant until = now() + wait;
  while (true) {
    hear_signals();
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    if (asked_to_stop_) return false;
    const milliseconds left = until - now();
    if (left <= 0ms) return true;
    // The service manager's watchdog is the agent's to feed; while there is none, ours. The same goes for its
    // patience with our start: an agent that could not start is ours to start again.
    notify_.ready();
    notify_.alive();
    pollfd poll_for{signals_.get(), POLLIN, 0};
    ::poll(&poll_for, 1, static_cast<int>(std::min(left, feed_period()).count()));
  }
}

milliseconds Launch::feed_period() const {
  return std::max<milliseconds>(notify_.watchdog_period().value_or(300s), 100ms);
}

}  // namespace update::launcher

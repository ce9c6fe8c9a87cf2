#include "base/programs/process_supervisor.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>

#include "base/programs/private_tmp.hpp"
#include "base/programs/process.hpp"
#include "base/programs/process_tree.hpp"
#include "base/programs/read_only_view.hpp"

namespace base {

namespace {

constexpr int kStartFailedCode = 127;

// KILL is repeated this often, for what was forked in the meantime, and for this long: a process that hangs
// in the kernel dies when it comes out of there, but nobody can wait for that.
constexpr std::int64_t kKillIntervalMs = 5;
constexpr std::int64_t kKillPatienceMs = 5'000;

// So that orphans which arrive and die without end do not keep the supervisor from its clock and its orders.
constexpr int kReapAtOnce = 256;

std::int64_t now_ms() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

void send(int fd, const Report& report) {
  // Fails only if nobody is there to read it any more.
  while (::write(fd, &report, sizeof report) < 0 && errno == EINTR) {
  }
}

[[noreturn]] void fail(const SupervisorPlan& plan, Report::What what) {
  send(plan.report, {.what = what, .error_number = errno});
  ::_exit(kStartFailedCode);
}

// Ignored signals would stay ignored across exec; an ignored SIGCHLD would also take our wait status away.
void default_signal_dispositions() {
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  for (int signal = 1; signal < NSIG; ++signal) {
    ::sigaction(signal, &action, nullptr);
  }
}

// System calls, because the C library's functions would first look for threads to take along.
bool take_identity(const SupervisorPlan& plan) {
  return ::syscall(SYS_setgroups, plan.group_count, plan.groups) == 0 &&
         ::syscall(SYS_setresgid, plan.gid, plan.gid, plan.gid) == 0 &&
         ::syscall(SYS_setresuid, plan.uid, plan.uid, plan.uid) == 0;
}

bool take_limits(const ProcessLimits& limits, bool other_user) {
  const rlimit memory{limits.memory_bytes, limits.memory_bytes};
  const rlimit processes{limits.processes, limits.processes};
  const rlimit none{0, 0};
  return ::setrlimit(RLIMIT_DATA, &memory) == 0 && ::setrlimit(RLIMIT_CORE, &none) == 0 &&
         (!other_user || ::setrlimit(RLIMIT_NPROC, &processes) == 0);
}

// Another identity must find its own way there: a descriptor would let it in below folders that are closed to
// it.
bool enter_cwd(const SupervisorPlan& plan) {
  if (plan.cwd_folder < 0) return ::chdir(plan.cwd) == 0;
  if (!plan.change_identity) return ::fchdir(plan.cwd_folder) == 0;
  struct stat wanted {};
  struct stat entered {};
  if (::chdir(plan.cwd) != 0 || ::fstat(plan.cwd_folder, &wanted) != 0 || ::stat(".", &entered) != 0)
    return false;
  if (wanted.st_dev == entered.st_dev && wanted.st_ino == entered.st_ino) return true;
  errno = ESTALE;
  return false;
}

[[noreturn]] void become_program(const SupervisorPlan& plan, pid_t supervisor) {
  using enum Report::What;
  ::setsid();
  if (::dup2(plan.input >= 0 ? plan.input : plan.null, 0) < 0 || ::dup2(plan.output, 1) < 0 ||
      ::dup2(plan.error, 2) < 0 || (plan.script >= 0 && ::dup2(plan.script, kScriptDescriptor) < 0) ||
      (plan.answers >= 0 && ::dup2(plan.answers, kHearDescriptor) < 0)) {
    fail(plan, stdio_failed);
  }
  if (plan.view != View::all && !enter_read_only_view(plan.view == View::read_only_offline))
    fail(plan, view_failed);
  // Behind the view: its /tmp can be written to. Or else does without.
  if (plan.private_tmp) enter_private_tmp();
  if (plan.limits && !take_limits(*plan.limits, plan.change_identity)) fail(plan, limits_failed);
  if (plan.change_identity && !take_identity(plan)) fail(plan, identity_failed);
  if (plan.view != View::all && !drop_privileges()) fail(plan, view_failed);

  // Should somebody kill the supervisor, the program does not run on unwatched. (A change of identity clears
  // this.)
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != supervisor) ::_exit(kStartFailedCode);

  if (!enter_cwd(plan)) fail(plan, cwd_failed);
  ::umask(022);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execve(plan.program, plan.argv, plan.envp);
  fail(plan, exec_failed);
}

class Supervisor {
 public:
  explicit Supervisor(const SupervisorPlan& plan) : plan_(plan) {}

  void set_up();
  void start_program();
  void watch();

 private:
  bool reap();
  bool wait_until_all_gone(std::int64_t patience_ms);
  void signal_tree(std::initializer_list<int> signals);
  void end_tree();
  void leave_reader() const;

  const SupervisorPlan& plan_;
  int child_events_ = -1;  // readable after SIGCHLD
  pid_t program_ = -1;
  bool program_runs_ = false;
  bool reap_again_ = false;  // there may be more to reap, without a further event
};

void Supervisor::set_up() {
  ::setsid();
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  ::prctl(PR_SET_NAME, "supervisor");
  default_signal_dispositions();

  // Whoever else waits for the end of one of our parent's pipes must not wait for us.
  int keep[] = {plan_.null,       plan_.input,  plan_.output,  plan_.error,      plan_.control,  plan_.report,
                plan_.cwd_folder, plan_.script, plan_.answers, plan_.output_end, plan_.error_end};
  std::sort(std::begin(keep), std::end(keep));
  const int* first = std::upper_bound(std::begin(keep), std::end(keep), 2);
  bool ready = close_other_descriptors(first, static_cast<int>(std::end(keep) - first));
  for (int fd = 0; fd <= 2; ++fd) {
    ready = ready && ::dup2(plan_.null, fd) >= 0;
  }
  ready = ready && ::chdir("/") == 0;

  sigset_t child;
  ::sigemptyset(&child);
  ::sigaddset(&child, SIGCHLD);
  child_events_ = ::signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
  if (!ready || child_events_ < 0) fail(plan_, Report::What::supervisor_failed);
}

void Supervisor::start_program() {
  const pid_t self = ::getpid();
  program_ = ::_Fork();
  if (program_ < 0) fail(plan_, Report::What::fork_failed);
  if (program_ == 0) become_program(plan_, self);
  program_runs_ = true;
  for (const int fd :
       {plan_.null, plan_.input, plan_.output, plan_.error, plan_.cwd_folder, plan_.script, plan_.answers}) {
    if (fd >= 0) ::close(fd);
  }
}

void Supervisor::watch() {
  pollfd events[] = {{plan_.control, POLLIN, 0}, {child_events_, POLLIN, 0}};
  for (;;) {
    if (::poll(events, 2, reap_again_ ? 0 : -1) < 0) continue;
    // Children first: whether the program has ended decides what the end of the control pipe means.
    reap();
    if (events[0].revents == 0) continue;
    char order = 0;
    const ssize_t length = ::read(plan_.control, &order, 1);
    if (length < 0 && errno == EINTR) continue;
    if (length > 0 || program_runs_)
      end_tree();
    else
      leave_reader();
    return;
  }
}

// Collects the children that have ended, orphans which came to us included. False when none is left.
bool Supervisor::reap() {
  signalfd_siginfo event;
  while (::read(child_events_, &event, sizeof event) > 0) {
  }
  reap_again_ = false;
  for (int reaped = 0; reaped < kReapAtOnce; ++reaped) {
    int status = 0;
    rusage usage{};
    const pid_t pid = ::wait4(-1, &status, WNOHANG | __WALL, &usage);
    if (pid == 0) return true;
    if (pid < 0) return errno != ECHILD;
    if (pid != program_) continue;
    program_runs_ = false;
    siginfo_t ignored{};
    const bool is_last =
        ::waitid(P_ALL, 0, &ignored, WEXITED | WNOHANG | WNOWAIT | __WALL) < 0 && errno == ECHILD;
    send(plan_.report, {.what = Report::What::program_ended,
                        .wait_status = status,
                        .others_run = is_last ? 0 : 1,
                        .cpu_us = (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * std::int64_t{1'000'000} +
                                  usage.ru_utime.tv_usec + usage.ru_stime.tv_usec,
                        .max_rss_kb = usage.ru_maxrss});
  }
  reap_again_ = true;
  return true;
}

// All descendants, not only children: whoever loses its parent becomes a child of ours.
bool Supervisor::wait_until_all_gone(std::int64_t patience_ms) {
  const std::int64_t deadline = now_ms() + patience_ms;
  while (reap()) {
    const std::int64_t left = deadline - now_ms();
    if (left <= 0) return false;
    pollfd event{child_events_, POLLIN, 0};
    ::poll(&event, 1, reap_again_ ? 0 : static_cast<int>(std::min<std::int64_t>(left, 60'000)));
  }
  return true;
}

void Supervisor::signal_tree(std::initializer_list<int> signals) {
  if (signal_descendants(signals) || !program_runs_) return;
  for (const int signal : signals) {
    ::kill(-program_, signal);  // no /proc: at least those that stayed in the program's process group
  }
}

// Somebody who was left behind may still have the program's output open. Without a reader his next line would
// be his end, so there is one for as long as he has. It is a child, because our parent waits for our end.
void Supervisor::leave_reader() const {
  pollfd ends[] = {{plan_.output_end, POLLIN, 0}, {plan_.error_end, POLLIN, 0}};
  const auto is_open = [](const pollfd& end) { return end.fd >= 0 && (end.revents & POLLHUP) == 0; };
  if (::poll(ends, 2, 0) < 0 || (!is_open(ends[0]) && !is_open(ends[1]))) return;
  if (::_Fork() != 0) return;
  ::prctl(PR_SET_NAME, "output-reader");
  int keep[] = {std::min(plan_.output_end, plan_.error_end), std::max(plan_.output_end, plan_.error_end)};
  close_other_descriptors(keep, 2);
  static char thrown_away[16 * 1024];
  while (ends[0].fd >= 0 || ends[1].fd >= 0) {
    if (::poll(ends, 2, -1) < 0) continue;
    for (pollfd& end : ends) {
      if (end.fd < 0 || end.revents == 0) continue;
      const ssize_t length = ::read(end.fd, thrown_away, sizeof thrown_away);
      if (length == 0 || (length < 0 && errno != EINTR && errno != EAGAIN)) end.fd = -1;
    }
  }
  ::_exit(0);
}

void Supervisor::end_tree() {
  signal_tree({SIGTERM, SIGCONT});  // a stopped process hears TERM only when it continues
  if (!wait_until_all_gone(plan_.term_grace_ms)) {
    const std::int64_t deadline = now_ms() + kKillPatienceMs;
    do {
      signal_tree({SIGKILL});
    } while (!wait_until_all_gone(kKillIntervalMs) && now_ms() < deadline);
  }
  send(plan_.report, {.what = Report::What::tree_ended});
}

}  // namespace

void supervise(const SupervisorPlan& plan) {
  Supervisor supervisor(plan);
  supervisor.set_up();
  supervisor.start_program();
  supervisor.watch();
  ::_exit(0);
}

}  // namespace base

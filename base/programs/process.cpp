#include "base/programs/process.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "base/programs/bounded_output.hpp"
#include "base/programs/pipe_write.hpp"
#include "base/programs/process_start.hpp"
#include "base/programs/process_tree.hpp"

namespace base {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr std::size_t kReadSize = 64 * 1024;  // what a pipe holds

Clock::time_point after(milliseconds wait) {
  constexpr milliseconds kLongestWait = std::chrono::hours(24 * 365);  // keeps the sum from overflowing
  return Clock::now() + std::min(wait, kLongestWait);
}

// For poll(): rounded up, so as not to wake up just before the moment and spin.
int milliseconds_until(Clock::time_point moment) {
  constexpr std::int64_t kLongestPoll = 3'600'000;
  const auto left = std::chrono::ceil<milliseconds>(moment - Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, kLongestPoll));
}

// One program from its start to its end, seen from our side.
class Session {
 public:
  Session(const Command& command, StartedProgram started)
      : command_(command),
        program_(std::move(started)),
        output_(command.keep_head, command.keep_tail),
        wake_up_(after(command.timeout)) {}

  Result<Completed> run_to_end();

 private:
  // running: until the program ends, the deadline passes or we are interrupted. draining: the program has
  // ended by itself, its last output is read. ending: the supervisor was told to end the tree.
  enum class Phase { running, draining, ending, finished };

  void check_clock_and_interrupt();
  void wait_and_serve();
  void end_tree(Ending why);
  void read_report();
  void note_left_behind();
  void drain();
  void read_output(UniqueFd& pipe, Stream stream);
  void write_input();

  const Command& command_;
  StartedProgram program_;
  BoundedOutput output_;
  Phase phase_ = Phase::running;
  bool others_run_ = false;    // when the program ended
  Clock::time_point wake_up_;  // the deadline when running, the end of the grace when draining
  std::size_t input_written_ = 0;
  std::optional<Report> start_failure_;
  Completed completed_;
  std::array<char, kReadSize> buffer_;
};

Result<Completed> Session::run_to_end() {
  while (phase_ != Phase::finished) {
    check_clock_and_interrupt();
    if (phase_ != Phase::finished) wait_and_serve();
  }
  if (start_failure_) return start_error(command_, program_, *start_failure_);

  const bool by_itself = completed_.ending == Ending::exited || completed_.ending == Ending::signalled;
  if (by_itself && others_run_) note_left_behind();
  // What was written just before the end is still in the pipes. They hold no more than one read takes;
  // reading on until they are empty could take forever with children that still write.
  read_output(program_.output, Stream::out);
  read_output(program_.error, Stream::err);
  completed_.output = output_.text();
  completed_.dropped_bytes = output_.dropped();
  return std::move(completed_);
}

void Session::check_clock_and_interrupt() {
  const bool interrupted = command_.interrupt != nullptr && command_.interrupt->requested();
  const bool late = Clock::now() >= wake_up_;
  if (phase_ == Phase::running) {
    if (interrupted) {
      end_tree(Ending::cancelled);
    } else if (late) {
      end_tree(Ending::timed_out);
    }
  } else if (phase_ == Phase::draining) {
    const bool all_read = !program_.output && !program_.error;
    if (all_read || late || interrupted) phase_ = Phase::finished;
  }
}

// While the supervisor is there, which has all of them below it.
void Session::note_left_behind() {
  std::vector<pid_t> left = living_descendants(program_.supervisor.pid());
  completed_.left_behind = left.size();
  if (left.empty() || !command_.on_left_behind) return;
  left.push_back(program_.supervisor.pid());
  command_.on_left_behind(left);
}

void Session::end_tree(Ending why) {
  completed_.ending = why;
  phase_ = Phase::ending;
  program_.supervisor.end_tree();
}

void Session::drain() {
  phase_ = Phase::draining;
  wake_up_ = after(command_.drain_grace);
}

void Session::wait_and_serve() {
  const bool ending = phase_ == Phase::ending;  // the supervisor keeps the time, nothing interrupts it
  const int interrupt = ending || command_.interrupt == nullptr ? -1 : command_.interrupt->wait_fd();
  std::array<pollfd, 5> events = {{{program_.report.get(), POLLIN, 0},
                                   {program_.output.get(), POLLIN, 0},
                                   {program_.error.get(), POLLIN, 0},
                                   {program_.input.get(), POLLOUT, 0},
                                   {interrupt, POLLIN, 0}}};
  if (::poll(events.data(), events.size(), ending ? -1 : milliseconds_until(wake_up_)) <= 0) return;
  if (events[1].revents != 0) read_output(program_.output, Stream::out);
  if (events[2].revents != 0) read_output(program_.error, Stream::err);
  if (events[3].revents != 0) write_input();
  if (events[0].revents != 0) read_report();
}

void Session::read_report() {
  Report report;
  const ssize_t length = ::read(program_.report.get(), &report, sizeof report);
  if (length < 0 && errno == EINTR) return;

  if (length != sizeof report) {
    // Somebody killed the supervisor, and with it, by PR_SET_PDEATHSIG, the program.
    program_.report.reset();
    if (phase_ == Phase::ending) phase_ = Phase::finished;
    if (phase_ == Phase::running) {
      completed_.ending = Ending::signalled;
      completed_.signal = SIGKILL;
      drain();
    }
  } else if (report.what == Report::What::tree_ended) {
    phase_ = Phase::finished;
  } else if (report.what == Report::What::program_ended) {
    completed_.cpu = std::chrono::microseconds(report.cpu_us);
    completed_.max_rss_kb = static_cast<std::uint64_t>(report.max_rss_kb);
    others_run_ = report.others_run != 0;
    if (phase_ != Phase::running) return;
    const bool exited = WIFEXITED(report.wait_status);
    completed_.ending = exited ? Ending::exited : Ending::signalled;
    if (exited) completed_.exit_code = WEXITSTATUS(report.wait_status);
    if (!exited) completed_.signal = WTERMSIG(report.wait_status);
    drain();
  } else {
    start_failure_ = report;
    phase_ = Phase::finished;
  }
}

void Session::read_output(UniqueFd& pipe, Stream stream) {
  if (!pipe) return;
  const ssize_t length = ::read(pipe.get(), buffer_.data(), buffer_.size());
  if (length < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (length <= 0) {
    pipe.reset();
    return;
  }
  const std::string_view bytes(buffer_.data(), static_cast<std::size_t>(length));
  output_.append(bytes);
  if (command_.on_output) command_.on_output(stream, bytes);
}

void Session::write_input() {
  const ssize_t length =
      write_to_pipe(program_.input.get(), std::string_view(command_.input).substr(input_written_));
  if (length < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (length > 0) input_written_ += static_cast<std::size_t>(length);
  // All written; or EPIPE: the program does not want the rest.
  if (length < 0 || input_written_ == command_.input.size()) program_.input.reset();
}

}  // namespace

Result<Completed> run(const Command& command) {
  if (command.interrupt != nullptr && command.interrupt->requested()) {
    return Completed{.ending = Ending::cancelled};
  }
  auto started = start(command);
  if (!started) return std::move(started).error();
  return Session(command, std::move(*started)).run_to_end();
}

}  // namespace base

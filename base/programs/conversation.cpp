#include "base/programs/conversation.hpp"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>

#include "base/programs/pipe_write.hpp"
#include "base/programs/process_tree.hpp"

namespace base {

namespace {

using std::chrono::milliseconds;

// Who has closed its end has mostly ended, too, and the supervisor is about to say so.
constexpr int kReportPatienceMs = 500;

int poll_time_until(Conversation::Clock::time_point moment) {
  constexpr std::int64_t kLongestPoll = 3'600'000;
  const auto left = std::chrono::ceil<milliseconds>(moment - Conversation::Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, kLongestPoll));
}

// The ticks of fields 14 to 17 of /proc/PID/stat: user and system time, its own and of children it waited
// for.
std::uint64_t cpu_ticks(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(file, text);
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return 0;
  constexpr int kFirst = 14;
  constexpr int kLast = 17;
  std::uint64_t ticks = 0;
  std::size_t at = name_end + 1;
  for (int field = 3; field <= kLast && at < text.size(); ++field) {
    at = text.find_first_not_of(' ', at);
    if (at == std::string::npos) break;
    if (field >= kFirst) ticks += std::strtoull(text.c_str() + at, nullptr, 10);
    at = text.find(' ', at);
  }
  return ticks;
}

std::uint64_t peak_kb(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("VmHWM:")) return std::strtoull(line.c_str() + 6, nullptr, 10);
  return 0;
}

}  // namespace

Conversation::Conversation(Command command, StartedProgram started, std::size_t longest_line)
    : command_(std::move(command)),
      program_(std::move(started)),
      longest_line_(longest_line),
      can_write_plainly_(ignores_pipe_signal()) {}

Conversation::~Conversation() {
  program_.supervisor.end_tree();
}

Result<std::unique_ptr<Conversation>> Conversation::start(Command command, std::size_t longest_line) {
  auto started = base::start(command);
  if (!started) return std::move(started).error();
  return std::unique_ptr<Conversation>(
      new Conversation(std::move(command), std::move(*started), longest_line));
}

bool Conversation::take_line(std::string_view& line) {
  const std::size_t end = heard_.find('\n', start_);
  if (end == std::string::npos) return false;
  line = std::string_view(heard_).substr(start_, end - start_);
  start_ = end + 1;
  return true;
}

void Conversation::read_answer() {
  if (start_ > 0) {
    heard_.erase(0, start_);
    start_ = 0;
  }
  const ssize_t length = ::read(program_.hear.get(), buffer_.data(), buffer_.size());
  if (length < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (length <= 0)
    answers_ended_ = true;
  else
    heard_.append(buffer_.data(), static_cast<std::size_t>(length));
}

void Conversation::read_output(UniqueFd& pipe, Stream stream, const Output& output) {
  const ssize_t length = ::read(pipe.get(), buffer_.data(), buffer_.size());
  if (length < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (length <= 0) return pipe.reset();
  if (output) output(stream, {buffer_.data(), static_cast<std::size_t>(length)});
}

void Conversation::read_report() {
  Report report;
  const ssize_t length = ::read(program_.report.get(), &report, sizeof report);
  if (length < 0 && errno == EINTR) return;
  if (length != sizeof report) {
    ending_ = "was killed together with its supervisor";
  } else if (report.what == Report::What::program_ended) {
    ending_ = WIFEXITED(report.wait_status)
                  ? "exited with status " + std::to_string(WEXITSTATUS(report.wait_status))
                  : "was ended by signal " + std::to_string(WTERMSIG(report.wait_status));
  } else {
    start_failure_ = start_error(command_, program_, report);
    ending_ = "did not start";
  }
}

void Conversation::write_more(std::string_view& said) {
  const ssize_t length = can_write_plainly_ ? ::write(program_.tell.get(), said.data(), said.size())
                                            : write_to_pipe(program_.tell.get(), said);
  if (length > 0) said.remove_prefix(static_cast<std::size_t>(length));
  // It does not want to hear it. Whether it has ended or not, it is not going to answer this.
  if (length < 0 && errno != EINTR && errno != EAGAIN) {
    program_.tell.reset();
    said = {};
  }
}

Conversation::Heard Conversation::end_of_it() {
  if (start_failure_) return {Heard::What::not_started};
  return {ending_.empty() ? Heard::What::silent : Heard::What::ended};
}

Conversation::Heard Conversation::exchange(std::string_view said, Clock::time_point deadline,
                                           Interrupt* interrupt, const Output& output) {
  if (program_.tell && !said.empty()) write_more(said);
  Heard heard;
  for (;;) {
    if (take_line(heard.line))
      return heard.line.size() > longest_line_ ? Heard{Heard::What::too_long} : heard;
    if (heard_.size() - start_ > longest_line_) return {Heard::What::too_long};
    if (!ending_.empty()) return end_of_it();
    if (answers_ended_ || !program_.tell) {
      pollfd report{program_.report.get(), POLLIN, 0};
      if (::poll(&report, 1, std::min(kReportPatienceMs, poll_time_until(deadline))) > 0) read_report();
      for (const auto& [pipe, stream] :
           {std::pair(&program_.output, Stream::out), std::pair(&program_.error, Stream::err)})
        if (*pipe) read_output(*pipe, stream, output);
      return end_of_it();
    }
    if (interrupt && interrupt->requested()) return {Heard::What::interrupted};
    const int wait = poll_time_until(deadline);
    if (wait == 0) return {Heard::What::late};
    // The answer first: what was printed before it is then seen in the same look, and read before it.
    std::array<pollfd, 6> events = {{{program_.hear.get(), POLLIN, 0},
                                     {program_.output.get(), POLLIN, 0},
                                     {program_.error.get(), POLLIN, 0},
                                     {program_.report.get(), POLLIN, 0},
                                     {interrupt ? interrupt->wait_fd() : -1, POLLIN, 0},
                                     {said.empty() ? -1 : program_.tell.get(), POLLOUT, 0}}};
    if (::poll(events.data(), events.size(), wait) <= 0) continue;
    if (events[1].revents != 0) read_output(program_.output, Stream::out, output);
    if (events[2].revents != 0) read_output(program_.error, Stream::err, output);
    if (events[5].revents != 0) write_more(said);
    if (events[0].revents != 0) read_answer();
    if (events[3].revents != 0) {
      read_report();
      if (!answers_ended_) read_answer();  // what it has said last
    }
  }
}

bool Conversation::has_more() {
  if (has_more_at_hand()) return true;
  if (!answers_ended_) read_answer();
  return has_more_at_hand();
}

Conversation::Usage Conversation::usage() const {
  static const long kTicks = std::max(::sysconf(_SC_CLK_TCK), 1L);
  Usage usage;
  for (const pid_t pid : living_descendants(program_.supervisor.pid())) {
    usage.cpu += std::chrono::microseconds(cpu_ticks(pid) * 1'000'000 / static_cast<std::uint64_t>(kTicks));
    usage.max_rss_kb = std::max(usage.max_rss_kb, peak_kb(pid));
  }
  return usage;
}

void Conversation::forget_peak() const {
  constexpr const char* kPeak = "5";  // of what proc(5) says of clear_refs
  for (const pid_t pid : living_descendants(program_.supervisor.pid()))
    std::ofstream("/proc/" + std::to_string(pid) + "/clear_refs") << kPeak;
}

}  // namespace base

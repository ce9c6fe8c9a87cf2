// Conversation: a program that stays, is told lines and answers with lines.
//
// It reads descriptor 3 and writes descriptor 4; what it prints is output, so that a stray print is no
// answer. It runs below a supervisor as every program does (process.hpp); letting go of a Conversation ends
// the program with all that it has started, also what it has left behind. Line and output are bounded: a
// program that talks without end costs no memory. One thread at a time.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/interrupt.hpp"
#include "base/programs/process.hpp"
#include "base/programs/process_start.hpp"
#include "base/result.hpp"

namespace base {

class Conversation {
 public:
  using Clock = std::chrono::steady_clock;
  using Output = std::function<void(Stream, std::string_view)>;

  // `command.talks` must be set. That the program cannot be executed is heard later.
  static Result<std::unique_ptr<Conversation>> start(Command command, std::size_t longest_line);
  ~Conversation();
  Conversation(const Conversation&) = delete;
  Conversation& operator=(const Conversation&) = delete;

  struct Heard {
    enum class What {
      line,
      too_long,     // a line is longer than allowed
      silent,       // it has closed descriptor 4
      ended,        // see ending()
      not_started,  // see start_failure()
      late,         // the deadline has passed
      interrupted,  // somebody asked to stop
    };
    What what = What::line;
    std::string_view line{};  // without its end; until the next call
  };
  // Tells it `said`, if there is something to say, and listens until it has answered one line. `interrupt`
  // may be null, `output` empty.
  Heard exchange(std::string_view said, Clock::time_point deadline, Interrupt* interrupt,
                 const Output& output);

  // Whether it has said more than was heard, complete or not.
  bool has_more();
  // Whether more of it came together with what was heard: without a look, which is a system call.
  bool has_more_at_hand() const { return start_ < heard_.size(); }

  // "exited with status 3", "was ended by signal 9".
  const std::string& ending() const { return ending_; }
  const Error& start_failure() const { return *start_failure_; }

  struct Usage {
    std::chrono::microseconds cpu{};  // of all that is alive of it, and of what these have waited for
    std::uint64_t max_rss_kb = 0;     // peak of the largest
  };
  Usage usage() const;
  // The peak is counted from now on.
  void forget_peak() const;

 private:
  Conversation(Command command, StartedProgram started, std::size_t longest_line);
  bool take_line(std::string_view& line);
  void read_answer();
  void read_output(UniqueFd& pipe, Stream stream, const Output& output);
  void read_report();
  void write_more(std::string_view& said);
  Heard end_of_it();

  const Command command_;
  StartedProgram program_;
  const std::size_t longest_line_;
  const bool can_write_plainly_;  // two system calls less for each line that is told
  std::string heard_;             // what was read of descriptor 4
  std::size_t start_ = 0;         // of what was not taken yet
  bool answers_ended_ = false;
  std::string ending_;  // empty: it runs
  std::optional<Error> start_failure_;
  std::array<char, 64 * 1024> buffer_;  // for one read: what a pipe holds
};

}  // namespace base

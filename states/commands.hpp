// Commands: how states run programs. Adds what every program of a state shares: a clean environment, the
// state's deadline, cancellation, the live output, and the sum of what it cost.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/programs/process.hpp"
#include "base/values/redactor.hpp"
#include "states/shown_output.hpp"

namespace states {

class Commands {
 public:
  using Clock = std::chrono::steady_clock;
  using Output = ShownOutput::Live;

  // `deadline`: of the whole state. `live`: gets output as it comes, without escape sequences and secrets;
  // may be empty. `before_run`: called before each program starts, so that the journal is on disk by then;
  // may be empty. `redactor`: knows the secrets, and lives as long; null: there are none.
  Commands(Clock::time_point deadline, base::Interrupt& interrupt, Output live,
           std::function<void()> before_run, const base::Redactor* redactor = nullptr)
      : deadline_(deadline),
        interrupt_(interrupt),
        live_(std::move(live)),
        before_run_(std::move(before_run)),
        redactor_(redactor) {}

  // Runs it. An empty environment means base::clean_environment(). Its timeout is cut to the state's
  // deadline. Errors: could not be started; ErrorCode::timed_out ("Timed out after 60 s: apt-get") and
  // ErrorCode::cancelled. A program that exits with another status than 0, or by a signal, is not an error
  // here. What a program had printed when its time was up, or when it was cancelled, is in
  // interrupted_output(). Output that is as long as fits is what the program has written; of longer output
  // escape sequences and secrets are taken out before it is cut, so that no half of a secret is left. A
  // command that listens to its output itself (on_output) gets all of it as it is, and its output is cut as
  // it is: it is read by the state and never shown.
  base::Result<base::Completed> run(base::Command command);

  // The same for what would leave the machine broken if it were ended half-way (dpkg, rpm): a request to stop
  // counts when it is over. Its time limit ends it all the same.
  base::Result<base::Completed> run_undisturbed(base::Command command);

  // run() for a plain argv.
  base::Result<base::Completed> run(std::vector<std::string> argv);

  // For a program that stays between states, and is not started by run(): called before it is told to change
  // something, and when it has. Its output is shown by shown_output().
  void begin_other_program();
  void end_other_program(std::chrono::microseconds cpu, std::uint64_t max_rss_kb, bool truncated);
  ShownOutput shown_output(std::size_t keep_head, std::size_t keep_tail) const;

  // One line of the live output, from us: what is waited for.
  void tell(std::string_view line) const;

  Clock::time_point deadline() const { return deadline_; }
  // How much of the state's time is left, at least 0.
  std::chrono::milliseconds time_left() const;

  struct Usage {
    unsigned programs = 0;
    std::chrono::microseconds cpu{};
    std::uint64_t max_rss_kb = 0;
    std::optional<int> last_exit_code;
    bool truncated = false;
  };
  const Usage& usage() const { return usage_; }
  const std::string& interrupted_output() const { return interrupted_output_; }

 private:
  Clock::time_point deadline_;
  base::Interrupt& interrupt_;
  Output live_;
  std::function<void()> before_run_;
  const base::Redactor* redactor_;
  Usage usage_;
  std::string interrupted_output_;
};

}  // namespace states

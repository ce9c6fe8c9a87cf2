// What the launcher decides, as pure functions: what was read goes in, what to do comes out. launch.hpp does
// it.
//
// The journal decides between the version before (`from`) and the one on trial (`to`); `current` says how far
// the switch got. An attempt is counted on disk before the agent is started, so that whatever it does to us
// or to the machine, the third such start is the last.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "update/journal.hpp"

namespace update::launcher {

// What was found on disk.
struct DiskState {
  std::optional<Record> record;
  std::string journal_problem;         // there is a journal, and it cannot be used
  std::optional<std::string> current;  // leads to this folder, which has a program
  std::string current_problem;
  std::vector<std::string> complete;  // folders that have a program, newest first
  std::string last_end;               // how the last agent of ours ended by itself; empty: not known
};

// What to do, in this order.
struct Decision {
  std::vector<std::string> say;          // for the log: something is not as it should be
  std::optional<Record> write;           // the journal
  std::optional<std::string> switch_to;  // `current`
  std::string start;                     // this folder's program; empty: there is none
  // Started instead when the attempt cannot be counted on disk: a start that nobody counts may be one of
  // many. Empty: there is nothing better than to start it all the same.
  std::string start_uncounted;
  // The trial ends this long after it began: the agent has confirmed by then, or the way back is taken.
  std::optional<std::chrono::seconds> deadline;

  bool operator==(const Decision&) const = default;
};

Decision decide(const DiskState& sight);
// The trial's deadline has passed and the agent was ended.
Decision decide_after_deadline(const DiskState& sight);

// How one run of the agent ended.
struct AgentEnd {
  std::optional<int> status;  // exit status; none: a signal ended it
  std::chrono::milliseconds ran{};
  bool was_asked_to_stop = false;  // TERM or INT was passed on
  bool was_last_attempt = false;   // of a trial: the way back is taken at once
};
struct AfterEnd {
  std::optional<int> end_with;       // the launcher's own exit status
  std::chrono::milliseconds wait{};  // before the next start
  bool operator==(const AfterEnd&) const = default;
};

// The pauses between starts: 1 s, doubled up to 5 minutes; a run of a minute is a success.
class Restarts {
 public:
  static constexpr std::chrono::milliseconds kFirst{1'000};
  static constexpr std::chrono::milliseconds kLongest{300'000};
  static constexpr std::chrono::milliseconds kGoodRun{60'000};

  AfterEnd after(const AgentEnd& end);
  // Nothing could be started.
  std::chrono::milliseconds after_nothing() { return next(); }

 private:
  std::chrono::milliseconds next();

  std::chrono::milliseconds pause_ = kFirst;
  bool was_at_once_ = false;
};

}  // namespace update::launcher

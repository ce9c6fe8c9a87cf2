// Which reports to read from the spool next, and which are done with.
//
// Reports go out in the order of their numbers, one batch at a time: the next is read when the last was
// written to the socket and few enough are without acknowledgement. So neither a slow socket nor a slow
// backend makes the agent hold many of them in memory. Numbers may be missing: the spool drops the oldest
// when it is full.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

namespace protocol {

class ReportWindow {
 public:
  static constexpr std::size_t kUnacknowledged = 256;  // sent and not yet acknowledged, at most
  static constexpr std::size_t kAtOnce = 64;           // read from the spool in one go, at most

  struct Reading {
    std::uint64_t after = 0;
    std::size_t how_many = 0;
  };

  explicit ReportWindow(std::uint64_t last) : last_(last) {}

  // Everything after `acknowledged` is to be sent (again).
  void start(std::uint64_t acknowledged);
  // The spool has reports up to here.
  void available(std::uint64_t last);
  std::uint64_t last() const { return last_; }

  // What should be read now, if anything. No second reading starts before reading_arrives().
  std::optional<Reading> next_reading();
  // The answer is there. False if it is of no use, because start() was called since.
  bool reading_arrives();
  // A report of the answer, in order. False if it was sent before.
  bool take(std::uint64_t seq);
  // The report that was just taken goes out to the peer; those that do not were left out on purpose.
  void goes_out();
  // The answer reached up to here, readable or not. 0: nothing in it; the spool has dropped what was asked
  // for.
  void reading_ends(std::uint64_t through);

  // The socket has taken all up to this one.
  void written(std::uint64_t up_to);
  // Everything up to here has been written or left out.
  std::uint64_t written_through() const { return written_ >= out_ ? taken_ : written_; }

  // False if that was never sent. Otherwise all up to there is done with.
  bool acknowledge(std::uint64_t up_to);
  std::uint64_t acknowledged() const { return acknowledged_; }

 private:
  std::uint64_t last_ = 0;          // the newest in the spool
  std::uint64_t taken_ = 0;         // the newest that was read
  std::uint64_t out_ = 0;           // the newest that went out
  std::uint64_t written_ = 0;       // the newest that the socket has taken
  std::uint64_t acknowledged_ = 0;  // the newest that is done with
  std::deque<std::uint64_t> in_flight_;
  std::optional<std::uint64_t> reading_up_to_;  // a reading is under way
  bool stale_ = false;                          // and its answer is of no use
  bool started_ = false;
};

}  // namespace protocol

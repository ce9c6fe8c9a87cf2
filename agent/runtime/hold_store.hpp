// HoldStore: the holds of this machine while a daemon runs, kept in STATE/hold (hold_record.hpp). One thread;
// short writes.
//
// A hold is in force as soon as it is set, also where it cannot be written: a full disk is a reason to hold a
// machine, not to go on. Whoever sets it is told that it does not last then. A hold is over only when that is
// on disk, or when its time is.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "agent/runtime/hold_record.hpp"

namespace agent::runtime {

class HoldStore {
 public:
  using Clock = std::function<HoldClock()>;
  explicit HoldStore(std::string path, Clock clock = read_hold_clock)
      : path_(std::move(path)), clock_(std::move(clock)) {}

  // What was kept. One that cannot be read is a hold for the default time, and is put aside if it can be
  // (STATE/hold.damaged). The problems are for the log.
  std::vector<std::string> load();

  // Replaces the one of this origin. On disk when it returns; the error: it is in force, and not on disk.
  base::Result<void> set(Hold hold);
  // False: there was none. The error: it is still in force.
  base::Result<bool> release(HoldOrigin origin);
  // Every now and then: those whose time is over are gone, and answered. What is left is written again when
  // it was not for kRefresh. A file that cannot be written is a problem, and tried again the next time.
  std::vector<Hold> pass_time(std::vector<std::string>& problems);

  bool is_held() const { return !entries_.empty(); }
  // The file says the same.
  bool is_kept() const { return !is_behind_; }
  // With what is left of them now.
  std::vector<Hold> holds() const;
  HoldClock now() const { return clock_(); }

  static constexpr std::chrono::minutes kRefresh{10};

 private:
  struct Entry {
    Hold hold;                         // `left` as it was when `ends` was computed
    std::chrono::milliseconds ends{};  // since boot
  };
  void add(Hold hold, const HoldClock& now);
  base::Result<void> write(const std::vector<Hold>& holds, const HoldClock& now);

  const std::string path_;
  const Clock clock_;
  std::vector<Entry> entries_;
  std::chrono::milliseconds written_{};  // since boot
  bool is_behind_ = false;               // the file says something else
};

}  // namespace agent::runtime

// EventLog: what has happened, for those who watch: a bounded ring that /api/v1/events reads.
//
// Every watcher reads at its own pace from the same ring and holds nothing up; one that is slower than the
// ring turns has missed something and is told so. Belongs to the loop's thread.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "transport/async.hpp"

namespace backend::telemetry {

using EventId = std::uint64_t;

struct Event {
  EventId id = 0;
  std::string_view type;  // one of kEventTypes
  std::string app_id;
  std::string instance_id;
  std::string data;  // JSON object
};

inline constexpr std::string_view kEventTypes[] = {"presence", "recipe", "result",  "round", "wait",
                                                   "output",   "update", "rollout", "hold"};

// What a watcher wants to see; empty: everything, but for output, which has to be asked for.
struct EventFilter {
  std::string app_id;
  std::string instance_id;
  std::vector<std::string> types;
  bool output = false;

  bool wants(const Event& event) const;
};

class EventLog {
 public:
  struct Limits {
    std::size_t events = 16'384;
    std::size_t bytes = 8 * 1024 * 1024;
  };
  // `first`: the id of the first event. Ids must not come again after a restart of the backend, or a client
  // that resumes would take new events for those that it has seen.
  EventLog(transport::asio::any_io_executor executor, Limits limits, EventId first = 1)
      : limits_(limits), oldest_(first), next_(first), published_(std::move(executor)) {}

  void publish(std::string_view type, std::string app_id, std::string instance_id, std::string data);

  // The newest id; the one before the first when there was none yet.
  EventId newest() const { return next_ - 1; }
  // Events after `id` are all still here.
  bool has_all_after(EventId id) const { return id + 1 >= oldest_ && id < next_; }
  EventId oldest() const { return oldest_; }
  // The first events after `id`, at most `most`. Shared: they stay when the ring turns.
  std::vector<std::shared_ptr<const Event>> after(EventId id, std::size_t most) const;

  // Returns when something was published, or the time is over.
  transport::Task<> wait(std::chrono::milliseconds time);
  // Everybody who waits looks again.
  void wake_all() { published_.notify(); }

 private:
  const Limits limits_;
  std::deque<std::shared_ptr<const Event>> events_;
  std::size_t bytes_ = 0;
  EventId oldest_;  // of the events that are here, or that come next
  EventId next_;
  transport::Wake published_;
};

}  // namespace backend::telemetry

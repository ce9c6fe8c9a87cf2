// Metrics: what /metrics shows, in the text format of Prometheus.
//
// Counters and histograms are atomics and may be touched from any thread; values that somebody else knows
// (connections, queue depth) are asked for when the text is made.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace backend::telemetry {

class Counter {
 public:
  void add(std::uint64_t count = 1) { value_.fetch_add(count, std::memory_order_relaxed); }
  std::uint64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_ = 0;
};

// Observations in buckets; the last one is +Inf.
class Histogram {
 public:
  static constexpr std::size_t kBuckets = 12;
  using Bounds = std::array<double, kBuckets>;

  explicit constexpr Histogram(Bounds bounds) : bounds_(bounds) {}
  void observe(double value);
  void write(std::string& text, std::string_view name, std::string_view help) const;
  std::uint64_t count() const { return count_.load(std::memory_order_relaxed); }

 private:
  const Bounds bounds_;
  std::array<std::atomic<std::uint64_t>, kBuckets + 1> counts_{};
  std::atomic<std::uint64_t> count_ = 0;
  std::atomic<double> sum_ = 0;
};

inline constexpr Histogram::Bounds kSeconds{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 5};
inline constexpr Histogram::Bounds kCounts{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 4096};

struct Metrics {
  Counter connections;  // accepted websockets
  Counter handshakes_refused;
  Counter superseded;
  Counter messages_received;
  Counter messages_malformed;
  Counter messages_sent;
  Counter reports_received;
  Counter reports_stored;  // without those that were there already
  Counter reports_repeated;
  Counter reports_refused;   // could not be stored; the agent keeps them
  Counter reports_cut;       // too long to be stored whole
  Counter messages_delayed;  // over a limit of the agent
  Counter messages_over;     // over a limit, and gathered, dropped or refused
  Counter facts_stored;
  Counter recipes_pushed;
  Counter http_requests;
  Counter http_errors;  // 4xx and 5xx
  Counter events_published;
  Counter events_cut_off;  // SSE clients that did not keep up
  Counter store_errors;
  Counter downloads;  // below /releases/
  Counter downloads_refused;
  Counter download_bytes;
  Histogram store_batch{kCounts};     // functions per transaction
  Histogram report_batch{kCounts};    // reports per transaction
  Histogram store_seconds{kSeconds};  // queued to committed
  Histogram push_seconds{kSeconds};   // committed to handed to all connected agents
};

// A value that is looked up when the text is made.
struct Gauge {
  std::string_view name;
  std::string_view help;
  double value = 0;
};

std::string metrics_text(const Metrics& metrics, std::span<const Gauge> gauges);

// Bytes of memory that this process holds.
std::uint64_t resident_bytes();

}  // namespace backend::telemetry

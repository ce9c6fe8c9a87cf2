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
#include <vector>

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
  // Its lines, without HELP and TYPE. `labels` as in Gauge.
  void write(std::string& text, std::string_view name, std::string_view labels = {}) const;
  std::uint64_t count() const { return count_.load(std::memory_order_relaxed); }

 private:
  const Bounds bounds_;
  std::array<std::atomic<std::uint64_t>, kBuckets + 1> counts_{};
  std::atomic<std::uint64_t> count_ = 0;
  std::atomic<double> sum_ = 0;
};

inline constexpr Histogram::Bounds kSeconds{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 5};
inline constexpr Histogram::Bounds kCounts{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 4096};

// Answers by their status.
class StatusCounters {
 public:
  void add(unsigned status) {
    if (status >= kLowest && status <= kHighest) counts_[status - kLowest].add();
  }
  // A line for each status that there was, without HELP and TYPE.
  void write(std::string& text, std::string_view name) const;
  std::uint64_t sum(unsigned from, unsigned to) const;

 private:
  static constexpr unsigned kLowest = 100, kHighest = 599;
  std::array<Counter, kHighest - kLowest + 1> counts_;
};

// Which part of the server has answered.
enum class Answerer { api, metrics, probes, releases, nobody };
inline constexpr std::array<std::string_view, 5> kAnswererNames{"api", "metrics", "probes", "releases",
                                                                "none"};

// How states end; the last stands for what no agent of ours says.
inline constexpr std::array<std::string_view, 7> kOutcomeNames{"kept",      "changed",   "failed", "skipped",
                                                               "cancelled", "timed_out", "other"};

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
  Counter rounds_whole;                               // reported and stored
  Counter rounds_failed;                              // in which a state failed or was not reached
  std::array<Counter, kOutcomeNames.size()> results;  // by kOutcomeNames
  void count_result(std::string_view outcome);
  StatusCounters http_answers;
  // From the whole request to the answer, before it is sent. By Answerer.
  std::array<Histogram, kAnswererNames.size()> http_seconds{Histogram(kSeconds), Histogram(kSeconds),
                                                            Histogram(kSeconds), Histogram(kSeconds),
                                                            Histogram(kSeconds)};
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

// A value that is looked up when the text is made. Those of one name follow each other.
struct Gauge {
  std::string_view name;
  std::string_view help;
  double value = 0;
  std::string labels = {};  // state="running"; values are ours, or went through label_value()
  bool is_counter = false;  // it never falls while the process lives
};

std::string metrics_text(const Metrics& metrics, std::span<const Gauge> gauges);

// Text as the value of a label, without the quotes.
std::string label_value(std::string_view text);

// What the system knows of this process, under the names that every client library of Prometheus uses.
void add_process(std::vector<Gauge>& gauges);

}  // namespace backend::telemetry

#include "backend/telemetry/metrics.hpp"

#include <unistd.h>

#include <array>
#include <cstdio>

#include "base/file_read.hpp"
#include "base/text.hpp"

namespace backend::telemetry {

namespace {

std::string number(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.10g", value);
  return text.data();
}

void head(std::string& text, std::string_view name, std::string_view help, std::string_view type) {
  text.append("# HELP ").append(name).append(" ").append(help).append("\n");
  text.append("# TYPE ").append(name).append(" ").append(type).append("\n");
}

void line(std::string& text, std::string_view name, const std::string& value) {
  text.append(name).append(" ").append(value).append("\n");
}

struct CounterRow {
  std::string_view name;
  std::string_view help;
  Counter Metrics::*counter;
};
constexpr std::array kCounters{
    CounterRow{"opsbackend_connections_total", "Websockets accepted.", &Metrics::connections},
    CounterRow{"opsbackend_handshakes_refused_total", "Handshakes that were refused.",
               &Metrics::handshakes_refused},
    CounterRow{"opsbackend_superseded_total", "Connections that a newer one of the same agent ended.",
               &Metrics::superseded},
    CounterRow{"opsbackend_messages_received_total", "Messages from agents.", &Metrics::messages_received},
    CounterRow{"opsbackend_messages_malformed_total", "Frames that closed their connection.",
               &Metrics::messages_malformed},
    CounterRow{"opsbackend_messages_sent_total", "Messages queued for agents.", &Metrics::messages_sent},
    CounterRow{"opsbackend_reports_received_total", "Reports from agents, repeated ones included.",
               &Metrics::reports_received},
    CounterRow{"opsbackend_reports_stored_total", "Reports stored durably.", &Metrics::reports_stored},
    CounterRow{"opsbackend_reports_repeated_total", "Reports that were stored already.",
               &Metrics::reports_repeated},
    CounterRow{"opsbackend_reports_refused_total",
               "Reports that could not be stored; their agents keep them and send them again.",
               &Metrics::reports_refused},
    CounterRow{"opsbackend_reports_cut_total", "Reports that were too long to be stored whole.",
               &Metrics::reports_cut},
    CounterRow{"opsbackend_messages_delayed_total",
               "Messages after which an agent was not read for a while: it sends more than its limits allow.",
               &Metrics::messages_delayed},
    CounterRow{"opsbackend_messages_over_limit_total",
               "Messages of agents that were over a limit and were gathered, dropped or refused.",
               &Metrics::messages_over},
    CounterRow{"opsbackend_facts_stored_total", "Facts of agents that were stored and placed.",
               &Metrics::facts_stored},
    CounterRow{"opsbackend_recipes_pushed_total", "Recipes sent to agents.", &Metrics::recipes_pushed},
    CounterRow{"opsbackend_http_requests_total", "Requests answered.", &Metrics::http_requests},
    CounterRow{"opsbackend_http_errors_total", "Requests answered with 4xx or 5xx.", &Metrics::http_errors},
    CounterRow{"opsbackend_events_published_total", "Events for /api/v1/events.", &Metrics::events_published},
    CounterRow{"opsbackend_events_cut_off_total", "Event streams that did not keep up.",
               &Metrics::events_cut_off},
    CounterRow{"opsbackend_store_errors_total", "Functions or commits of the store that failed.",
               &Metrics::store_errors},
    CounterRow{"opsbackend_downloads_total", "Files below /releases/ that were asked for.",
               &Metrics::downloads},
    CounterRow{"opsbackend_downloads_refused_total", "Downloads that were too many at a time.",
               &Metrics::downloads_refused},
    CounterRow{"opsbackend_download_bytes_total", "Bytes of files below /releases/ that were sent.",
               &Metrics::download_bytes},
};

}  // namespace

void Histogram::observe(double value) {
  std::size_t bucket = 0;
  while (bucket < kBuckets && value > bounds_[bucket])
    ++bucket;
  counts_[bucket].fetch_add(1, std::memory_order_relaxed);
  count_.fetch_add(1, std::memory_order_relaxed);
  sum_.fetch_add(value, std::memory_order_relaxed);
}

void Histogram::write(std::string& text, std::string_view name, std::string_view help) const {
  head(text, name, help, "histogram");
  std::uint64_t below = 0;
  for (std::size_t i = 0; i <= kBuckets; ++i) {
    below += counts_[i].load(std::memory_order_relaxed);
    const std::string bound = i < kBuckets ? number(bounds_[i]) : "+Inf";
    line(text, std::string(name) + "_bucket{le=\"" + bound + "\"}", std::to_string(below));
  }
  line(text, std::string(name) + "_sum", number(sum_.load(std::memory_order_relaxed)));
  line(text, std::string(name) + "_count", std::to_string(below));
}

std::string metrics_text(const Metrics& metrics, std::span<const Gauge> gauges) {
  std::string text;
  for (const CounterRow& row : kCounters) {
    head(text, row.name, row.help, "counter");
    line(text, row.name, std::to_string((metrics.*row.counter).value()));
  }
  for (const Gauge& gauge : gauges) {
    head(text, gauge.name, gauge.help, "gauge");
    line(text, gauge.name, number(gauge.value));
  }
  metrics.store_batch.write(text, "opsbackend_store_batch", "Functions in one transaction.");
  metrics.report_batch.write(text, "opsbackend_report_batch", "Reports in one transaction.");
  metrics.store_seconds.write(text, "opsbackend_store_seconds", "From queued to durable.");
  metrics.push_seconds.write(text, "opsbackend_push_seconds",
                             "From durable to queued for every connected agent that it concerns.");
  return text;
}

std::uint64_t resident_bytes() {
  const auto text = base::read_file("/proc/self/statm", 4096);
  if (!text) return 0;
  const auto words = base::split_words(*text);
  const auto pages = words.size() > 1 ? base::parse_integer(words[1]) : std::nullopt;
  return static_cast<std::uint64_t>(pages.value_or(0)) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace backend::telemetry

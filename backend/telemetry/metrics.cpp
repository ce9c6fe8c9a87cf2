#include "backend/telemetry/metrics.hpp"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "base/files/file_read.hpp"
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

std::string with_labels(std::string_view name, std::string_view labels) {
  std::string text(name);
  return labels.empty() ? text : text.append("{").append(labels).append("}");
}
constexpr std::array kCounters{
    CounterRow{"opsbackend_websockets_accepted_total", "Websockets accepted.", &Metrics::connections},
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

void Histogram::write(std::string& text, std::string_view name, std::string_view labels) const {
  const std::string before = labels.empty() ? std::string() : std::string(labels) + ",";
  std::uint64_t below = 0;
  for (std::size_t i = 0; i <= kBuckets; ++i) {
    below += counts_[i].load(std::memory_order_relaxed);
    const std::string bound = i < kBuckets ? number(bounds_[i]) : "+Inf";
    line(text, std::string(name) + "_bucket{" + before + "le=\"" + bound + "\"}", std::to_string(below));
  }
  line(text, with_labels(std::string(name) + "_sum", labels), number(sum_.load(std::memory_order_relaxed)));
  line(text, with_labels(std::string(name) + "_count", labels), std::to_string(below));
}

void StatusCounters::write(std::string& text, std::string_view name) const {
  for (unsigned status = kLowest; status <= kHighest; ++status)
    if (const std::uint64_t count = counts_[status - kLowest].value(); count > 0)
      line(text, with_labels(name, "code=\"" + std::to_string(status) + "\""), std::to_string(count));
}

std::uint64_t StatusCounters::sum(unsigned from, unsigned to) const {
  std::uint64_t all = 0;
  for (unsigned status = std::max(from, kLowest); status <= std::min(to, kHighest); ++status)
    all += counts_[status - kLowest].value();
  return all;
}

void Metrics::count_result(std::string_view outcome) {
  const auto* known = std::ranges::find(kOutcomeNames, outcome);
  const auto* last = kOutcomeNames.end() - 1;
  results[static_cast<std::size_t>((known == kOutcomeNames.end() ? last : known) - kOutcomeNames.begin())]
      .add();
}

std::string metrics_text(const Metrics& metrics, std::span<const Gauge> gauges) {
  std::string text;
  for (const CounterRow& row : kCounters) {
    head(text, row.name, row.help, "counter");
    line(text, row.name, std::to_string((metrics.*row.counter).value()));
  }
  constexpr std::string_view kRounds = "opsbackend_rounds_total";
  head(text, kRounds, "Rounds that agents have reported, by whether every state was as it should be.",
       "counter");
  line(text, with_labels(kRounds, "result=\"converged\""), std::to_string(metrics.rounds_whole.value()));
  line(text, with_labels(kRounds, "result=\"failed\""), std::to_string(metrics.rounds_failed.value()));
  constexpr std::string_view kResults = "opsbackend_results_total";
  head(text, kResults, "Results of states that agents have reported.", "counter");
  for (std::size_t i = 0; i < kOutcomeNames.size(); ++i)
    line(text, with_labels(kResults, "outcome=\"" + std::string(kOutcomeNames[i]) + "\""),
         std::to_string(metrics.results[i].value()));
  constexpr std::string_view kAnswers = "opsbackend_http_requests_total";
  head(text, kAnswers, "Requests answered, by status.", "counter");
  metrics.http_answers.write(text, kAnswers);
  std::string_view last;
  for (const Gauge& gauge : gauges) {
    if (gauge.name != last) head(text, gauge.name, gauge.help, gauge.is_counter ? "counter" : "gauge");
    line(text, with_labels(gauge.name, gauge.labels), number(gauge.value));
    last = gauge.name;
  }
  const auto add = [&](const Histogram& histogram, std::string_view name, std::string_view help) {
    head(text, name, help, "histogram");
    histogram.write(text, name);
  };
  add(metrics.store_batch, "opsbackend_store_batch", "Functions in one transaction.");
  add(metrics.report_batch, "opsbackend_report_batch", "Reports in one transaction.");
  add(metrics.store_seconds, "opsbackend_store_seconds", "From queued to durable.");
  add(metrics.push_seconds, "opsbackend_push_seconds",
      "From durable to queued for every connected agent that it concerns.");
  constexpr std::string_view kHttpSeconds = "opsbackend_http_request_seconds";
  head(text, kHttpSeconds, "From the whole request to its answer, by the part that answered.", "histogram");
  for (std::size_t i = 0; i < kAnswererNames.size(); ++i)
    metrics.http_seconds[i].write(text, kHttpSeconds, "handler=\"" + std::string(kAnswererNames[i]) + "\"");
  return text;
}

std::string label_value(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '\\' || c == '"') result += '\\';
    result += c == '\n' ? ' ' : c;
  }
  return result;
}

namespace {

// /proc/self/stat behind the name, which may have blanks: the third field of proc(5) is the first here.
std::vector<std::string> process_fields() {
  const auto text = base::read_file("/proc/self/stat", 4096);
  const std::size_t name_end = text ? text->rfind(')') : std::string::npos;
  if (name_end == std::string::npos) return {};
  std::vector<std::string> fields;
  for (const std::string_view word : base::split_words(std::string_view(*text).substr(name_end + 1)))
    fields.emplace_back(word);
  return fields;
}

// When the machine was started, in seconds since 1970.
double boot_time() {
  const auto text = base::read_file("/proc/stat", 1 << 20);
  const std::size_t at = text ? text->find("\nbtime ") : std::string::npos;
  if (at == std::string::npos) return 0;
  const std::string_view rest = std::string_view(*text).substr(at + 7);
  return static_cast<double>(base::parse_integer(rest.substr(0, rest.find('\n'))).value_or(0));
}

double count_descriptors() {
  // Since Linux 6.2 the folder's size is their number; before, each has to be looked at.
  struct stat st {};
  if (::stat("/proc/self/fd", &st) == 0 && st.st_size > 0) return static_cast<double>(st.st_size);
  std::error_code error;
  std::filesystem::directory_iterator each("/proc/self/fd", error);
  double count = 0;
  while (!error && each != std::filesystem::directory_iterator()) {
    ++count;
    each.increment(error);
  }
  return std::max(count - 1, 0.0);  // the folder itself was open
}

}  // namespace

void add_process(std::vector<Gauge>& gauges) {
  // By their numbers in proc(5).
  constexpr std::size_t kUser = 14, kSystem = 15, kStart = 22, kVirtual = 23, kResident = 24, kFirst = 3;
  const auto fields = process_fields();
  const auto field = [&](std::size_t number) {
    const std::size_t index = number - kFirst;
    return index < fields.size() ? static_cast<double>(base::parse_integer(fields[index]).value_or(0)) : 0.0;
  };
  const auto ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
  static const double kBootTime = boot_time();
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  gauges.push_back({.name = "process_cpu_seconds_total",
                    .help = "Processor time that this process has used.",
                    .value = (field(kUser) + field(kSystem)) / ticks,
                    .is_counter = true});
  gauges.push_back({.name = "process_start_time_seconds",
                    .help = "When this process was started, since 1970.",
                    .value = kBootTime + field(kStart) / ticks});
  gauges.push_back({.name = "process_open_fds",
                    .help = "Open descriptors of this process.",
                    .value = count_descriptors()});
  gauges.push_back({.name = "process_max_fds",
                    .help = "Descriptors that this process may have.",
                    .value = static_cast<double>(limit.rlim_cur)});
  gauges.push_back({.name = "process_virtual_memory_bytes",
                    .help = "Address space of this process.",
                    .value = field(kVirtual)});
  gauges.push_back({.name = "process_resident_memory_bytes",
                    .help = "Memory of this process.",
                    .value = field(kResident) * static_cast<double>(::sysconf(_SC_PAGESIZE))});
}

}  // namespace backend::telemetry

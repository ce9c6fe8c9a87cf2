#include "backend/telemetry/metrics.hpp"

#include <fcntl.h>

#include <ctime>

#include <doctest/doctest.h>

#include "base/unique_fd.hpp"

TEST_CASE("a histogram counts each observation in its bucket and all above") {
  backend::telemetry::Metrics metrics;
  metrics.store_batch.observe(1);
  metrics.store_batch.observe(3);
  metrics.store_batch.observe(1e6);
  const std::string text = backend::telemetry::metrics_text(metrics, {});
  CHECK(text.find("# TYPE opsbackend_store_batch histogram\n") != std::string::npos);
  CHECK(text.find("opsbackend_store_batch_bucket{le=\"1\"} 1\n") != std::string::npos);
  CHECK(text.find("opsbackend_store_batch_bucket{le=\"4\"} 2\n") != std::string::npos);
  CHECK(text.find("opsbackend_store_batch_bucket{le=\"4096\"} 2\n") != std::string::npos);
  CHECK(text.find("opsbackend_store_batch_bucket{le=\"+Inf\"} 3\n") != std::string::npos);
  CHECK(text.find("opsbackend_store_batch_sum 1000004\n") != std::string::npos);
  CHECK(text.find("opsbackend_store_batch_count 3\n") != std::string::npos);
}

TEST_CASE("counters and gauges appear with their values, those of one name together") {
  backend::telemetry::Metrics metrics;
  metrics.reports_stored.add(7);
  const backend::telemetry::Gauge gauges[] = {{"opsbackend_agents_connected", "Agents.", 3},
                                              {"opsbackend_rollouts", "Rollouts.", 1, "state=\"running\""},
                                              {"opsbackend_rollouts", "Rollouts.", 2, "state=\"done\""}};
  const std::string text = backend::telemetry::metrics_text(metrics, gauges);
  CHECK(text.find("opsbackend_reports_stored_total 7\n") != std::string::npos);
  CHECK(text.find("opsbackend_agents_connected 3\n") != std::string::npos);
  CHECK(text.find("# TYPE opsbackend_rollouts gauge\nopsbackend_rollouts{state=\"running\"} 1\n"
                  "opsbackend_rollouts{state=\"done\"} 2\n") != std::string::npos);
}

TEST_CASE("answers are counted by status, results by outcome, and what is strange has one place") {
  backend::telemetry::Metrics metrics;
  for (const unsigned status : {200u, 200u, 404u, 599u, 0u, 99u, 600u, 4'000'000'000u})
    metrics.http_answers.add(status);
  for (const char* outcome : {"kept", "timed_out", "", "a machine says anything\n"})
    metrics.count_result(outcome);
  const std::string text = backend::telemetry::metrics_text(metrics, {});
  CHECK(text.find("opsbackend_http_requests_total{code=\"200\"} 2\n"
                  "opsbackend_http_requests_total{code=\"404\"} 1\n"
                  "opsbackend_http_requests_total{code=\"599\"} 1\n#") != std::string::npos);
  CHECK(text.find("opsbackend_results_total{outcome=\"kept\"} 1\n") != std::string::npos);
  CHECK(text.find("opsbackend_results_total{outcome=\"timed_out\"} 1\n") != std::string::npos);
  CHECK(text.find("opsbackend_results_total{outcome=\"other\"} 2\n") != std::string::npos);
  CHECK(text.find("anything") == std::string::npos);
  CHECK(backend::telemetry::label_value("a\\b\"c\nd") == "a\\\\b\\\"c d");
}

TEST_CASE("what the system knows of this process is told") {
  std::vector<backend::telemetry::Gauge> gauges;
  backend::telemetry::add_process(gauges);
  const auto value = [&](std::string_view name) {
    for (const auto& gauge : gauges)
      if (gauge.name == name) return gauge.value;
    return -1.0;
  };
  CHECK(value("process_resident_memory_bytes") > 1'000'000);
  CHECK(value("process_virtual_memory_bytes") > value("process_resident_memory_bytes"));
  CHECK(value("process_cpu_seconds_total") >= 0);
  const double open = value("process_open_fds");
  CHECK(open >= 3);
  CHECK(value("process_max_fds") >= open);
  const auto now = static_cast<double>(std::time(nullptr));
  CHECK(value("process_start_time_seconds") > now - 86400);
  CHECK(value("process_start_time_seconds") < now + 60);
  const base::UniqueFd one(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  gauges.clear();
  backend::telemetry::add_process(gauges);
  CHECK(value("process_open_fds") == open + 1);
}

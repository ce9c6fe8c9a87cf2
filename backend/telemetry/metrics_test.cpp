#include "backend/telemetry/metrics.hpp"

#include <doctest/doctest.h>

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

TEST_CASE("counters and gauges appear with their values") {
  backend::telemetry::Metrics metrics;
  metrics.reports_stored.add(7);
  const backend::telemetry::Gauge gauges[] = {{"opsbackend_agents_connected", "Agents.", 3}};
  const std::string text = backend::telemetry::metrics_text(metrics, gauges);
  CHECK(text.find("opsbackend_reports_stored_total 7\n") != std::string::npos);
  CHECK(text.find("opsbackend_agents_connected 3\n") != std::string::npos);
  CHECK(backend::telemetry::resident_bytes() > 1'000'000);
}

// MetricsPage: /metrics: the counters, and what is asked of everybody when it is looked at.
//
// Anybody may look, as often as they like, so a look costs little: what needs a walk through the store is
// read at most every so often and kept. Labels have few values, all of them ours: no names of machines or
// apps. Belongs to the loop's thread.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "backend/api/context.hpp"
#include "backend/domain/reports/fleet_health.hpp"
#include "backend/server/data_folder.hpp"
#include "backend/server/release_files.hpp"
#include "backend/server/server_identity.hpp"
#include "transport/server/http_server.hpp"

namespace backend::server {

class MetricsPage {
 public:
  // All of it is the server's, and stays.
  struct Sources {
    api::Context& context;
    const DataFolder& data;
    const ReleaseFiles& releases;
    const std::optional<ServerIdentity>& identity;
    const transport::HttpServer& http;
  };
  explicit MetricsPage(Sources sources) : sources_(sources) {}

  transport::Task<std::string> text();

 private:
  using Clock = std::chrono::steady_clock;

  transport::Task<> look_at_fleet();
  void add_machines(std::vector<telemetry::Gauge>& gauges) const;
  void add_ends(std::vector<telemetry::Gauge>& gauges) const;
  void add_store(std::vector<telemetry::Gauge>& gauges) const;
  void add_work(std::vector<telemetry::Gauge>& gauges) const;

  const Sources sources_;
  std::optional<domain::FleetHealth> health_;  // the last that could be read
  Clock::time_point next_look_{};
  bool is_looking_ = false;
  double look_seconds_ = 0;
};

}  // namespace backend::server

// Server: the backend put together: data folder, store, fleet, API, one listener.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "backend/api/context.hpp"
#include "backend/fleet/fleet.hpp"
#include "backend/repositories/repositories.hpp"
#include "backend/rollouts/rollouts.hpp"
#include "backend/server/data_folder.hpp"
#include "backend/server/metrics_page.hpp"
#include "backend/server/options.hpp"
#include "backend/server/release_files.hpp"
#include "backend/server/server_identity.hpp"
#include "backend/store/history/housekeeping.hpp"
#include "backend/store/threads/store_thread.hpp"
#include "backend/telemetry/event_log.hpp"
#include "backend/telemetry/metrics.hpp"
#include "transport/server/http_server.hpp"

namespace backend::server {

class Server {
 public:
  // Takes the data folder, opens the database, listens. Nothing is accepted before start(). `log` stays.
  static base::Result<std::unique_ptr<Server>> open(transport::Loop& loop, const Options& options,
                                                    terminal::Log& log, fleet::FleetSettings settings = {});
  ~Server();

  // From here on it serves. Then the housekeeping, until it is drained.
  transport::Task<base::Result<void>> start();

  // No new connections; agents are sent away, what has arrived is stored. When it returns the loop has
  // nothing left to do.
  transport::Task<> drain();

  std::uint16_t port() const { return http_->port(); }
  std::string address() const { return http_->address(); }
  bool is_secure() const { return identity_.has_value(); }
  const DataFolder& data() const { return data_; }
  fleet::Fleet& fleet() { return *fleet_; }
  telemetry::Metrics& metrics() { return metrics_; }

 private:
  Server(transport::Loop& loop, Options options, terminal::Log& log, DataFolder data);

  transport::Task<transport::HttpResponse> answer(transport::HttpRequest request);
  transport::Task<transport::HttpResponse> route(transport::HttpRequest request);
  transport::Task<transport::HttpResponse> readiness();
  transport::Task<transport::HttpResponse> show_metrics();
  struct Keeper;  // of authorities

  api::Installation installation() const;
  base::Result<void> open_identity();
  void renew_identity();
  transport::Task<> keep_house();
  transport::Task<> purge();

  transport::Loop& loop_;
  const Options options_;
  terminal::Log& log_;
  DataFolder data_;
  std::optional<ServerIdentity> identity_;  // none without TLS
  std::shared_ptr<transport::TlsServer> tls_;
  std::unique_ptr<Keeper> keeper_;
  telemetry::Metrics metrics_;
  telemetry::EventLog events_;
  std::unique_ptr<store::StoreThread> store_;
  std::unique_ptr<fleet::Fleet> fleet_;
  std::unique_ptr<rollouts::Rollouts> rollouts_;
  std::unique_ptr<repositories::Repositories> repositories_;
  std::unique_ptr<api::Context> context_;
  ReleaseFiles releases_;
  std::unique_ptr<transport::HttpServer> http_;
  std::unique_ptr<MetricsPage> metrics_page_;
  transport::Wake stopping_;
  std::shared_ptr<store::PurgeCursor> purge_cursor_ = std::make_shared<store::PurgeCursor>();
  bool is_stopping_ = false;
};

// "127.0.0.1:8963": whether nobody but this machine can reach it.
bool is_loopback(std::string_view listen);

// As many descriptors as the system lets us have; answers how many that is.
std::size_t raise_descriptor_limit();

}  // namespace backend::server

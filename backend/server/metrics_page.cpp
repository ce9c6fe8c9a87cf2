#include "backend/server/metrics_page.hpp"

#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>

#include "backend/domain/access/instants.hpp"
#include "backend/server/version.hpp"

namespace backend::server {

namespace {

using telemetry::Gauge;

constexpr std::chrono::seconds kLookEvery{15};
// However long a look takes, nine tenths of the reader's time are for others.
constexpr int kPauseAfterLook = 10;

template <class Number>
double as_double(Number value) {
  return static_cast<double>(value);
}

double seconds_of(std::chrono::system_clock::time_point at) {
  return as_double(std::chrono::duration_cast<std::chrono::seconds>(at.time_since_epoch()).count());
}

std::string label(std::string_view name, std::string_view value) {
  return std::string(name) + "=\"" + telemetry::label_value(value) + "\"";
}

double size_of(const std::string& path) {
  struct stat st {};
  return ::stat(path.c_str(), &st) == 0 ? as_double(st.st_size) : 0;
}

}  // namespace

transport::Task<> MetricsPage::look_at_fleet() {
  if (is_looking_ || Clock::now() < next_look_) co_return;
  is_looking_ = true;
  const auto begun = Clock::now();
  auto reading = sources_.context.store.read(
      "", [](store::Store& store) { return store.fleet_health(domain::now_millis()); });
  auto read = co_await std::move(reading);
  const auto took = Clock::now() - begun;
  // When it cannot be read the last numbers stay, and store_errors tells.
  if (read) health_ = *read;
  look_seconds_ = std::chrono::duration<double>(took).count();
  next_look_ = Clock::now() + std::max<Clock::duration>(kLookEvery, took * kPauseAfterLook);
  is_looking_ = false;
}

void MetricsPage::add_machines(std::vector<Gauge>& gauges) const {
  const fleet::Fleet& fleet = sources_.context.fleet;
  gauges.push_back({.name = "opsbackend_agents_connected",
                    .help = "Agents that are connected now.",
                    .value = as_double(fleet.connected())});
  gauges.push_back({.name = "opsbackend_waits_open",
                    .help = "Wait states that have not come true.",
                    .value = as_double(fleet.waits().open_count())});
  if (!health_) return;
  for (std::size_t i = 0; i < health_->machines.size(); ++i)
    for (const bool online : {true, false})
      gauges.push_back(
          {.name = "opsbackend_machines",
           .help = "Machines by how they are; each is in one state.",
           .value = as_double(online ? health_->machines[i].online : health_->machines[i].offline),
           .labels = label("state", domain::kMachineStateNames[i]) + "," +
                     label("online", online ? "true" : "false")});
  for (std::size_t i = 0; i < health_->without_round.size(); ++i)
    gauges.push_back(
        {.name = "opsbackend_machines_without_round",
         .help = "Machines that have a recipe and of which no round was heard for longer than this.",
         .value = as_double(health_->without_round[i]),
         .labels = label("longer_than", domain::kWatchedTimes[i].name)});
  gauges.push_back({.name = "opsbackend_machines_excluded",
                    .help = "Machines that neither waits nor rollouts are held up by.",
                    .value = as_double(health_->excluded)});
  gauges.push_back({.name = "opsbackend_machines_paused",
                    .help = "Machines on which no round begins, because an operator has paused them.",
                    .value = as_double(health_->paused)});
  gauges.push_back({.name = "opsbackend_fleet_look_seconds",
                    .help = "How long counting the machines took last time.",
                    .value = look_seconds_});
}

// What ends some day, and has to be renewed before.
void MetricsPage::add_ends(std::vector<Gauge>& gauges) const {
  const fleet::Fleet& fleet = sources_.context.fleet;
  if (sources_.identity) {
    gauges.push_back({.name = "opsbackend_server_certificate_expiry_timestamp_seconds",
                      .help = "When the certificate that this server shows ends; it renews itself before.",
                      .value = seconds_of(sources_.identity->not_after())});
    gauges.push_back({.name = "opsbackend_authority_expiry_timestamp_seconds",
                      .help = "When the authority that signs new certificates ends.",
                      .value = seconds_of(fleet.authorities()->newest().not_after())});
    const domain::Millis now = domain::now_millis();
    for (const domain::WatchedTime& within : domain::kWatchedTimes)
      gauges.push_back(
          {.name = "opsbackend_agent_certificates_ending",
           .help = "Connected agents whose certificate was not renewed and ends within this time.",
           .value = as_double(fleet.certificates_ending_by(now + within.time)),
           .labels = label("within", within.name)});
  }
  if (const auto expires = sources_.releases.timestamp_expires())
    gauges.push_back(
        {.name = "opsbackend_release_timestamp_expiry_timestamp_seconds",
         .help = "When timestamp.json of the release folder ends; agents take no release after it.",
         .value = seconds_of(*expires)});
}

void MetricsPage::add_store(std::vector<Gauge>& gauges) const {
  const api::Context& context = sources_.context;
  gauges.push_back({.name = "opsbackend_store_queue",
                    .help = "Functions that wait for the writer.",
                    .value = as_double(context.store.writes_queued())});
  gauges.push_back({.name = "opsbackend_read_queue",
                    .help = "Functions that wait for the reader.",
                    .value = as_double(context.store.reads_queued())});
  gauges.push_back({.name = "opsbackend_reports_waiting_bytes",
                    .help = "Reports that are not stored yet.",
                    .value = as_double(context.fleet.reports_waiting())});
  gauges.push_back({.name = "opsbackend_store_down",
                    .help = "1 while the disk takes no reports.",
                    .value = context.fleet.store_condition().is_down() ? 1.0 : 0.0});
  const std::string database = sources_.data.database();
  constexpr std::string_view kSize = "opsbackend_database_bytes";
  constexpr std::string_view kSizeHelp = "Size of the database's files.";
  gauges.push_back(
      {.name = kSize, .help = kSizeHelp, .value = size_of(database), .labels = label("file", "main")});
  gauges.push_back({.name = kSize,
                    .help = kSizeHelp,
                    .value = size_of(database + "-wal"),
                    .labels = label("file", "wal")});
  struct statvfs disk {};
  if (::statvfs(sources_.data.path().c_str(), &disk) == 0)
    gauges.push_back({.name = "opsbackend_data_free_bytes",
                      .help = "Free on the disk of the data folder.",
                      .value = as_double(disk.f_bavail) * as_double(disk.f_frsize)});
}

void MetricsPage::add_work(std::vector<Gauge>& gauges) const {
  using domain::RolloutState;
  const api::Context& context = sources_.context;
  for (const domain::RolloutKind kind : domain::kRolloutKinds)
    for (const RolloutState state : {RolloutState::running, RolloutState::paused, RolloutState::stopped,
                                     RolloutState::done, RolloutState::aborted})
      gauges.push_back(
          {.name = "opsbackend_rollouts",
           .help = "Rollouts by state and by what is rolled out; stopped: by themselves.",
           .value = as_double(context.rollouts.count(kind, state)),
           .labels = label("state", domain::name_of(state)) + "," + label("kind", domain::name_of(kind))});
  gauges.push_back({.name = "opsbackend_connections",
                    .help = "Open connections of all kinds.",
                    .value = as_double(sources_.http.connections())});
  gauges.push_back({.name = "opsbackend_downloads_running",
                    .help = "Downloads of releases under way.",
                    .value = as_double(sources_.releases.downloads())});
  gauges.push_back({.name = "opsbackend_event_streams",
                    .help = "Open event streams.",
                    .value = as_double(context.event_streams)});
  gauges.push_back({.name = "opsbackend_draining",
                    .help = "1 while agents are being sent away.",
                    .value = context.fleet.draining() ? 1.0 : 0.0});
  gauges.push_back({.name = "opsbackend_build_info",
                    .help = "1; the labels tell what runs.",
                    .value = 1,
                    .labels = label("version", version())});
}

transport::Task<std::string> MetricsPage::text() {
  co_await look_at_fleet();
  std::vector<Gauge> gauges;
  add_machines(gauges);
  add_ends(gauges);
  add_store(gauges);
  add_work(gauges);
  telemetry::add_process(gauges);
  co_return telemetry::metrics_text(sources_.context.metrics, gauges);
}

}  // namespace backend::server

#include "backend/server/server.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <filesystem>

#include "backend/api/access.hpp"
#include "backend/api/reply.hpp"
#include "backend/api/route.hpp"
#include "backend/api/routes/reads.hpp"
#include "backend/domain/access/instants.hpp"
#include "backend/server/module_options.hpp"
#include "backend/server/version.hpp"
#include "backend/store/history/housekeeping.hpp"
#include "backend/store/sqlite/sqlite_store.hpp"
#include "base/text.hpp"
#include "transport/uri.hpp"

namespace backend::server {

using base::Error;
using base::ErrorCode;
using base::Result;
using transport::HttpRequest;
using transport::HttpResponse;

namespace {

using std::chrono::seconds;

constexpr seconds kPresenceEvery{300};
constexpr seconds kPurgeEvery{600};
constexpr seconds kHouseEvery{10};
constexpr std::chrono::milliseconds kBetweenPurges{100};
constexpr seconds kDrainAgents{15};
constexpr seconds kDrainRequests{5};

HttpResponse text_reply(unsigned status, std::string text, std::string type = "text/plain; charset=utf-8") {
  HttpResponse response;
  response.status = status;
  response.headers.push_back({"Content-Type", std::move(type)});
  response.body = std::move(text);
  return response;
}

bool is_of_api(const HttpRequest& request) {
  return request.path.starts_with(std::string(api::kPrefix) + "/");
}

telemetry::Answerer answerer_of(const HttpRequest& request) {
  if (is_of_api(request)) return telemetry::Answerer::api;
  if (request.path.starts_with(kReleasesPrefix)) return telemetry::Answerer::releases;
  if (request.path == "/metrics") return telemetry::Answerer::metrics;
  const bool is_probe = request.path == "/healthz" || request.path == "/readyz";
  return is_probe ? telemetry::Answerer::probes : telemetry::Answerer::nobody;
}

transport::Task<HttpResponse> answer_large(api::Context& context, HttpRequest request) {
  if (!is_of_api(request)) co_return api::problem(api::kTooLarge, "the body is too large");
  auto refusing = api::refuse_large(context, std::move(request));
  co_return co_await std::move(refusing);
}

// Sockets are not to take the descriptors that the database and the release folder need.
std::size_t most_connections() {
  constexpr std::size_t kMost = 20'000;
  constexpr std::size_t kForFiles = 512;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return kMost;
  const std::size_t descriptors = limit.rlim_cur;
  return std::min(kMost, std::max(descriptors / 2, descriptors - std::min(descriptors, kForFiles)));
}

}  // namespace

bool is_loopback(std::string_view listen) {
  const auto parts = transport::split_host_port(listen, 0);
  if (!parts) return false;
  return transport::is_loopback(parts->host);
}

std::size_t raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  ::getrlimit(RLIMIT_NOFILE, &limit);
  return limit.rlim_cur;
}

// How a change of the authorities reaches files and TLS.
struct Server::Keeper final : fleet::AuthorityKeeper {
  explicit Keeper(Server& the_server) : server(the_server) {}

  Result<fleet::SharedAuthorities> begin_change(pki::Instant now) override {
    return server.identity_->authorities().begin_change(now);
  }
  Result<fleet::SharedAuthorities> retire(const std::string& issuer, pki::Instant now) override {
    return server.identity_->authorities().retire(issuer, now);
  }
  // New connections see the new certificate; those that are open go on.
  Result<void> use(const fleet::AuthoritySet& authorities) override {
    auto shown = server.identity_->issue(authorities, std::chrono::system_clock::now());
    if (!shown) return std::move(shown).error();
    return server.tls_->replace(std::move(*shown), authorities.issuers_pem());
  }

  Server& server;
};

Server::Server(transport::Loop& loop, Options options, terminal::Log& log, DataFolder data)
    : loop_(loop),
      options_(std::move(options)),
      log_(log),
      data_(std::move(data)),
      // A thousand events in a millisecond are more than there ever are.
      events_(loop.get_executor(), {}, static_cast<telemetry::EventId>(domain::now_millis()) * 1000),
      releases_(options_.releases, metrics_),
      stopping_(loop.get_executor()) {}

Server::~Server() = default;

Result<std::unique_ptr<Server>> Server::open(transport::Loop& loop, const Options& options,
                                             terminal::Log& log, fleet::FleetSettings settings) {
  std::error_code ignored;
  if (options.plain && !is_loopback(options.listen))
    return Error(ErrorCode::unsupported,
                 "--listen " + options.listen +
                     ": with --plain only loopback addresses are served (127.0.0.1:8963); leave --plain out");
  if (!options.releases.empty() && !std::filesystem::is_directory(options.releases, ignored))
    return Error(ErrorCode::not_found, "--releases " + options.releases +
                                           ": there is no such folder; 'opsctl release publish' makes one");
  auto data = DataFolder::open(options.data);
  if (!data) return std::move(data).error();
  std::unique_ptr<Server> server(new Server(loop, options, log, std::move(*data)));
  auto token = server->data_.admin_token();
  if (!token) return std::move(token).error();
  if (!options.plain)
    if (auto opened = server->open_identity(); !opened) return std::move(opened).error();
  auto store =
      store::StoreThread::open(loop, store::sqlite::opener(server->data_.database()), server->metrics_);
  if (!store) return std::move(store).error();
  server->store_ = std::move(*store);
  settings.allow_v1 = settings.allow_v1 || options.allow_v1;
  // Without TLS there are no certificates to tell agents apart by.
  settings.accept_tokens = options.plain || settings.allow_v1;
  // On loopback whoever comes is on this machine; elsewhere anybody could be first.
  settings.approve_strangers = !options.plain;
  if (server->identity_)
    settings.certificates = {.authorities = server->identity_->authorities().now(),
                             .life = seconds(options.certificate_life)};
  settings.heartbeat_s = static_cast<int>(options.heartbeat);
  settings.quota = domain::report_quota(static_cast<std::uint64_t>(options.agent_results),
                                        static_cast<std::uint64_t>(options.agent_bytes));
  server->fleet_ =
      std::make_unique<fleet::Fleet>(loop, *server->store_, server->events_, server->metrics_, log, settings);
  server->rollouts_ = std::make_unique<rollouts::Rollouts>(loop, *server->store_, *server->fleet_,
                                                           server->events_, log, settings.rollout_interval);
  server->context_ = std::unique_ptr<api::Context>(new api::Context{
      server->options_.report_changes_only, *server->store_, *server->fleet_, *server->rollouts_,
      server->events_, server->metrics_, log, std::move(*token), server->keeper_.get()});
  server->context_->recipe_quota = {.revisions = static_cast<std::uint64_t>(options.recipe_revisions),
                                    .bytes = static_cast<std::uint64_t>(options.recipe_bytes)};
  auto repositories = repository_settings(options, server->data_.path());
  if (!repositories) return std::move(repositories).error();
  server->repositories_ =
      std::make_unique<repositories::Repositories>(loop, std::move(*repositories), server->metrics_, log);
  server->context_->repositories = server->repositories_.get();
  server->context_->version = version();
  server->context_->installation = [raw = server.get()] { return raw->installation(); };

  const auto serve_agent = [fleet = server->fleet_.get()](HttpRequest request,
                                                          std::shared_ptr<transport::WebSocket> socket) {
    return fleet->serve(std::move(request), std::move(socket));
  };
  auto http = transport::HttpServer::listen(
      loop,
      {.listen = options.listen,
       .tls = server->tls_,
       .body_limit = [context = server->context_.get()](
                         HttpRequest& request) { return api::body_limit(*context, request); },
       .too_large = [context = server->context_.get()](
                        HttpRequest request) { return answer_large(*context, std::move(request)); },
       .max_connections = most_connections(),
       .web_socket = {.heartbeat = seconds(options.heartbeat)}},
      [raw = server.get()](HttpRequest request) { return raw->answer(std::move(request)); },
      {{.path = "/agent/", .handler = serve_agent}, {.path = "/agent", .handler = serve_agent}});
  if (!http) return std::move(http).error().with_context("listening on " + options.listen);
  server->http_ = std::move(*http);
  server->metrics_page_ = std::make_unique<MetricsPage>(MetricsPage::Sources{
      *server->context_, server->data_, server->releases_, server->identity_, *server->http_});
  return server;
}

Result<void> Server::open_identity() {
  const auto now = std::chrono::system_clock::now();
  auto identity = ServerIdentity::open(
      data_,
      {.authorities = {.first = {.certificate = options_.ca_cert,
                                 .key = options_.ca_key,
                                 .passphrase_file = options_.ca_key_passphrase_file},
                       .next = {.certificate = options_.next_ca_cert,
                                .key = options_.next_ca_key,
                                .passphrase_file = options_.next_ca_key_passphrase_file}},
       .listen = options_.listen,
       .names = options_.names},
      now);
  if (!identity) return std::move(identity).error();
  identity_ = std::move(*identity);
  for (const std::string& hint : identity_->authorities().hints())
    log_.warning(hint);
  const fleet::AuthoritySet& authorities = *identity_->authorities().now();
  auto shown = identity_->issue(authorities, now);
  if (!shown) return std::move(shown).error();
  // Agents are vouched for by who signs them. The root may have others below it, which are nobody's here.
  auto tls = transport::TlsServer::make(std::move(*shown), authorities.issuers_pem());
  if (!tls) return std::move(tls).error();
  tls_ = std::move(*tls);
  keeper_ = std::make_unique<Keeper>(*this);
  return {};
}

// New connections see the new certificate; those that are open go on.
void Server::renew_identity() {
  const auto now = std::chrono::system_clock::now();
  if (!identity_ || !identity_->is_due(now)) return;
  auto shown = identity_->issue(*fleet_->authorities(), now);
  auto replaced = shown ? tls_->replace(std::move(*shown)) : Result<void>(std::move(shown).error());
  if (!replaced) log_.error("renewing the server's certificate: " + replaced.error().message());
}

transport::Task<Result<void>> Server::start() {
  auto loading = fleet_->load();
  auto loaded = co_await std::move(loading);
  if (!loaded) co_return loaded;
  if (const fleet::SharedAuthorities& all = fleet_->authorities()) {
    // What was issued before issuers were noted.
    auto adopting = store_->write([issuer = all->oldest().issuer_hash(), root = all->oldest().public_hash()](
                                      store::Store& store) { return store.adopt_authority(issuer, root); });
    const auto adopted = co_await std::move(adopting);
    if (!adopted) co_return adopted.error();
  }
  auto opening = api::open_access(*context_);
  auto opened = co_await std::move(opening);
  if (!opened) co_return opened;
  http_->start();
  transport::spawn(loop_.get_executor(), keep_house());
  transport::spawn(loop_.get_executor(), rollouts_->run());
  co_return Result<void>();
}

transport::Task<> Server::drain() {
  fleet_->begin_drain();
  http_->stop();
  events_.wake_all();
  is_stopping_ = true;
  stopping_.notify();
  rollouts_->stop();
  repositories_->stop();
  auto agents = fleet_->drain(kDrainAgents);
  co_await std::move(agents);
  auto requests = http_->drained(kDrainRequests);
  const bool all_gone = co_await std::move(requests);
  if (!all_gone) log_.warning("some requests were cut off");
}

// ---- requests

transport::Task<HttpResponse> Server::answer(HttpRequest request) {
  const auto begun = std::chrono::steady_clock::now();
  const telemetry::Answerer answerer = answerer_of(request);
  auto routing = route(std::move(request));
  HttpResponse response = co_await std::move(routing);
  metrics_.http_answers.add(response.status);
  metrics_.http_seconds[static_cast<std::size_t>(answerer)].observe(
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count());
  co_return response;
}

transport::Task<HttpResponse> Server::route(HttpRequest request) {
  if (is_of_api(request)) {
    auto dispatching = api::dispatch(*context_, std::move(request));
    HttpResponse response = co_await std::move(dispatching);
    // Whoever keeps the authorities' certificates sees by this that there are others.
    if (const fleet::SharedAuthorities& all = fleet_->authorities())
      response.headers.push_back({std::string(api::kAuthoritiesHeader), all->fingerprint()});
    co_return response;
  }
  if (request.path.starts_with(kReleasesPrefix)) co_return releases_.answer(request);
  if (request.path == "/agent" || request.path == "/agent/") {
    HttpResponse refused = api::problem(api::kUpgradeRequired, "agents open a websocket here");
    refused.headers.push_back({"Upgrade", "websocket"});
    co_return refused;
  }
  const bool known = request.path == "/healthz" || request.path == "/readyz" || request.path == "/metrics";
  if (!known) co_return api::problem(api::kNotFound, "there is nothing at " + request.path);
  if (request.method != "GET" && request.method != "HEAD") {
    HttpResponse refused = api::problem(api::kMethodNotAllowed, request.path + " takes GET and HEAD");
    refused.headers.push_back({"Allow", "GET, HEAD"});
    co_return refused;
  }
  if (request.path == "/healthz") co_return text_reply(api::kOk, "ok\n");
  if (request.path == "/metrics") co_return co_await show_metrics();
  co_return co_await readiness();
}

api::Installation Server::installation() const {
  api::Installation now{.version = std::string(version())};
  now.listeners.push_back(
      {.address = http_->address(), .is_tls = is_secure(), .is_loopback = is_loopback(options_.listen)});
  now.has_authority = identity_.has_value();
  if (identity_)
    now.authority_expires = std::chrono::duration_cast<std::chrono::milliseconds>(
                                fleet_->authorities()->newest().not_after().time_since_epoch())
                                .count();
  now.authority_is_brought = !options_.ca_cert.empty();
  now.allows_v1 = options_.allow_v1;
  now.certificate_life_s = options_.certificate_life;
  now.serves_releases = !options_.releases.empty();
  return now;
}

transport::Task<HttpResponse> Server::readiness() {
  if (fleet_->draining()) co_return text_reply(api::kUnavailable, "draining\n");
  // An empty transaction succeeds on a full disk, and strangers may ask: they must not make us write.
  if (const fleet::StoreCondition& store = fleet_->store_condition(); store.is_down())
    co_return text_reply(api::kUnavailable, store.why() + "\n");
  // Through the writer thread.
  auto writing =
      store_->write([](store::Store& store) { return store.set_last_seen({}, domain::now_millis()); });
  const auto written = co_await std::move(writing);
  if (!written) co_return text_reply(api::kUnavailable, written.error().message() + "\n");
  co_return text_reply(api::kOk, "ready\n");
}

transport::Task<HttpResponse> Server::show_metrics() {
  auto making = metrics_page_->text();
  co_return text_reply(api::kOk, co_await std::move(making), "text/plain; version=0.0.4; charset=utf-8");
}

// ---- housekeeping

transport::Task<> Server::keep_house() {
  auto next_presence = std::chrono::steady_clock::now() + kPresenceEvery;
  auto next_purge = std::chrono::steady_clock::now() + seconds(60);
  while (!is_stopping_) {
    co_await stopping_.wait_for(kHouseEvery);
    if (is_stopping_) break;
    renew_identity();
    fleet_->close_expired();
    co_await fleet_->look_after();
    const auto now = std::chrono::steady_clock::now();
    if (now >= next_presence) {
      co_await fleet_->note_presence();
      next_presence = now + kPresenceEvery;
    }
    if (now >= next_purge) {
      co_await purge();
      co_await api::note_missed_reads(*context_);
      next_purge = now + kPurgeEvery;
    }
  }
}

// In steps that are small enough for reports not to notice.
transport::Task<> Server::purge() {
  domain::Retention retention;
  retention.now = domain::now_millis();
  retention.oldest = retention.now - options_.retention_days * 24 * 3600 * 1000;
  retention.most_results = retention.most_rounds = retention.most_statuses =
      static_cast<std::uint64_t>(options_.retention_results);
  retention.most_bytes = static_cast<std::uint64_t>(options_.retention_bytes);
  std::size_t rows = 0;
  for (bool more = true; more && !is_stopping_;) {
    // The cursor is the writer thread's: one purge at a time.
    auto purging = store_->write([retention, cursor = purge_cursor_](store::Store& store) {
      return store::purge(store, retention, *cursor);
    });
    const auto purged = co_await std::move(purging);
    if (!purged) {
      fleet_->store_condition().failed("removing old reports", purged.error());
      co_return;
    }
    rows += purged->rows;
    more = purged->more;
    if (more) co_await stopping_.wait_for(kBetweenPurges);
  }
  if (rows > 0) log_.info("removed " + std::to_string(rows) + " old rows");
}

}  // namespace backend::server

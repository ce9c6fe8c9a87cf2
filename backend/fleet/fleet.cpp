#include "backend/fleet/fleet.hpp"

#include <algorithm>
#include <random>

#include "backend/domain/access/instants.hpp"
#include "backend/domain/access/pauses.hpp"
#include "backend/domain/limits/peer_network.hpp"
#include "backend/domain/reports/report_json.hpp"
#include "backend/fleet/agent_connection.hpp"
#include "backend/fleet/report_intake.hpp"
#include "base/values/json_text.hpp"
#include "pki/certificate.hpp"

namespace backend::fleet {

using base::Error;
using base::ErrorCode;
using base::Result;

namespace {

std::string presence_json(const AgentConnection& connection, bool online) {
  base::JsonText json;
  json.begin_object().member("app_id", connection.app_id()).member("instance_id", connection.instance_id());
  return json.member("online", online).end_object().take();
}

// What the index of waits is made from.
struct Loaded {
  std::vector<domain::InstanceProgress> progress;
  PlacementContents contents;
  std::vector<domain::InstanceKey> were_online;
};

Result<Loaded> load_progress(store::Store& store) {
  Loaded loaded;
  auto were_online = store.set_all_offline();
  if (!were_online) return std::move(were_online).error();
  loaded.were_online = std::move(*were_online);
  auto read = store.each_instance_progress(
      [&](const domain::InstanceProgress& progress) { loaded.progress.push_back(progress); });
  if (!read) return std::move(read).error();
  for (const domain::InstanceProgress& each : loaded.progress) {
    if (each.placement == 0) continue;
    if (auto content = add_placement(store, each.placement, loaded.contents); !content)
      return std::move(content).error();
  }
  return loaded;
}

std::shared_ptr<const PlacementContent> content_of(const domain::InstanceProgress& progress,
                                                   const PlacementContents& contents) {
  const auto found = contents.find(progress.placement);
  return found == contents.end() ? nullptr : found->second;
}

// Who the certificate says is speaking; nobody without one. One that does not count is refused in words,
// which the agent shows to whoever looks after it.
Result<std::optional<domain::Credential>> credential_of(const transport::HttpRequest& request) {
  if (!request.certificate) return std::optional<domain::Credential>();
  if (!request.certificate->problem.empty())
    return Error(ErrorCode::permission, request.certificate->problem);
  const auto certificate = pki::Certificate::parse(request.certificate->pem);
  if (!certificate) return certificate.error();
  auto name = certificate->agent_name();
  if (!name) return Error(ErrorCode::permission, "the certificate names no agent");
  return std::optional<domain::Credential>(
      domain::Credential{std::move(name->app_id), std::move(name->instance_id), std::move(name->uid),
                         certificate->serial(), domain::millis_of(certificate->not_after())});
}

}  // namespace

Fleet::Fleet(transport::Loop& loop, store::StoreThread& store, telemetry::EventLog& events,
             telemetry::Metrics& metrics, terminal::Log& log, FleetSettings settings)
    : loop_(loop),
      store_(store),
      events_(events),
      metrics_(metrics),
      log_(log),
      peer_log_(log),
      settings_(settings),
      condition_(log),
      authorities_(settings_.certificates.authorities),
      inquiries_(loop.get_executor()),
      intake_(std::make_unique<ReportIntake>(*this)),
      left_(loop.get_executor()) {}

Fleet::~Fleet() = default;

// One list for all machines that run the same: the waits of a group of machines are looked at together.
std::shared_ptr<const domain::StateList> Fleet::shared_states(const domain::InstanceProgress& progress,
                                                              const PlacementContents& contents) {
  const auto content = content_of(progress, contents);
  if (!content) return nullptr;
  auto& known = lists_[content->shared];
  if (auto kept = known.lock()) return kept;
  std::erase_if(lists_, [](const auto& list) { return list.second.expired(); });
  lists_[content->shared] = content->states;
  return content->states;
}

transport::Task<Result<void>> Fleet::load() {
  auto loading = store_.write([](store::Store& store) { return load_progress(store); });
  const auto loaded = co_await std::move(loading);
  if (!loaded) co_return loaded.error();
  for (const domain::InstanceProgress& each : loaded->progress)
    waits_.set_instance(each, shared_states(each, loaded->contents), domain::now_millis());
  missing_.insert(loaded->were_online.begin(), loaded->were_online.end());
  watching_since_ = domain::now_millis();
  settled_by_ = std::chrono::steady_clock::now() + settings_.settling;
  co_return Result<void>();
}

transport::Task<> Fleet::serve(transport::HttpRequest request, std::shared_ptr<transport::WebSocket> socket) {
  metrics_.connections.add();
  auto credential = credential_of(request);
  auto place = std::move(request.place);
  request = {};  // headers and certificate: nobody needs them while the connection lasts
  if (!credential) {
    metrics_.handshakes_refused.add();
    peer_log_.write(terminal::LogLevel::warning, "from " + domain::network_of(socket->peer()),
                    "agent " + socket->peer() + ": " + credential.error().message(), domain::steady_millis());
    auto closing = socket->close(transport::close_code::kPolicy, credential.error().message());
    co_await std::move(closing);
    co_return;
  }
  auto connection = std::make_shared<AgentConnection>(*this, std::move(socket), std::move(*credential));
  connection->hold(std::move(place));
  serving_.insert(connection);
  auto serving = connection->serve();
  co_await std::move(serving);
  serving_.erase(connection);
  connection.reset();
  left_.notify();
}

std::shared_ptr<AgentConnection> Fleet::find(domain::InstanceKey instance) const {
  const auto found = online_.find(instance);
  return found == online_.end() ? nullptr : found->second;
}

void Fleet::publish(std::string_view type, std::string app_id, std::string instance_id, std::string data) {
  metrics_.events_published.add();
  events_.publish(type, std::move(app_id), std::move(instance_id), std::move(data));
}

// ---- limits

std::shared_ptr<domain::AgentLimits> Fleet::limits_of(const std::string& key) {
  auto& limits = limits_[key];
  if (!limits) limits = std::make_shared<domain::AgentLimits>();
  return limits;
}

std::int64_t Fleet::come_again_ms() {
  constexpr std::int64_t kSoonest = 5000;
  return kSoonest + std::uniform_int_distribution<std::int64_t>(0, settings_.spread.count())(random_);
}

transport::Task<> Fleet::look_after() {
  const domain::Millis now = domain::steady_millis();
  std::erase_if(limits_,
                [&](const auto& each) { return each.second.use_count() == 1 && each.second->is_idle(now); });
  peer_log_.tell_missed();
  if (!condition_.is_down()) co_return;
  auto writing = store_.write([](store::Store& store) { return store.probe_room(domain::now_millis()); });
  const auto written = co_await std::move(writing);
  if (written)
    condition_.works();
  else
    condition_.failed("probing the store", written.error());
}

// ---- presence

bool Fleet::is_settling() const {
  return !missing_.empty() && std::chrono::steady_clock::now() < settled_by_;
}

void Fleet::connected(const std::shared_ptr<AgentConnection>& connection, const domain::Instance& instance) {
  const domain::InstanceKey key = instance.key;
  if (const auto older = find(key)) {
    metrics_.superseded.add();
    if (older->session().epoch > connection->session().epoch) {
      connection->superseded();
      return;
    }
    inquiries_.disconnected(key);
    older->superseded();
  }
  online_[key] = connection;
  missing_.erase(key);
  log_.debug("agent " + instance.app_id + "/" + instance.instance_id + " is connected");
  publish("presence", instance.app_id, instance.instance_id, presence_json(*connection, true));
}

void Fleet::disconnected(const std::shared_ptr<AgentConnection>& connection) {
  const auto found = online_.find(connection->session().instance);
  if (found == online_.end() || found->second != connection) return;  // superseded
  online_.erase(found);
  inquiries_.disconnected(connection->session().instance);
  log_.debug("agent " + connection->app_id() + "/" + connection->instance_id() + " is gone");
  publish("presence", connection->app_id(), connection->instance_id(), presence_json(*connection, false));
  // Whom we send away ourselves was connected when we ended: the next start waits for it (missing_).
  auto writing = store_.write(
      [session = connection->session(), is_ours = draining_](store::Store& store) -> Result<void> {
        if (is_ours) return store.set_last_seen(std::span(&session.instance, 1), domain::now_millis());
        return store.set_offline(session, domain::now_millis());
      });
  transport::spawn(loop_.get_executor(),
                   [](Fleet& fleet, transport::Task<Result<void>> task) -> transport::Task<> {
                     const auto set = co_await std::move(task);
                     if (!set) fleet.condition_.failed("presence was not stored", set.error());
                   }(*this, std::move(writing)));
}

transport::Task<> Fleet::note_presence() {
  constexpr std::size_t kSome = 1000;  // in one function, so that reports do not wait for it
  std::vector<domain::InstanceKey> keys;
  for (const auto& [key, connection] : online_)
    keys.push_back(key);
  for (std::size_t first = 0; first < keys.size(); first += kSome) {
    std::vector<domain::InstanceKey> some(
        keys.begin() + static_cast<std::ptrdiff_t>(first),
        keys.begin() + static_cast<std::ptrdiff_t>(std::min(first + kSome, keys.size())));
    auto writing = store_.write([some = std::move(some)](store::Store& store) {
      return store.set_last_seen(some, domain::now_millis());
    });
    const auto set = co_await std::move(writing);
    if (!set) condition_.failed("presence was not stored", set.error());
  }
}

// ---- recipes and waits

void Fleet::deliver(const Delivery& delivery) {
  const auto start = std::chrono::steady_clock::now();
  AgentConnection::RecipeTexts texts;
  for (const PlacedVersion& version : delivery.changed) {
    const auto connection = find(version.instance);
    const auto content = delivery.contents.find(version.placement);
    if (connection && content != delivery.contents.end())
      connection->tell_recipe(*content->second, version.recipe_version, texts);
    base::JsonText json;
    json.begin_object().member("app_id", version.app_id).member("instance_id", version.instance_id);
    json.member("recipe_version", version.recipe_version);
    json.member("status", connection ? "sent" : "pending").end_object();
    publish("recipe", version.app_id, version.instance_id, json.take());
  }
  for (const RejectedInstance& rejected : delivery.rejected) {
    if (!rejected.is_new) continue;
    log_.warning("agent " + rejected.app_id + "/" + rejected.instance_id +
                 " is rejected: " + rejected.reason);
    base::JsonText json;
    json.begin_object().member("app_id", rejected.app_id).member("instance_id", rejected.instance_id);
    json.member("recipe_version", rejected.recipe_version).member("status", "rejected");
    json.key("errors").begin_list().value(rejected.reason).end_list().end_object();
    publish("recipe", rejected.app_id, rejected.instance_id, json.take());
  }
  if (!delivery.changed.empty())
    metrics_.push_seconds.observe(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  // The agents are on their way; now those who wait for them.
  std::vector<domain::Satisfied> satisfied;
  for (const domain::InstanceProgress& each : delivery.progress)
    for (domain::Satisfied& wait :
         waits_.set_instance(each, shared_states(each, delivery.contents), domain::now_millis()))
      satisfied.push_back(std::move(wait));
  // One that came true on the way may not be true any more now that all are in their place.
  std::erase_if(satisfied, [this](const domain::Satisfied& wait) {
    return std::ranges::none_of(waits_.waits_of(wait.instance), [&](const domain::WaitStatus& now) {
      return now.state_id == wait.state_id && now.satisfied_at.has_value();
    });
  });
  tell_satisfied(satisfied);
  for (const domain::InstanceProgress& each : delivery.progress)
    if (const auto connection = find(each.key)) connection->answer_waits();
}

void Fleet::forget(domain::InstanceKey instance) {
  missing_.erase(instance);
  tell_satisfied(waits_.remove_instance(instance, domain::now_millis()));
}

void Fleet::use_app(const domain::App& app) {
  for (const auto& connection : serving_)
    if (connection->app_id() == app.app_id) connection->use_app(app);
}

void Fleet::use_authorities(SharedAuthorities authorities) {
  authorities_ = std::move(authorities);
  // So that the certificates of a whole fleet are not asked for at once.
  constexpr std::size_t kInASecond = 200;
  const std::chrono::milliseconds within(1000 + online_.size() * 1000 / kInASecond);
  const std::vector<std::shared_ptr<AgentConnection>> all(serving_.begin(), serving_.end());
  for (const auto& connection : all)
    connection->authorities_changed(within);
}

void Fleet::close_expired() {
  const domain::Millis now = domain::now_millis();
  std::vector<std::shared_ptr<AgentConnection>> expired;
  for (const auto& connection : serving_)
    if (connection->has_expired(now)) expired.push_back(connection);
  for (const auto& connection : expired)
    connection->revoked("the certificate has expired, and was not renewed");
}

std::size_t Fleet::certificates_ending_by(domain::Millis at) const {
  return static_cast<std::size_t>(
      std::ranges::count_if(serving_, [&](const auto& connection) { return connection->has_expired(at); }));
}

void Fleet::revoke(domain::InstanceKey instance, const std::string& reason) {
  const auto connection = find(instance);
  if (!connection) return;
  log_.info("agent " + connection->app_id() + "/" + connection->instance_id() + " is revoked: " + reason);
  connection->revoked(reason);
}

void Fleet::tell_satisfied(const std::vector<domain::Satisfied>& satisfied) {
  for (const domain::Satisfied& wait : satisfied) {
    const auto connection = find(wait.instance);
    if (!connection) continue;  // it hears of it at its handshake
    connection->tell(protocol::WaitDone{wait.recipe_version, wait.state_id, domain::instant_text(wait.at)});
    base::JsonText json;
    json.begin_object().member("app_id", connection->app_id());
    json.member("instance_id", connection->instance_id()).member("state_id", wait.state_id);
    json.member("recipe_version", wait.recipe_version).member("satisfied_at", domain::instant_text(wait.at));
    publish("wait", connection->app_id(), connection->instance_id(), json.end_object().take());
  }
}

void Fleet::tell_satisfied_waits(AgentConnection& connection, std::int64_t recipe_version) {
  const domain::InstanceKey key = connection.session().instance;
  if (waits_.given(key).recipe_version != recipe_version) return;
  for (const domain::WaitStatus& wait : waits_.waits_of(key))
    if (wait.satisfied_at)
      connection.tell(
          protocol::WaitDone{recipe_version, wait.state_id, domain::instant_text(*wait.satisfied_at)});
}

// ---- reports

void Fleet::reported(const AgentConnection& connection, const std::vector<domain::Report>& reports) {
  const domain::InstanceKey key = connection.session().instance;
  for (const domain::Report& report : reports) {
    if (const auto* log = std::get_if<protocol::StateLog>(&report)) {
      metrics_.count_result(domain::outcome_of(*log));
      if (!log->run_id.empty()) inquiries_.run_ended(key, *log);
    }
    if (const auto* end = std::get_if<protocol::RoundEnd>(&report))
      (domain::is_whole(*end) ? metrics_.rounds_whole : metrics_.rounds_failed).add();
    tell_satisfied(waits_.on_report(key, report, domain::now_millis()));
    publish(domain::report_event(report), connection.app_id(), connection.instance_id(),
            domain::report_json(connection.app_id(), connection.instance_id(), report));
  }
}

std::size_t Fleet::reports_waiting() const {
  return intake_->waiting_bytes();
}

void Fleet::output_arrived(const AgentConnection& connection, const protocol::StateOutput& output) {
  if (!is_watched(connection.session().instance)) return;
  base::JsonText json;
  json.begin_object().member("app_id", connection.app_id()).member("instance_id", connection.instance_id());
  json.member("run_id", output.run_id).member("state_id", output.id).member("stream", output.stream);
  json.member("offset", output.offset).member("data", output.data).end_object();
  publish("output", connection.app_id(), connection.instance_id(), json.take());
}

// ---- questions

transport::Task<Result<Answer>> Fleet::ask(domain::InstanceKey instance, protocol::BackendBody question,
                                           std::chrono::milliseconds time) {
  return ask(inquiries_.begin(instance), instance, std::move(question), time);
}

transport::Task<Result<Answer>> Fleet::run(domain::InstanceKey instance, protocol::Run run,
                                           std::chrono::milliseconds time) {
  auto inquiry = inquiries_.begin(instance, run.run_id);
  return ask(std::move(inquiry), instance, protocol::BackendBody(std::move(run)), time);
}

transport::Task<Result<Answer>> Fleet::ask(std::shared_ptr<Inquiries::Inquiry> inquiry,
                                           domain::InstanceKey instance, protocol::BackendBody question,
                                           std::chrono::milliseconds time) {
  const auto connection = find(instance);
  if (!connection) co_return Error(ErrorCode::unsupported, "the instance is not connected");
  if (!connection->tell(std::move(question), inquiry->mid()))
    inquiries_.refused(instance, inquiry->mid(), "the agent's connection is ending", true);
  auto waiting = inquiry->wait(time);
  co_return co_await std::move(waiting);
}

bool Fleet::tell(domain::InstanceKey instance, const protocol::BackendBody& message) {
  const auto connection = find(instance);
  return connection && connection->tell(message);
}

void Fleet::publish_pause(const std::string& app_id, const std::string& instance_id,
                          const domain::Pause& pause) {
  base::JsonText json;
  json.begin_object().member("app_id", app_id).member("instance_id", instance_id);
  domain::add_pause(json, pause, domain::now_millis());
  publish("hold", app_id, instance_id, json.end_object().take());
}

// ---- live output

Fleet::OutputWatch::OutputWatch(Fleet& fleet, domain::InstanceKey instance)
    : fleet_(fleet), instance_(instance) {
  if (++fleet_.output_watches_[instance_] == 1) fleet_.tell(instance_, protocol::OutputSubscribe{.on = true});
}

Fleet::OutputWatch::~OutputWatch() {
  const auto found = fleet_.output_watches_.find(instance_);
  if (--found->second > 0) return;
  fleet_.output_watches_.erase(found);
  fleet_.tell(instance_, protocol::OutputSubscribe{.on = false});
}

// ---- the end

transport::Task<> Fleet::drain(std::chrono::milliseconds within) {
  begin_drain();
  std::uniform_int_distribution<std::int64_t> later(0, settings_.spread.count());
  // Also those in the middle of their handshake, and those who say nothing.
  std::vector<std::shared_ptr<AgentConnection>> all(serving_.begin(), serving_.end());
  for (const auto& connection : all)
    connection->drain(later(random_));
  all.clear();
  const auto deadline = std::chrono::steady_clock::now() + within;
  while (!serving_.empty()) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) break;
    co_await left_.wait_for(left);
  }
  co_await intake_->idle();
}

}  // namespace backend::fleet

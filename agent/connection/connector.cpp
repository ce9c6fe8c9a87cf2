#include "agent/connection/connector.hpp"

#include <sys/utsname.h>

#include <algorithm>
#include <utility>

#include "agent/connection/enrolment.hpp"
#include "agent/runtime/address_rules.hpp"
#include "base/utc_text.hpp"
#include "protocol/capabilities.hpp"
#include "recipe/document.hpp"
#include "transport/client/dial.hpp"

namespace agent::connection {

namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;
using transport::Task;

constexpr milliseconds kFactsEvery = 5min;
// A backend that takes longer to welcome us under new settings does not count.
constexpr milliseconds kWelcomeWithin = 60s;
constexpr milliseconds kLongestClose = 3s;
// Nobody makes us come back faster, neither with a time of 0 nor with ever new settings.
constexpr milliseconds kSoonestReturn = 100ms;
// What a backend names is not repeated at any length.
constexpr std::size_t kLongestUriInLog = 200;
// How often the identity source is asked while no backend takes us: it may be a cloud's shared service.
constexpr milliseconds kSoonestQuestion = 30s;
// How long a backend may have its agents wait before they do what a change of its authority asks of them.
constexpr milliseconds kLongestSpread = 1h;

}  // namespace

Connector::Connector(transport::Loop& loop, const runtime::DaemonSettings& settings,
                     runtime::DaemonState& live, runtime::WorkerPort& worker, runtime::ActiveRecipe& recipe,
                     runtime::RecipeModules& modules, runtime::MachineHolds& holds, updater::Updater& updater,
                     std::function<void(const std::string&)> status)
    : loop_(loop),
      settings_(settings),
      backend_(*settings.backend),
      live_(live),
      worker_(worker),
      recipe_(recipe),
      modules_(modules),
      holds_(holds),
      updater_(updater),
      status_(std::move(status)),
      changed_(loop.get_executor()),
      facts_wanted_(loop.get_executor()),
      renewal_(loop.get_executor(), *live.membership, settings.log, [this] { return who_renews(); }) {}

Task<> Connector::run() {
  transport::spawn(loop_.get_executor(), keep_facts());
  transport::spawn(loop_.get_executor(), renewal_.run());
  ask_source_again();
  while (!is_ending_) {
    const milliseconds wait = co_await connect_once();
    if (!is_ending_ && wait.count() > 0) co_await changed_.wait_for(wait);
  }
}

// The servers in use, in the order in which they are tried; a change of them starts the waiting times anew.
void Connector::choose_servers() {
  const runtime::RemoteSettings& remote = live_.settings.in_use();
  const runtime::AddressRules rules = live_.address_rules();
  std::vector<std::string> servers;
  const auto add = [&](const std::string& uri) {
    if (std::ranges::find(servers, uri) == servers.end()) servers.push_back(uri);
  };
  // What a backend has named was checked when it came. A join token that was announced since changes the
  // rules.
  for (const std::vector<std::string>* named : {&std::as_const(alternatives_), &remote.ws_uris})
    for (const std::string& uri : *named)
      if (!runtime::refuse_named_uri(uri, rules)) add(uri);
  // The machine's own configuration is the way back, but must not confirm a candidate.
  if (servers.empty() || !live_.settings.has_candidate() || remote.ws_uris.empty())
    for (const std::string& uri : backend_.ws_uris)
      add(uri);
  if (servers == servers_) return;
  servers_ = std::move(servers);
  back_off_.emplace(servers_.size());
  failed_dials_ = 0;
}

Task<milliseconds> Connector::connect_once() {
  choose_servers();
  is_somebody_else_ = false;
  is_stale_ = false;
  vouching_.clear();
  view_.uri = servers_[back_off_->server()];
  transport::DialOptions options{.user_agent = "opsagent/" + settings_.version};
  if (auto why = runtime::refuse_uri(view_.uri, live_.address_rules())) co_return after_failed_dial(*why);
  options.uri = *transport::parse_uri(view_.uri);
  is_secure_ = options.uri.secure();
  options.proxy = backend_.proxies.proxy_for(options.uri);
  if (options.uri.secure()) {
    auto prepared = co_await prepare_tls(options);
    if (!prepared) co_return after_failed_dial(prepared.error().message());
    if (is_ending_) co_return 0ms;
    options.tls = std::move(*prepared);
    vouching_ = live_.membership->vouching();
  }
  // A backend of version 1 sends its recipe at once, so there is no moment to raise the limit.
  options.web_socket.max_message = protocol::kLargestMessage;
  auto socket = co_await transport::dial(options);
  if (!socket) co_return after_failed_dial(socket.error().message());
  if (is_ending_) {
    (*socket)->abort();
    co_return 0ms;
  }
  if (is_somebody_else_) {  // since the dialling began
    (*socket)->abort();
    co_return kSoonestReturn;
  }
  const Clock::time_point opened = Clock::now();
  sent_facts_ = live_.facts;
  manager_ = std::make_shared<Manager>(parts(), std::move(*socket), backend_.protocol_min,
                                       live_.old_backends.contains(view_.uri));
  set_view(true, "");
  refresh_facts();
  if (live_.settings.has_candidate()) transport::spawn(loop_.get_executor(), watch_candidate(manager_));
  const std::shared_ptr<Manager> manager = manager_;
  Manager::Ended ended = co_await manager->run();
  manager_.reset();
  changed_.notify();
  co_return after_connection(std::move(ended), opened);
}

// Who both sides are; a machine that has only a join token is enrolled first.
Task<base::Result<std::shared_ptr<transport::TlsClient>>> Connector::prepare_tls(transport::DialOptions way) {
  const std::string app_id = live_.identity.app_id;
  identity::Membership& membership = *live_.membership;
  if (membership.must_enrol(app_id, std::chrono::system_clock::now())) {
    EnrolmentWish wish{.app_id = app_id, .instance_id = live_.identity.instance_id};
    auto enrolling = enrol(std::move(way), std::move(wish), membership);
    const auto enrolled = co_await std::move(enrolling);
    if (!enrolled) co_return without_enrolment(enrolled.error());
    const identity::Credentials& got = *membership.credentials();
    settings_.log(Level::info, "enrolled as " + got.name.app_id + "/" + got.name.instance_id +
                                   "; the certificate ends on " + base::utc_text(got.not_after));
    if (got.name.instance_id != live_.identity.instance_id)
      settings_.log(Level::info,
                    "the join token does not let this machine be '" + live_.identity.instance_id +
                        "', as it asked ('opsctl join-token create --name PATTERN' or --instance)");
    renewal_.enrolled();
  }
  co_return membership.tls_for_work(app_at_work(), std::chrono::system_clock::now());
}

// An enrolled machine is what its certificate says until it has another one, whatever was announced since.
// What its own configuration says is another matter: whoever changes that wants to hear that it takes a
// token.
std::string Connector::app_at_work() const {
  const identity::Credentials* credentials = live_.membership->credentials();
  return credentials && !live_.announced.app_id.empty() ? credentials->name.app_id : live_.identity.app_id;
}

// A new token that leads nowhere is no reason to leave the backend that knows us.
base::Result<std::shared_ptr<transport::TlsClient>> Connector::without_enrolment(const base::Error& why) {
  base::Error failed = base::Error(why).with_context("enrolling");
  const identity::Credentials* credentials = live_.membership->credentials();
  if (!credentials) return failed;
  auto as_before = live_.membership->tls_for_work(app_at_work(), std::chrono::system_clock::now());
  if (!as_before)
    return base::Error(as_before.error().code(), as_before.error().message() + "; " + failed.message());
  settings_.log(Level::warning, failed.message() + "; going on with the certificate that is there");
  // Refused for good: who announced it is not asked to enrol us again at every connection.
  if (!live_.announced.app_id.empty() &&
      !identity::refuse_app(live_.announced.app_id, *live_.membership).empty()) {
    identity::SourceIdentity own = live_.announced;
    refused_app_ = std::exchange(own.app_id, credentials->name.app_id);
    believe(std::move(own));
  }
  return as_before;
}

Renewal::Ask Connector::who_renews() {
  if (!is_secure_ || !manager_ || manager_->protocol_version() < 2) return nullptr;
  return [manager = manager_](protocol::CertRequest request) {
    manager->ask_for_certificate(std::move(request));
  };
}

// What the backend says about whom to trust. Its words count because of who vouches for this connection.
base::Result<void> Connector::trust(const protocol::Authorities& announced) {
  const auto changed =
      live_.membership->trust(announced, is_secure_ ? vouching_ : std::vector<std::string>());
  if (!changed) return changed.error();
  if (changed->changed)
    settings_.log(Level::info, "the backend is known by " + std::to_string(announced.roots.size()) +
                                   (announced.roots.size() == 1 ? " authority" : " authorities") +
                                   " from now on");
  const milliseconds within = std::clamp(milliseconds(announced.within_ms.value_or(0)), 0ms, kLongestSpread);
  if (changed->must_renew) renewal_.issuer_changed(within);
  if (changed->is_stale && !is_stale_) {
    is_stale_ = true;
    const auto share =
        std::chrono::duration<double, std::milli>(within) * live_.membership->credentials()->share();
    transport::spawn(loop_.get_executor(),
                     leave_later(manager_, std::chrono::duration_cast<milliseconds>(share)));
  }
  return {};
}

// The backend proves anew who it is, to an authority that still counts.
Task<> Connector::leave_later(std::weak_ptr<Manager> manager, milliseconds when) {
  co_await transport::sleep_for(when);
  if (const auto open = manager.lock())
    open->close("the authority that vouched for this connection is retired");
}

milliseconds Connector::after_failed_dial(const std::string& problem) {
  ++failed_dials_;
  set_view(false, problem);
  ask_source_again();
  if (live_.settings.has_candidate() && failed_dials_ >= servers_.size()) {
    drop_candidate(problem);
    return 0ms;
  }
  if (failed_dials_ >= servers_.size()) alternatives_.clear();
  return back_off_->after_failure();
}

milliseconds Connector::after_connection(Manager::Ended ended, Clock::time_point opened) {
  set_view(false, ended.why);
  if (!ended.was_welcomed) ask_source_again();
  alternatives_.clear();
  if (ended.alternatives.size() > runtime::kMostNamedUris) {
    settings_.log(Level::warning, "the backend names more than " + std::to_string(runtime::kMostNamedUris) +
                                      " others to go to: the rest is left out");
    ended.alternatives.resize(runtime::kMostNamedUris);
  }
  const runtime::AddressRules rules = live_.address_rules();
  for (std::string& uri : ended.alternatives) {
    if (const auto why = runtime::refuse_named_uri(uri, rules))
      settings_.log(Level::warning, "the backend sends this machine where it does not go: " +
                                        uri.substr(0, kLongestUriInLog) + ": " + *why);
    else
      alternatives_.push_back(std::move(uri));
  }
  if (ended.has_new_settings || is_somebody_else_ || is_stale_) return kSoonestReturn;
  if (ended.retry_after) ended.retry_after = std::max(*ended.retry_after, kSoonestReturn);
  if (live_.settings.has_candidate()) {
    drop_candidate(ended.why);
    return 0ms;
  }
  return back_off_->after_connection(std::chrono::duration_cast<milliseconds>(Clock::now() - opened),
                                     ended.retry_after);
}

void Connector::drop_candidate(const std::string& why) {
  settings_.log(Level::warning, "the new settings do not work and are dropped: " + why);
  if (auto reverted = live_.settings.revert(); !reverted)
    settings_.log(Level::error, reverted.error().message());
}

Task<> Connector::watch_candidate(std::weak_ptr<Manager> tried) {
  co_await transport::sleep_for(kWelcomeWithin);
  const auto manager = tried.lock();
  if (manager && live_.settings.has_candidate()) manager->close("not welcomed under the new settings");
}

void Connector::set_view(bool is_connected, std::string problem) {
  const bool is_news = is_connected != view_.is_connected || problem != view_.problem;
  if (is_connected != view_.is_connected || view_.since == std::chrono::system_clock::time_point())
    view_.since = std::chrono::system_clock::now();
  view_.is_connected = is_connected;
  view_.problem = std::move(problem);
  const std::string text =
      is_connected ? "connected to " + view_.uri : "not connected to " + view_.uri + ": " + view_.problem;
  // The same failure again and again is one line.
  const Level level = !is_news ? Level::debug : is_connected || is_ending_ ? Level::info : Level::warning;
  settings_.log(level, text);
  if (is_news) status_(text);
}

// ---- what happens elsewhere

void Connector::on_worker_event(const engine::Event& event) {
  if (manager_) manager_->on_worker_event(event);
}

void Connector::recipe_changed() {
  if (manager_) manager_->recipe_changed();
}

void Connector::holds_changed() {
  if (manager_) manager_->holds_changed();
}

void Connector::reports_available() {
  if (manager_) manager_->reports_available();
}

Task<> Connector::keep_facts() {
  while (!is_ending_) {
    co_await facts_wanted_.wait_for(kFactsEvery);
    refresh_facts();
  }
}

void Connector::refresh_facts() {
  if (is_gathering_ || is_ending_) return;
  // The thread outlives this object, and what is posted to a loop that has ended never runs.
  is_gathering_ = live_.background.submit([this, &live = live_, &loop = loop_](base::Interrupt&) {
    facts::AgentFacts own = live.own_facts;
    own.lost_reports = live.spool->dropped().all();
    facts::Facts now = facts::gather(own);
    transport::asio::post(loop, [this, now = std::move(now)]() mutable {
      is_gathering_ = false;
      live_.facts = std::move(now);
      if (!manager_ || sent_facts_.hash == live_.facts.hash) return;
      manager_->facts_changed(sent_facts_, live_.facts);
      sent_facts_ = live_.facts;
    });
  });
}

Task<> Connector::end(std::string reason, milliseconds patience) {
  constexpr milliseconds kStep = 20ms;
  is_ending_ = true;
  const Clock::time_point until = Clock::now() + patience;
  while (manager_ && manager_->protocol_version() > 0 && Clock::now() < until &&
         live_.spool->acknowledged() < live_.spool->last_seq())
    co_await transport::sleep_for(kStep);
  if (manager_) manager_->close(std::move(reason));
  const Clock::time_point closed_by = Clock::now() + kLongestClose;
  while (manager_ && Clock::now() < closed_by)
    co_await transport::sleep_for(kStep);
  changed_.notify();
  facts_wanted_.notify();
  renewal_.end();
}

// ---- who we are

// What the identity source says now; `done` is called afterwards, at once when there is no source.
void Connector::ask_source(std::function<void()> done) {
  if (backend_.source.names.empty() || is_asking_ || is_ending_) return done();
  asked_ = Clock::now();
  // As with facts: the thread outlives this object, the loop runs nothing any more when it has ended.
  const auto ask = [this, &source = backend_.source, &loop = loop_, done](base::Interrupt& interrupt) {
    auto said = identity::ask_source_identity(source, interrupt);
    transport::asio::post(loop, [this, said = std::move(said), done]() mutable {
      is_asking_ = false;
      if (said)
        take(std::move(*said));
      else
        settings_.log(Level::debug, said.error().message());
      done();
    });
  };
  is_asking_ = live_.background.submit(ask);
  if (!is_asking_) done();
}

void Connector::ask_source_again() {
  if (asked_ != Clock::time_point() && Clock::now() - asked_ < kSoonestQuestion) return;
  ask_source([] {});
}

// Another app, or another token: the next connection is made with these.
void Connector::take(identity::SourceIdentity said) {
  if (said.app_id == live_.announced.app_id && said.join_token == live_.announced.join_token) return;
  if (!said.join_token.empty()) {
    const auto offered = live_.membership->offer_token(said.join_token, *settings_.redactor);
    if (!offered) {
      // Nothing of what it says is believed then. It says it at every question: one line will do.
      settings_.log(said.join_token == refused_token_ ? Level::debug : Level::warning,
                    offered.error().message());
      refused_token_ = said.join_token;
      return;
    }
  }
  if (const std::string why = identity::refuse_app(said.app_id, *live_.membership); !why.empty()) {
    // One that names no app any more says nothing that was not known.
    const bool is_news = !said.app_id.empty() && said.app_id != refused_app_;
    settings_.log(is_news ? Level::warning : Level::debug, why);
    refused_app_ = said.app_id;
    return;
  }
  const std::string before = live_.identity.app_id;
  believe(std::move(said));
  settings_.log(Level::info, "the identity source says something new: the app is " + live_.identity.app_id +
                                 (before == live_.identity.app_id ? "" : " and was " + before));
  is_somebody_else_ = true;
  if (manager_) manager_->close("the machine's identity source says something new");
  changed_.notify();
}

void Connector::believe(identity::SourceIdentity said) {
  if (auto kept = identity::store_source_identity(settings_.state_dir, said); !kept)
    settings_.log(Level::warning, kept.error().message());
  live_.announced = std::move(said);
  live_.identity_options = identity::with_source_identity(backend_.identity, live_.announced);
  if (auto identity = identity::load_identity(live_.identity_options)) live_.identity = std::move(*identity);
}

ManagerParts Connector::parts() {
  return {
      .spool = *live_.spool,
      .reports = live_.reports,
      .recipe = recipe_,
      .worker = worker_,
      .settings = live_.settings,
      .modules = modules_,
      .holds = holds_,
      .background = live_.background,
      .redactor = *settings_.redactor,
      .facts = live_.facts,
      .allow = backend_.allow,
      .hello = [this] { return hello(); },
      .ask_source = [this](std::function<void()> done) { ask_source(std::move(done)); },
      .commands = live_.commands,
      .history = live_.history,
      .refuse_uri =
          [this](const std::string& uri) { return runtime::refuse_named_uri(uri, live_.address_rules()); },
      .spooled = [this] { reports_available(); },
      .welcomed = [this] { renewal_.connected(); },
      .accepted = [this] { accepted(); },
      .update_asked = [this](const protocol::AgentUpdate& update) { updater_.ask(update); },
      .certificate_issued = [this](const protocol::CertIssued& issued) { return renewal_.issued(issued); },
      .trust_authorities = [this](const protocol::Authorities& announced) { return trust(announced); },
      .log = settings_.log};
}

void Connector::accepted() {
  if (manager_)
    if (auto noted = live_.old_backends.note(view_.uri, manager_->protocol_version() == 1); !noted)
      settings_.log(Level::warning, noted.error().message());
  updater_.welcomed();
}

protocol::Handshake Connector::hello() {
  // The backend may have waited for somebody to correct it.
  if (auto identity = identity::load_identity(live_.identity_options)) {
    live_.identity = std::move(*identity);
    settings_.redactor->add(live_.identity.token);
  }
  protocol::Handshake hello{.instance_id = live_.identity.instance_id,
                            .app_id = live_.identity.app_id,
                            .agent_version = settings_.version,
                            .instance_token = live_.identity.token};
  if (const identity::Credentials* credentials = live_.membership->credentials(); credentials && is_secure_) {
    hello.app_id = credentials->name.app_id;
    hello.instance_id = credentials->name.instance_id;
    hello.instance_token.clear();  // the certificate says it all
  }
  hello.capabilities = {std::string(protocol::kCanPlan),     std::string(protocol::kCanOutput),
                        std::string(protocol::kCanFacts),    std::string(protocol::kCanQuery),
                        std::string(protocol::kCanSettings), std::string(protocol::kCanUpdate),
                        std::string(protocol::kCanVars),     std::string(protocol::kCanHold)};
  if (is_secure_ && live_.membership->credentials()) {
    hello.capabilities.emplace_back(protocol::kCanCertify);
    hello.capabilities.emplace_back(protocol::kCanTrust);
    hello.authorities = live_.membership->trusted();
  }
  if (std::ranges::find(backend_.allow, "run") != backend_.allow.end())
    hello.capabilities.emplace_back(protocol::kCanRun);
  hello.agent_uid = live_.spool->uid();
  hello.boot_id = live_.identity.boot_id;
  hello.tags = backend_.tags;
  hello.facts_hash = sent_facts_.hash;
  if (const auto recipe = recipe_.in_force(); recipe.version > 0) {
    hello.recipe_version = recipe.version;
    hello.recipe_digest = recipe.digest;
  }
  hello.last_seq = live_.spool->last_seq();
  hello.history = live_.history.text();
  hello.holds = holds_.to_tell();
  hello.running = recipe_.progress().running();
  utsname names{};
  ::uname(&names);
  hello.os = settings_.host.os.id;
  hello.arch = names.machine;
  return hello;
}

}  // namespace agent::connection

// What the manager does about each action of its session.
#include <algorithm>
#include <utility>

#include "agent/connection/manager.hpp"
#include "agent/runtime/address_rules.hpp"
#include "agent/runtime/queries.hpp"
#include "recipe/document.hpp"

namespace agent::connection {

namespace at = protocol::at_agent;

namespace {

constexpr const char* kBusy =
    "the agent is busy with a state that takes long, and several plans and runs wait for its end already: "
    "try again later";

// What a backend names is not repeated at any length.
constexpr std::size_t kLongestUriInAnswer = 200;

}  // namespace

// ---- the connection

void Manager::perform(at::Send& action) {
  const auto* const seq = protocol::seq_of(action.message.body);
  const bool is_output = std::holds_alternative<protocol::StateOutput>(action.message.body);
  const std::optional<std::uint64_t> number = seq ? *seq : std::nullopt;
  if (outbox_.push(protocol::encode(action.message, action.version), number, is_output) || is_output) return;
  if (ended_.why.empty()) ended_.why = "the backend does not take what is sent";
  socket_->abort();
}

void Manager::perform(at::Close& action) {
  if (ended_.why.empty()) ended_.why = action.reason;
  outbox_.close(action.code, std::move(action.reason));
}

void Manager::perform(at::Disconnect& action) {
  ended_.why = "the backend asked us to go";
  if (action.retry_after_ms) ended_.retry_after = std::chrono::milliseconds(*action.retry_after_ms);
  ended_.alternatives = std::move(action.alternatives);
  outbox_.close(protocol::kCloseNormal, "");
}

void Manager::perform(at::StartTimer& action) {
  auto& timer = timers_[static_cast<std::size_t>(action.which)];
  timer.expires_after(std::chrono::milliseconds(action.ms));
  timer.async_wait([weak = weak_from_this(), which = action.which](const auto& failed) {
    const auto self = weak.lock();
    if (!failed && self) self->feed(at::TimerFired{which});
  });
}

void Manager::perform(at::ReadIdentityAgain&) {
  parts_.ask_source([weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->feed(at::IdentityRead{self->parts_.hello()});
  });
}

void Manager::perform(at::SetHeartbeat& action) {
  const auto& own = parts_.settings.in_use().heartbeat;
  socket_->set_heartbeat(own.value_or(std::chrono::seconds(action.seconds)));
}

void Manager::perform(at::SetMaxMessage& action) {
  socket_->set_max_message(std::min<std::uint64_t>(action.bytes, recipe::kLargestRecipe));
}

void Manager::perform(at::Log& action) {
  log(action.level == at::Log::Level::warning ? Level::warning
      : action.level == at::Log::Level::info  ? Level::info
                                              : Level::debug,
      action.text);
}

// ---- recipes and waits

void Manager::perform(at::TakeRecipe& action) {
  const std::string version = std::to_string(action.recipe.recipe_version);
  runtime::RecipeDecision decision = parts_.recipe.take(action.recipe);
  const bool is_taken = decision.command.has_value();
  if (is_taken)
    log(Level::info, "recipe version " + version + ": " + std::to_string(parts_.recipe.states()) + " states");
  const bool is_refused = !is_taken && !decision.problems.empty();
  carry_out(std::move(decision));
  if (is_refused) log(Level::warning, "recipe version " + version + " was refused");
  if (parts_.recipe.waiting_version())
    log(Level::info, "recipe version " + version + " waits for its modules");
  feed(parts_.recipe.in_force());
  parts_.modules.recipe_changed();
}

void Manager::recipe_changed() {
  feed(parts_.recipe.in_force());
}

void Manager::perform(at::MoveVersion& action) {
  runtime::RecipeDecision decision = parts_.recipe.move_version(action);
  log(Level::info,
      parts_.recipe.waiting_version()
          ? "version " + std::to_string(action.version) + " has other modules, and waits for them"
          : "the recipe goes on as version " + std::to_string(action.version));
  carry_out(std::move(decision));
  feed(parts_.recipe.in_force());
  parts_.modules.recipe_changed();
}

void Manager::perform(at::PlanRecipe& action) {
  protocol::PlanResult refused{.recipe_version = action.recipe.recipe_version};
  const auto& current = parts_.recipe.current();
  const std::string states = action.recipe.states ? action.recipe.states->text
                             : current            ? current->states
                                                  : "";
  if (states.empty()) {
    refused.errors = {"there is no recipe to plan"};
    return feed(at::PlanReady{action.re, std::move(refused)});
  }
  const bool is_current = !action.recipe.states;
  const recipe::Inputs inputs =
      is_current ? parts_.recipe.inputs_of(current->vars, current->tags, current->compat_v1)
                 : parts_.recipe.inputs_of(action.recipe.vars ? action.recipe.vars->text : "",
                                           action.recipe.tags, action.recipe.compat_v1);
  const recipe::ModuleSource source = parts_.recipe.source_of(action.recipe);
  if (const runtime::RecipeTypes* types = parts_.recipe.types_with(source))
    return plan(action.re, action.recipe.recipe_version, {states, inputs}, *types);
  const auto ready = [weak = weak_from_this(), re = action.re, planned = Planned{states, inputs},
                      refused](base::Result<runtime::RecipeTypes> types) mutable {
    const auto self = weak.lock();
    if (!self) return;
    if (types) return self->plan(re, refused.recipe_version, planned, *types);
    refused.errors = {types.error().message()};
    self->feed(at::PlanReady{re, std::move(refused)});
  };
  if (!parts_.modules.get(source, ready))
    refuse(std::move(action.re), "too many fetches of modules are waiting: try again later", true);
}

void Manager::plan(const std::string& re, std::int64_t version, const Planned& planned,
                   const runtime::RecipeTypes& types) {
  auto loaded = runtime::ActiveRecipe::load("plan", planned.states, types, planned.inputs);
  if (!loaded.recipe)
    return feed(at::PlanReady{re, {.recipe_version = version, .errors = std::move(loaded.problems)}});
  if (!parts_.worker.send_ad_hoc(engine::PlanRecipe{re, std::move(loaded.recipe), version}))
    refuse(re, kBusy, true);
}

void Manager::perform(at::WaitDone& action) {
  log(Level::info, "the backend says that '" + action.id + "' is done");
  carry_out(parts_.recipe.wait_done(action.version, action.id));
}

void Manager::perform(at::WaitsMissing& action) {
  for (const std::string& id : action.ids)
    log(Level::debug, "'" + id + "' is still to be waited for");
}

void Manager::carry_out(runtime::RecipeDecision decision) {
  for (const std::string& problem : decision.problems)
    log(decision.command ? Level::warning : Level::error, problem);
  for (protocol::RecipeStatus& status : decision.statuses)
    append(std::move(status));
  for (protocol::StateLog& result : decision.results)
    append(std::move(result));
  if (decision.command) send_to_worker(std::move(*decision.command));
}

// ---- reports

void Manager::perform(at::ReadReports& action) {
  constexpr std::size_t kMostBytes = 4 * 1024 * 1024;
  at::ReportsRead read;
  for (const reports::SpoolRecord& record :
       parts_.spool.read_after(action.after, action.how_many, kMostBytes)) {
    auto body = reports::from_payload(record.payload);
    read.through = record.seq;
    if (body)
      read.reports.push_back({record.seq, std::move(*body)});
    else
      log(Level::warning, body.error().message());
  }
  for (const std::string& problem : parts_.spool.take_problems())
    log(Level::warning, problem);
  feed(std::move(read));
}

void Manager::perform(at::AcknowledgeReports& action) {
  parts_.spool.acknowledge(action.seq);
}

// This state folder was put back from a copy: its numbers have been used for other reports. With a name of
// their own they are new again.
void Manager::perform(at::ResetReportStream&) {
  if (auto renewed = parts_.spool.renew_uid(); !renewed) log(Level::error, renewed.error().message());
  close("the reports got a new owner");
}

void Manager::perform(at::KeepHistory& action) {
  if (auto kept = parts_.history.keep(std::move(action.history)); !kept)
    log(Level::warning, kept.error().message());
}

void Manager::perform(at::ReportChangesOnly& action) {
  parts_.reports.set_changes_only(action.on);
}

void Manager::append(protocol::AgentBody report) {
  const reports::Spool::Entry entry = reports::to_entry(std::move(report));
  if (auto appended = parts_.spool.append({&entry, 1}); !appended)
    return log(Level::error, appended.error().message());
  parts_.spooled();
}

// ---- what goes beyond the recipe

bool Manager::may(std::string_view what) const {
  return std::ranges::find(parts_.allow, what) != parts_.allow.end();
}

void Manager::refuse(std::string re, std::string error, bool retryable) {
  log(Level::warning, "refused: " + error);
  feed(at::RequestRefused{std::move(re), parts_.redactor.redact(error), retryable});
}

void Manager::perform(at::NoteCommand& action) {
  feed(at::CommandNoted{parts_.commands.take(action.key, action.until, action.must_last)});
}

void Manager::perform(at::RunState& action) {
  if (!may("run"))
    return refuse(std::move(action.re), "this agent's configuration does not allow 'run' (option 'allow')");
  if (const std::string why = parts_.holds.refusal(); !why.empty())
    return refuse(std::move(action.re), why + ": nothing is run");
  auto loaded = parts_.recipe.load("run", "[" + action.run.state.text + "]");
  if (!loaded.recipe) {
    std::string text;
    for (const std::string& problem : loaded.problems)
      text += (text.empty() ? "" : "; ") + problem;
    return refuse(std::move(action.re), std::move(text));
  }
  std::shared_ptr<const recipe::Recipe> recipe = std::move(loaded.recipe);
  if (recipe->states().size() != 1 || recipe->states().front().type->name() == "meta.wait")
    return refuse(std::move(action.re), "one state that does not wait is expected");
  const std::string id(recipe->states().front().id);
  if (!parts_.worker.send_ad_hoc(engine::RunState{action.run.run_id, std::move(recipe)}))
    return refuse(std::move(action.re), kBusy, true);
  log(Level::info, "running '" + id + "' as the backend asked");
  feed(at::RequestDone{std::move(action.re)});
}

void Manager::perform(at::CancelRun& action) {
  if (!may("run"))
    return refuse(std::move(action.re), "this agent's configuration does not allow 'run' (option 'allow')");
  send_to_worker(engine::CancelRun{action.cancel.run_id});
  feed(at::RequestDone{std::move(action.re)});
}

void Manager::perform(at::AnswerQuery& action) {
  if (action.query.kind == "facts") return feed(at::QueryAnswered{action.re, {.data = {parts_.facts.json}}});
  if (!runtime::is_query_allowed(action.query.kind, parts_.allow))
    return refuse(std::move(action.re), "this agent's configuration does not allow queries of the kind '" +
                                            action.query.kind + "' (option 'allow')");
  runtime::QueryRequest request{action.query.kind, action.query.args.text, action.query.limit};
  const auto answer = [weak = weak_from_this(), executor = socket_->executor(), request = std::move(request),
                       re = action.re, &redactor = parts_.redactor](base::Interrupt& interrupt) {
    auto answered = runtime::answer_query(request, redactor, interrupt);
    transport::asio::post(executor, [weak, re, answered = std::move(answered)]() mutable {
      const auto self = weak.lock();
      if (!self) return;
      if (answered)
        self->feed(at::QueryAnswered{re, {.data = {std::move(answered->data)}, .more = answered->more}});
      else
        self->refuse(re, answered.error().message());
    });
  };
  if (!parts_.background.submit(answer)) refuse(std::move(action.re), "too many queries at once", true);
}

void Manager::perform(at::TrySettings& action) {
  if (action.settings.ws_uris.size() > runtime::kMostNamedUris)
    return refuse(std::move(action.re),
                  "at most " + std::to_string(runtime::kMostNamedUris) + " addresses are accepted");
  for (const std::string& uri : action.settings.ws_uris)
    if (auto why = parts_.refuse_uri(uri))
      return refuse(std::move(action.re), uri.substr(0, kLongestUriInAnswer) + ": " + *why);
  runtime::RemoteSettings candidate{.ws_uris = action.settings.ws_uris};
  constexpr std::int64_t kLongestDelay = 30LL * 24 * 3600;
  if (const auto delay = action.settings.round_delay_s) {
    if (*delay < 1 || *delay > kLongestDelay)
      return refuse(std::move(action.re), "round_delay_s is out of range");
    candidate.round_delay = std::chrono::seconds(*delay);
  }
  if (const auto heartbeat = action.settings.heartbeat_s) {
    constexpr int kShortest = 5, kLongest = 3600;
    if (*heartbeat < kShortest || *heartbeat > kLongest)
      return refuse(std::move(action.re), "heartbeat_s is out of range");
    candidate.heartbeat = std::chrono::seconds(*heartbeat);
  }
  if (auto proposed = parts_.settings.propose(std::move(candidate)); !proposed)
    return refuse(std::move(action.re), proposed.error().message());
  log(Level::info, "new settings from the backend: trying them");
  feed(at::RequestDone{std::move(action.re)});
  ended_.has_new_settings = true;
  close("trying new settings");
}

// What nobody waits for an answer to is only done.
void Manager::answer(const std::string& re, const base::Result<void>& done) {
  if (re.empty()) return;
  if (done)
    feed(at::RequestDone{re});
  else
    refuse(re, done.error().message());
}

void Manager::perform(at::TakeHold& action) {
  using runtime::HoldOrigin;
  const protocol::Hold& asked = action.hold;
  if (!asked.on) {
    const auto released = parts_.holds.release(HoldOrigin::backend);
    return answer(action.re, released ? base::Result<void>() : base::Result<void>(released.error()));
  }
  if (auto wrong = runtime::MachineHolds::problem_of(asked.by, asked.reason, asked.left_s); !wrong.empty())
    return answer(action.re, base::Error(base::ErrorCode::invalid, std::move(wrong)));
  answer(action.re, parts_.holds.set({.origin = HoldOrigin::backend,
                                      .by = asked.by,
                                      .reason = asked.reason,
                                      .since = std::chrono::system_clock::now(),
                                      .left = std::chrono::seconds(asked.left_s)},
                                     asked.is_now));
}

void Manager::perform(at::BeginRound& action) {
  if (!parts_.recipe.current()) return refuse(std::move(action.re), "there is no recipe to begin a round of");
  const auto begun = parts_.holds.begin_round();
  if (begun) log(Level::info, "a round begins now, as the backend asked");
  answer(action.re, begun);
}

void Manager::perform(at::ConfirmSettings&) {
  ended_.was_welcomed = true;
  parts_.welcomed();
  if (!parts_.settings.has_candidate()) return;
  if (auto confirmed = parts_.settings.confirm(); !confirmed)
    return log(Level::warning, confirmed.error().message());
  log(Level::info, "the new settings work and are kept");
  if (const auto delay = parts_.settings.in_use().round_delay) send_to_worker(engine::SetRoundDelay{*delay});
}

void Manager::perform(at::UpdateAsked& action) {
  parts_.update_asked(action.update);
}

void Manager::perform(at::CertificateIssued& action) {
  const base::Result<void> kept = parts_.certificate_issued(action.certificate);
  if (action.re.empty()) return;
  if (kept)
    feed(at::RequestDone{std::move(action.re)});
  else
    feed(at::RequestRefused{std::move(action.re), kept.error().message()});
}

void Manager::perform(at::TrustAuthorities& action) {
  const base::Result<void> trusted = parts_.trust_authorities(action.authorities);
  if (trusted)
    feed(at::RequestDone{std::move(action.re)});
  else
    refuse(std::move(action.re), trusted.error().message());
}

void Manager::perform(at::ReadFacts&) {
  feed(at::FactsChanged{.hash = parts_.facts.hash, .full = protocol::Json{parts_.facts.json}});
}

void Manager::perform(at::WatchOutput& action) {
  if (action.on)
    ++watchers_;
  else if (action.run_id.empty() && action.id.empty())
    watchers_ = 0;
  else if (watchers_ > 0)
    --watchers_;
}

void Manager::send_to_worker(engine::Command command) {
  if (parts_.worker.send(std::move(command))) return;
  if (ended_.why.empty()) ended_.why = "the backend sends faster than the worker can take it";
  socket_->abort();
}

}  // namespace agent::connection

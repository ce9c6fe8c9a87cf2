#include "agent/updater/updater.hpp"

#include <array>
#include <filesystem>

#include "agent/reports/encoding.hpp"
#include "agent/updater/request_rules.hpp"
#include "base/files/durable_file.hpp"
#include "base/text.hpp"

namespace agent::updater {

using update::Action;
using update::Event;
using update::Phase;
using update::Record;

namespace {

// What could not be written is tried again: a full disk is not the end of an update.
constexpr std::chrono::seconds kAgain{5};
constexpr std::chrono::seconds kAgainOnTrial{1};  // there is a deadline
// An interrupted drain is not repeated in a circle.
constexpr std::chrono::seconds kDrainAgain{2};

std::string report_name(const Record& record, std::string_view phase) {
  return "update/" + record.action_id + "/" + std::string(phase);
}

}  // namespace

std::string own_version_folder(const std::string& prefix) {
  namespace fs = std::filesystem;
  std::error_code failed;
  const fs::path program = fs::read_symlink("/proc/self/exe", failed);
  const fs::path folder = program.parent_path().parent_path();
  const std::string name = folder.filename().string();
  if (failed || !update::Layout::is_name(name)) return "";
  const bool is_ours = fs::equivalent(folder, update::Layout(prefix).version_folder(name), failed);
  return is_ours && !failed ? name : "";
}

Updater::Updater(transport::Loop& loop, Settings settings, reports::Spool& spool, Hooks hooks)
    : loop_(loop),
      settings_(std::move(settings)),
      layout_(settings_.prefix),
      own_(own_version_folder(settings_.prefix)),
      spool_(spool),
      hooks_(std::move(hooks)),
      timers_{transport::asio::steady_timer(loop), transport::asio::steady_timer(loop),
              transport::asio::steady_timer(loop), transport::asio::steady_timer(loop),
              transport::asio::steady_timer(loop)} {}

void Updater::start(const std::string& problem) {
  auto read = update::read_journal(settings_.state_dir);
  if (!read) return log(Level::warning, read.error().message() + "; going on without it");
  const auto current = layout_.current();
  update::Step first =
      update::start(*read, {.own = own_, .current = current ? *current : "", .problem = problem});
  if (*read && !is_closed((*read)->phase))
    log(Level::info,
        "an update to " + (*read)->version + " is under way: " + std::string(name_of((*read)->phase)));
  progress_ = std::move(first.next);
  perform(first.actions);
}

// ---- requests

void Updater::ask(const protocol::AgentUpdate& update) {
  using Kind = RequestDecision::Kind;
  const RequestDecision decision = decide_request(progress_, update, settings_, own_);
  switch (decision.kind) {
    case Kind::ignore:
      return log_repeated(update);
    case Kind::repeat:
      log_repeated(update);
      if (!is_answer_on_its_way()) report(noted().phase, "");
      return;
    case Kind::refuse:
      return answer(update, Phase::refused, decision.why);
    case Kind::confirm:
      return answer(update, Phase::confirmed, decision.why);
    case Kind::begin:
      return begin(update);
  }
}

void Updater::log_repeated(const protocol::AgentUpdate& update) const {
  log(Level::debug, "the backend repeats its request for an update to " + base::quote_of(update.version));
}

// The backend repeats what it has no answer to when we connect, and the answer is among the reports that it
// is about to get: twice would be once too often.
bool Updater::is_answer_on_its_way() const {
  return spool_.knows(report_name(noted(), name_of(noted().phase))) &&
         spool_.acknowledged() < told_seq_.value_or(spool_.last_seq());
}

// Answered without a record: what is on disk about another update stays.
void Updater::answer(const protocol::AgentUpdate& update, Phase phase, const std::string& why) {
  const bool is_good = phase == Phase::confirmed;
  log(is_good ? Level::info : Level::warning,
      "an update to " + base::quote_of(update.version) + " is " + std::string(name_of(phase)) + ": " + why);
  if (update.action_id.empty()) return;  // version 1 has no word for an answer
  reports::Spool::Entry entry = reports::to_entry(protocol::UpdateStatus{
      .action_id = update.action_id, .version = update.version, .phase = phase, .error = is_good ? "" : why});
  const std::string key = "update/" + update.action_id + "/" + std::string(name_of(phase));
  // Who asks again though the answer has arrived has lost it.
  const bool was_lost = spool_.knows(key) && spool_.acknowledged() >= spool_.last_seq();
  if (!was_lost) entry.key = key;
  if (auto appended = spool_.append({&entry, 1}); !appended)
    return log(Level::error, appended.error().message());
  hooks_.spooled();
}

void Updater::begin(const protocol::AgentUpdate& update) {
  log(Level::info, "the backend asks for an update to " + base::quote_of(update.version));
  // What is noted about the update before may be all that leads away from a bad version.
  if (auto held = try_point_current_at_self(); !held)
    return answer(update, Phase::failed, held.error().message());
  told_seq_.reset();
  request_ = update;
  feed({.event = Event::asked,
        .record = Record{.action_id = update.action_id,
                         .version = update.version,
                         .from = own_,
                         .deadline = settings_.deadline()}});
}

// ---- the table

// Actions may cause events; they are taken in the order in which they happen.
void Updater::feed(update::Input input) {
  inputs_.push_back(std::move(input));
  if (is_stepping_) return;
  perform(update::Actions{});
}

void Updater::perform(const update::Actions& actions) {
  is_stepping_ = true;
  for (const Action action : actions)
    perform(action);
  while (!inputs_.empty()) {
    const update::Input next = std::move(inputs_.front());
    inputs_.pop_front();
    auto taken = step(progress_, next);
    if (!taken) {
      const std::string where = progress_.record ? std::string(name_of(noted().phase)) : "none";
      log(Level::error, "the update does not expect this in the phase " + where);
      continue;
    }
    progress_ = std::move(taken->next);
    for (const Action action : taken->actions)
      perform(action);
  }
  is_stepping_ = false;
}

void Updater::end_step(const StepFailure& failure) {
  feed({.event = failure.event, .why = update::Why{failure.reason, failure.retryable}});
}

void Updater::perform(Action action) {
  switch (action) {
    case Action::write_journal:
      return write_pending();
    case Action::write_note:
      return write_note();
    case Action::restore_journal:
      return restore_journal();
    case Action::check_journal:
      return check_journal();
    case Action::report:
      return (void)report(noted().phase, report_name(noted(), name_of(noted().phase)));
    case Action::report_closing:
      return report_closing();
    case Action::answer_failure:
      return answer(*request_, Phase::failed, "the update journal cannot be written");
    case Action::read_documents:
      return read_documents();
    case Action::download:
      return download();
    case Action::verify:
      return verify();
    case Action::adopt:
      return adopt();
    case Action::check_version:
      return check_version();
    case Action::drain:
      return hooks_.drain();
    case Action::switch_current:
      return switch_current();
    case Action::leave:
      return feed(Event::left);
    case Action::test_itself:
      return test_itself();
    case Action::give_up:
      log(Level::error, "version " + noted().version + " cannot stay: " + noted().reason);
      return hooks_.drain();
    case Action::raise_floor:
      return raise_floor();
    case Action::restore_current:
      return restore_current();
    case Action::clean:
      return clean();
    case Action::wait_to_begin:
      return wait_to_begin();
    case Action::wait_to_drain:
      return start_timer(Timer::pause, kDrainAgain, Event::drain_due);
    case Action::wait_to_retry:
      return start_timer(Timer::pause, kAgain, Event::retry_due);
    case Action::wait_to_retry_soon:
      return start_timer(Timer::pause, kAgainOnTrial, Event::retry_due);
    case Action::wait_for_trial:
      return watch_trial();
    case Action::wait_to_report:
      return start_timer(Timer::report, kAgain, Event::report_due);
    case Action::wait_to_raise_floor:
      return start_timer(Timer::floor, kAgain, Event::floor_due);
    case Action::wait_to_restore_current:
      return start_timer(Timer::current, kAgain, Event::current_due);
  }
}

// One of each kind; starting it again moves it.
void Updater::start_timer(Timer which, std::chrono::steady_clock::duration time, Event event) {
  transport::asio::steady_timer& timer = timers_[static_cast<std::size_t>(which)];
  timer.expires_after(time);
  timer.async_wait([this, event](const auto& failed) {
    if (!failed) feed(event);
  });
}

bool Updater::drained() {
  const auto is_draining = [this] { return progress_.record && noted().phase == Phase::draining; };
  if (is_draining()) feed(Event::drained);
  return progress_.record && !is_draining();
}

// ---- what lasts

base::Result<void> Updater::write(const Record& record) {
  return update::write_journal(settings_.state_dir, record);
}

void Updater::write_pending() {
  const auto written = write(progress_.pending->record);
  if (!written) log(Level::error, written.error().message());
  feed(written ? Event::written : Event::not_written);
}

void Updater::write_note() {
  const auto written = write(noted());
  if (!written) log(progress_.is_giving_up ? Level::error : Level::warning, written.error().message());
}

void Updater::restore_journal() {
  if (progress_.record)
    (void)write(noted());
  else
    (void)base::remove_lasting_file(update::journal_path(settings_.state_dir));
}

void Updater::check_journal() {
  const auto written = write(noted());
  if (!written) log(Level::error, written.error().message());
  feed(written ? Event::journal_works : Event::journal_fails);
}

// True: it is in the spool, or nobody wants to know.
bool Updater::report(Phase phase, const std::string& key, std::optional<double> progress) {
  if (noted().action_id.empty()) return true;
  protocol::UpdateStatus status{
      .action_id = noted().action_id, .version = noted().version, .phase = phase, .progress = progress};
  if (is_closed(phase) && phase != Phase::confirmed) status.error = noted().reason;
  reports::Spool::Entry entry = reports::to_entry(std::move(status));
  entry.key = key;
  if (auto appended = spool_.append({&entry, 1}); !appended) {
    log(Level::error, appended.error().message());
    return false;
  }
  hooks_.spooled();
  return true;
}

// Once: the record says when it is in the spool, the spool's key bridges a kill between.
void Updater::report_closing() {
  const bool is_good = noted().phase == Phase::confirmed;
  log(is_good ? Level::info : Level::warning, "the update to " + noted().version + " is " +
                                                  std::string(name_of(noted().phase)) +
                                                  (noted().reason.empty() ? "" : ": " + noted().reason));
  const bool is_reported = report(noted().phase, report_name(noted(), name_of(noted().phase)));
  if (is_reported) told_seq_ = spool_.last_seq();
  feed(is_reported ? Event::reported : Event::not_reported);
}

}  // namespace agent::updater

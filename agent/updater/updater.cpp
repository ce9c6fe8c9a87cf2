#include "agent/updater/updater.hpp"

#include <array>
#include <filesystem>

#include "agent/reports/encoding.hpp"
#include "base/durable_file.hpp"
#include "release/documents.hpp"

namespace agent::updater {

using update::Event;
using update::Phase;
using update::Record;
using update::Todo;

namespace {

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
      delay_(loop),
      trial_(loop),
      telling_(loop),
      raising_(loop),
      placing_(loop) {}

void Updater::start(const std::string& problem) {
  auto read = update::read_journal(settings_.state_dir);
  if (!read) return log(Level::warning, read.error().message() + "; going on without it");
  record_ = std::move(*read);
  if (!record_ || (is_closed(record_->phase) && record_->phase != Phase::confirmed)) clean();
  if (!record_) return;
  const bool is_new = !own_.empty() && own_ == record_->to;
  if (is_way_back_open()) point_current_at_self();
  if (!problem.empty() && is_new && is_on_trial(*record_)) return give_up(problem);
  if (!is_closed(record_->phase))
    log(Level::info,
        "an update to " + record_->version + " is under way: " + std::string(name_of(record_->phase)));
  const StepFailure interrupted = interrupted_by_start(is_new);
  take(update::event_of_start(is_new), interrupted.reason.empty() ? nullptr : &interrupted);
}

// Noted as over, but `current` could not be led back: the launcher has started us by our own path.
bool Updater::is_way_back_open() const {
  const bool is_over = record_->phase == Phase::rolled_back || record_->phase == Phase::failed;
  const auto current = layout_.current();
  return is_over && !own_.empty() && own_ == record_->from && current && *current == record_->to;
}

// Why an update does not go on where this start finds it; no reason when it does.
StepFailure Updater::interrupted_by_start(bool is_new) {
  if (is_closed(record_->phase) || is_new == is_on_trial(*record_)) return {};
  if (is_new) return {.reason = "the new version was started before it was to be tried"};
  const auto current = layout_.current();
  const bool is_switched = current && *current == record_->to;
  if (is_switched && !own_.empty()) point_current_at_self();
  if (!is_switched && record_->attempts == 0) return {.reason = "interrupted before the switch"};
  // The launcher has started us instead, because it could not note the attempt.
  return {.reason = "the launcher could not write the update journal"};
}

// ---- requests

void Updater::ask(const protocol::AgentUpdate& update) {
  const bool is_under_way = record_ && !is_closed(record_->phase);
  if (record_ && !update.action_id.empty() && record_->action_id == update.action_id) {
    log(Level::debug, "the backend repeats its request for an update to " + update.version);
    if (!is_under_way && record_->is_reported && !is_answer_on_its_way()) report(record_->phase, "");
    return;
  }
  if (is_under_way && update.action_id.empty() && update.version == record_->version) return;
  if (auto why = why_not(update)) return answer(update, Phase::refused, *why);
  if (update.version == settings_.version)
    return answer(update, Phase::confirmed, "this version runs already");
  begin(update);
}

// The backend repeats what it has no answer to when we connect, and the answer is among the reports that it
// is about to get: twice would be once too often.
bool Updater::is_answer_on_its_way() const {
  return spool_.knows(report_name(*record_, name_of(record_->phase))) &&
         spool_.acknowledged() < told_seq_.value_or(spool_.last_seq());
}

std::optional<std::string> Updater::why_not(const protocol::AgentUpdate& update) const {
  if (record_ && !is_closed(record_->phase))
    return "an update is under way, to " + record_->version + ": ask again when it has ended";
  if (!release::is_version(update.version)) return "'" + update.version + "' is not a version";
  if (update.version == settings_.version) return std::nullopt;
  if (record_ && (!record_->is_reported || is_floor_due_))
    return "the update to " + record_->version + " is being closed: ask again in a moment";
  // A backend of version 1 repeats itself at every handshake: to it no version may be tried again.
  const bool may_repeat =
      record_ && record_->retryable && (record_->phase == Phase::failed || !update.action_id.empty());
  const bool is_bad = record_ && record_->version == update.version && !may_repeat &&
                      (record_->phase == Phase::rolled_back || record_->phase == Phase::failed);
  if (is_bad)
    return "this version was tried before (" + record_->reason +
           ") and is not tried again until another one is asked for";
  if (!settings_.is_launched)
    return "installed as a package or started by hand: update it the way it was installed";
  if (own_.empty())
    return "this program is not one of " + settings_.prefix +
           "/versions: set 'prefix' to where the agent is installed";
  if (settings_.release_base.empty())
    return "the agent's configuration has no release_base: set it to where releases are published";
  return std::nullopt;
}

// Answered without a record: what is on disk about another update stays.
void Updater::answer(const protocol::AgentUpdate& update, Phase phase, const std::string& why) {
  const bool is_good = phase == Phase::confirmed;
  log(is_good ? Level::info : Level::warning,
      "an update to " + update.version + " is " + std::string(name_of(phase)) + ": " + why);
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
  log(Level::info, "the backend asks for an update to " + update.version);
  // What is noted about the update before may be all that leads away from a bad version.
  if (auto held = try_point_current_at_self(); !held)
    return answer(update, Phase::failed, held.error().message());
  Record fresh{.phase = record_ ? record_->phase : Phase::confirmed,
               .action_id = update.action_id,
               .version = update.version,
               .from = own_,
               .deadline = settings_.deadline()};
  told_seq_.reset();
  const auto before = std::exchange(record_, std::move(fresh));
  take(Event::asked);
  if (record_->phase == Phase::requested) return;
  // Not even that could be written: as if nobody had asked.
  record_ = before;
  delay_.cancel();
  forget_request(before);
  answer(update, Phase::failed, "the update journal cannot be written");
}

// The write may have failed after the rename, and a restart would go on with what was answered as failed.
void Updater::forget_request(const std::optional<Record>& before) {
  if (before)
    (void)write(*before);
  else
    (void)base::remove_lasting_file(update::journal_path(settings_.state_dir));
}

// ---- the machine

void Updater::take(Event event, const StepFailure* why) {
  const auto next = step(record_->phase, event);
  if (!next)
    return log(Level::error,
               "the update does not expect this in the phase " + std::string(name_of(record_->phase)));
  Record changed = *record_;
  changed.phase = next->next;
  if (why) {
    changed.reason = why->reason;
    changed.retryable = why->retryable;
  }
  if (changed != *record_) {
    if (auto written = write(changed); !written) {
      log(Level::error, written.error().message());
      return again_later(event, why);
    }
    record_ = std::move(changed);
    if (!is_closed(record_->phase)) report(record_->phase, report_name(*record_, name_of(record_->phase)));
  }
  perform(next->todo);
}

void Updater::again_later(Event event, const StepFailure* why) {
  delay_.expires_after(record_->phase == Phase::trial ? kAgainOnTrial : kAgain);
  delay_.async_wait([this, event, kept = why ? std::optional(*why) : std::nullopt](const auto& failed) {
    if (!failed) take(event, kept ? &*kept : nullptr);
  });
}

void Updater::perform(Todo todo) {
  switch (todo) {
    case Todo::nothing:
      return;
    case Todo::acknowledge:
      return begin_after_delay();
    case Todo::read_documents:
      return read();
    case Todo::download:
      return download();
    case Todo::verify:
      return verify();
    case Todo::adopt:
      return adopt();
    case Todo::drain:
      return drain();
    case Todo::switch_current:
      return switch_current();
    case Todo::leave:
      return take(Event::left);
    case Todo::watch_health:
      return watch_health();
    case Todo::give_up:
      return hooks_.drain();
    case Todo::settle:
      return settle();
    case Todo::tell:
      return tell();
  }
}

bool Updater::drained() {
  if (record_ && record_->phase == Phase::draining) take(Event::drained);
  return record_ && record_->phase != Phase::draining;
}

// ---- what lasts

base::Result<void> Updater::write(const Record& record) {
  return update::write_journal(settings_.state_dir, record);
}

// True: it is in the spool, or nobody wants to know.
bool Updater::report(Phase phase, const std::string& key, std::optional<double> progress) {
  if (record_->action_id.empty()) return true;
  protocol::UpdateStatus status{
      .action_id = record_->action_id, .version = record_->version, .phase = phase, .progress = progress};
  if (is_closed(phase) && phase != Phase::confirmed) status.error = record_->reason;
  reports::Spool::Entry entry = reports::to_entry(std::move(status));
  entry.key = key;
  if (auto appended = spool_.append({&entry, 1}); !appended) {
    log(Level::error, appended.error().message());
    return false;
  }
  hooks_.spooled();
  return true;
}

// The closing report, once: the record says when it is in the spool, the spool's key bridges a kill between.
void Updater::tell() {
  if (record_->is_reported) return;
  const bool is_good = record_->phase == Phase::confirmed;
  log(is_good ? Level::info : Level::warning, "the update to " + record_->version + " is " +
                                                  std::string(name_of(record_->phase)) +
                                                  (record_->reason.empty() ? "" : ": " + record_->reason));
  Record told = *record_;
  told.is_reported = true;
  if (report(record_->phase, report_name(*record_, name_of(record_->phase))) && write(told)) {
    told_seq_ = spool_.last_seq();
    record_ = std::move(told);
    return;
  }
  telling_.expires_after(kAgain);
  telling_.async_wait([this](const auto& failed) {
    if (!failed) tell();
  });
}

}  // namespace agent::updater

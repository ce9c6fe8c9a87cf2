// What the updater does in each phase.
#include <random>

#include "agent/updater/trust_file.hpp"
#include "agent/updater/updater.hpp"
#include "base/file_read.hpp"

namespace agent::updater {

using update::Event;
using update::Phase;
using update::Record;

namespace {

// An interrupted drain is not repeated in a circle.
constexpr std::chrono::seconds kDrainAgain{2};
// Progress is reported in steps of so many per cent.
constexpr int kProgressStep = 25;
// Why a version on trial is not confirmed yet.
constexpr const char* kNotAccepted = "no backend has accepted it";
constexpr const char* kNotHealthy = "a backend has accepted it, but it did not stay healthy";

// Whom the system believes; none of the files: nobody.
std::string system_authorities() {
  constexpr std::size_t kLargest = 4 * 1024 * 1024;
  for (const char* path : {"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
                           "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"})
    if (auto text = base::read_file(path, kLargest)) return std::move(*text);
  return "";
}

std::string without_end_slash(std::string text) {
  while (text.size() > 1 && text.ends_with('/'))
    text.pop_back();
  return text;
}

// Versions that nobody will start again. One that was rolled back is no way back for anybody, and whoever
// asks for it again fetches it again.
void remove_versions(const update::Layout& layout, const Record& record, const std::string& own) {
  if (record.phase == Phase::confirmed && own == record.to) (void)layout.keep_only({record.from});
  if (record.phase != Phase::rolled_back || own != record.from || !update::Layout::is_name(record.to)) return;
  const auto current = layout.current();
  if (current && *current != record.to) (void)layout.discard(record.to);
}

}  // namespace

template <class T>
void Updater::run(std::function<Attempt<T>(base::Interrupt&)> job, std::function<void(T)> then) {
  const bool is_taken = work_.submit([this, job, then](base::Interrupt& interrupt) {
    auto done = std::make_shared<Attempt<T>>(job(interrupt));
    // What is posted to a loop that has ended never runs.
    transport::asio::post(loop_, [this, done, then] {
      if (const auto* stumble = std::get_if<StepFailure>(done.get())) {
        if (!stumble->is_interrupted) take(stumble->event, stumble);
      } else {
        then(std::get<T>(std::move(*done)));
      }
    });
  });
  if (is_taken) return;
  log(Level::warning, "the update's thread is busy: trying again");
  delay_.expires_after(kAgain);
  delay_.async_wait([this, job, then](const auto& failed) {
    if (!failed) run<T>(job, then);
  });
}

ReleaseSource Updater::source(base::Interrupt& interrupt, const std::string& authorities) const {
  transport::FetchOptions fetch{.proxies = settings_.proxies, .user_agent = "opsagent/" + settings_.version};
  if (settings_.release_base.starts_with("https://")) {
    auto tls = transport::TlsClient::make({.ca = authorities + "\n" + system_authorities()});
    // A bundle of the system's that cannot be read is no reason to distrust our own backend.
    if (!tls) tls = transport::TlsClient::make({.ca = authorities});
    if (tls) fetch.tls = std::move(*tls);
  }
  return ReleaseSource(without_end_slash(settings_.release_base), std::move(fetch), interrupt);
}

// A fleet that is told at once does not come at once.
void Updater::begin_after_delay() {
  std::random_device dice;
  std::uniform_int_distribution<std::int64_t> pick(
      0, std::chrono::duration_cast<std::chrono::milliseconds>(settings_.most_delay).count());
  delay_.expires_after(std::chrono::milliseconds(pick(dice)));
  delay_.async_wait([this](const auto& failed) {
    if (!failed) take(Event::begun);
  });
}

void Updater::read() {
  run<Candidate>(
      [this, version = record_->version, authorities = hooks_.authorities()](base::Interrupt& interrupt) {
        ReleaseSource from = source(interrupt, authorities);
        auto read = read_documents(settings_, from, version);
        if (auto* candidate = std::get_if<Candidate>(&read))
          distrust_installed(settings_, *candidate, own_, interrupt);
        return read;
      },
      [this](Candidate candidate) {
        record_->from = own_;
        record_->to = candidate.folder;
        record_->release = candidate.release;
        record_->sha256 = candidate.target.sha256;
        candidate_ = std::move(candidate);
        take(candidate_->is_installed ? Event::is_installed : Event::trusted);
      });
}

void Updater::download() {
  const auto tell_progress = [this, told = 0](int percent) mutable {
    const int reached = percent / kProgressStep * kProgressStep;
    if (reached <= told || reached >= 100) return;
    told = reached;
    transport::asio::post(loop_, [this, reached] {
      report(Phase::downloading, "update/" + record_->action_id + "/downloading/" + std::to_string(reached),
             reached / 100.0);
    });
  };
  run<std::monostate>(
      [this, candidate = *candidate_, authorities = hooks_.authorities(),
       tell_progress](base::Interrupt& interrupt) {
        ReleaseSource from = source(interrupt, authorities);
        return fetch_archive(settings_, from, candidate, tell_progress);
      },
      [this](std::monostate) { take(Event::downloaded); });
}

void Updater::verify() {
  run<std::monostate>(
      [this, candidate = *candidate_](base::Interrupt& interrupt) {
        return verify_archive(settings_, candidate, interrupt);
      },
      [this](std::monostate) { take(Event::verified); });
}

void Updater::adopt() {
  run<std::monostate>(
      [this, candidate = *candidate_](base::Interrupt&) { return adopt_version(settings_, candidate); },
      [this](std::monostate) { take(Event::adopted); });
}

void Updater::drain() {
  const bool is_resumed = !candidate_;
  if (is_resumed && !layout_.is_complete(record_->to)) {
    const StepFailure gone{.reason = layout_.version_folder(record_->to) + " is not there any more"};
    return take(Event::failed, &gone);
  }
  // The record is written once more, as it is: a worker that has stopped for an update which cannot be noted
  // has stopped for nothing.
  const auto writable = write(*record_);
  if (!writable) log(Level::error, writable.error().message());
  if (writable && !is_resumed) return hooks_.drain();
  delay_.expires_after(writable ? kDrainAgain : kAgain);
  delay_.async_wait([this, is_writable = static_cast<bool>(writable)](const auto& failed) {
    if (failed) return;
    if (is_writable)
      hooks_.drain();
    else
      drain();
  });
}

void Updater::switch_current() {
  if (auto switched = layout_.switch_to(record_->to); !switched) {
    const StepFailure why = failed(switched.error());
    // It may have failed after the rename. If `current` cannot be made to lead back, the record stays armed,
    // and the launcher judges by what it finds.
    if (auto back = try_point_current_at_self(); back) return take(Event::failed, &why);
    return log(Level::error, why.reason);
  }
  log(Level::info, "version " + record_->version + " is to be tried");
  take(Event::current_switched);
}

// ---- the trial

void Updater::watch_health() {
  report(Phase::trial, "update/" + record_->action_id + "/trial");
  log(Level::info,
      "version " + record_->version + " is on trial, attempt " + std::to_string(record_->attempts));
  // As long as it was promised to be when the trial was armed: the settings may have changed since.
  const auto promised = record_->deadline / kDeadlines;
  trial_.expires_after(std::min<std::chrono::steady_clock::duration>(settings_.trial, promised));
  trial_.async_wait([this](const auto& failed) {
    if (failed) return;
    is_old_enough_ = true;
    consider_health();
  });
  test_itself();
}

// A machine that is too busy says nothing about the version: that is tried again until the deadline.
void Updater::test_itself() {
  using Verdict = base::Result<void>;
  run<Verdict>(
      [this](base::Interrupt& interrupt) -> Attempt<Verdict> {
        Verdict verdict = run_self_test(settings_, layout_.version_folder(own_), interrupt);
        if (!verdict && verdict.error().code() == base::ErrorCode::cancelled) return failed(verdict.error());
        return verdict;
      },
      [this](Verdict verdict) {
        if (!verdict && verdict.error().code() == base::ErrorCode::timed_out) {
          note_waiting(true, verdict.error().message());
          return test_itself();
        }
        if (!verdict) return give_up(verdict.error().message());
        is_self_tested_ = true;
        // Should it never be welcomed, that is nothing against this version.
        note_waiting(!is_welcomed_, is_welcomed_ ? kNotHealthy : kNotAccepted);
        consider_health();
      });
}

void Updater::welcomed() {
  // From now on there is no excuse.
  if (!is_welcomed_ && record_ && record_->phase == Phase::trial && !is_giving_up_)
    note_waiting(false, kNotHealthy);
  is_welcomed_ = true;
  consider_health();
}

// What the launcher says of this version, should it take the way back.
void Updater::note_waiting(bool retryable, std::string reason) {
  record_->retryable = retryable;
  record_->reason = std::move(reason);
  if (auto written = write(*record_); !written) log(Level::warning, written.error().message());
}

void Updater::consider_health() {
  if (!record_ || record_->phase != Phase::trial || is_giving_up_) return;
  if (!is_welcomed_ || !is_self_tested_ || !is_old_enough_) return;
  const StepFailure none{.reason = ""};
  take(Event::healthy, &none);
}

// The launcher takes the way back at once when it finds this.
void Updater::give_up(std::string reason) {
  log(Level::error, "version " + record_->version + " cannot stay: " + reason);
  is_giving_up_ = true;
  record_->phase = Phase::trial;
  record_->attempts = update::kGivenUp;
  record_->retryable = false;
  record_->reason = std::move(reason);
  if (auto written = write(*record_); !written) log(Level::error, written.error().message());
  take(Event::unhealthy);
}

// Floor, report, cleaning; each does nothing when it was done before.
void Updater::settle() {
  raise();
  tell();
  clean();
}

void Updater::raise() {
  is_floor_due_ = false;
  if (record_->release == 0) return;
  const auto raised = raise_floor(settings_.state_dir, record_->release);
  if (raised) return;
  log(Level::error, raised.error().message());
  is_floor_due_ = true;
  raising_.expires_after(kAgain);
  raising_.async_wait([this](const auto& failed) {
    if (!failed) raise();
  });
}

// `current` leads to the version that runs: the way back, whatever is noted next.
base::Result<void> Updater::try_point_current_at_self() const {
  const auto leads_here = [this] {
    const auto current = layout_.current();
    return current && *current == own_;
  };
  if (leads_here()) return {};
  auto switched = layout_.switch_to(own_);
  if (leads_here()) return {};
  return switched;
}

// The same, for as long as it takes. Until then the launcher would do it, should it start anew, and no other
// update begins.
void Updater::point_current_at_self() {
  const auto held = try_point_current_at_self();
  if (held) return;
  log(Level::error, held.error().message());
  placing_.expires_after(kAgain);
  placing_.async_wait([this](const auto& failed) {
    if (!failed) point_current_at_self();
  });
}

// Step 13, on the thread that may block; what cannot be removed now is removed another time.
void Updater::clean() {
  if (own_.empty()) return;
  work_.submit([layout = layout_, record = record_, own = own_](base::Interrupt&) {
    // Whoever installs by hand has something in staging/, or is about to make it current.
    const auto lock = layout.lock(std::chrono::milliseconds(0));
    if (!lock) return;
    if (record) remove_versions(layout, *record, own);
    (void)layout.sweep_staging();
  });
}

}  // namespace agent::updater

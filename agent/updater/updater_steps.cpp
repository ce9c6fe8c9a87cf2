// What the updater does in each phase: one function per action of the table.
#include <random>

#include "agent/updater/trust_file.hpp"
#include "agent/updater/updater.hpp"
#include "base/files/file_read.hpp"
#include "transport/client/web_file.hpp"

namespace agent::updater {

using update::Action;
using update::Event;
using update::Phase;
using update::Record;

namespace {

// Progress is reported in steps of so many per cent.
constexpr int kProgressStep = 25;

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

// `action`: the one that this is, which is performed again when the thread is busy.
template <class T>
void Updater::run(Action action, std::function<Attempt<T>(base::Interrupt&)> job,
                  std::function<void(T)> then) {
  const bool is_taken = work_.submit([this, job, then](base::Interrupt& interrupt) {
    auto done = std::make_shared<Attempt<T>>(job(interrupt));
    // What is posted to a loop that has ended never runs.
    transport::asio::post(loop_, [this, done, then] {
      if (const auto* failure = std::get_if<StepFailure>(done.get())) {
        if (!failure->is_interrupted) end_step(*failure);
      } else {
        then(std::get<T>(std::move(*done)));
      }
    });
  });
  if (is_taken) return;
  log(Level::warning, "the update's thread is busy: trying again");
  feed({.event = Event::thread_busy, .busy = action});
}

ReleaseSource Updater::source(base::Interrupt& interrupt, const std::string& authorities) const {
  transport::FetchOptions fetch{.proxies = settings_.proxies, .user_agent = "opsagent/" + settings_.version};
  if (settings_.release_base.starts_with("https://")) {
    auto tls = transport::TlsClient::make({.ca = authorities + "\n" + transport::system_authorities()});
    // A bundle of the system's that cannot be read is no reason to distrust our own backend.
    if (!tls) tls = transport::TlsClient::make({.ca = authorities});
    if (tls) fetch.tls = std::move(*tls);
  }
  return ReleaseSource(without_end_slash(settings_.release_base), std::move(fetch), interrupt);
}

// A fleet that is told at once does not come at once.
void Updater::wait_to_begin() {
  std::random_device dice;
  std::uniform_int_distribution<std::int64_t> pick(
      0, std::chrono::duration_cast<std::chrono::milliseconds>(settings_.most_delay).count());
  start_timer(Timer::pause, std::chrono::milliseconds(pick(dice)), Event::begun);
}

void Updater::read_documents() {
  run<Candidate>(
      Action::read_documents,
      [this, version = noted().version, authorities = hooks_.authorities()](base::Interrupt& interrupt) {
        ReleaseSource from = source(interrupt, authorities);
        auto read = updater::read_documents(settings_, from, version);
        if (auto* candidate = std::get_if<Candidate>(&read))
          distrust_installed(settings_, *candidate, own_, interrupt);
        return read;
      },
      [this](Candidate candidate) {
        Record found = noted();
        found.from = own_;
        found.to = candidate.folder;
        found.release = candidate.release;
        found.sha256 = candidate.target.sha256;
        candidate_ = std::move(candidate);
        feed({.event = candidate_->is_installed ? Event::is_installed : Event::trusted,
              .record = std::move(found)});
      });
}

void Updater::download() {
  const auto tell_progress = [this, told = 0](int percent) mutable {
    const int reached = percent / kProgressStep * kProgressStep;
    if (reached <= told || reached >= 100) return;
    told = reached;
    transport::asio::post(loop_, [this, reached] {
      report(Phase::downloading, "update/" + noted().action_id + "/downloading/" + std::to_string(reached),
             reached / 100.0);
    });
  };
  run<std::monostate>(
      Action::download,
      [this, candidate = *candidate_, authorities = hooks_.authorities(),
       tell_progress](base::Interrupt& interrupt) {
        ReleaseSource from = source(interrupt, authorities);
        return fetch_archive(settings_, from, candidate, tell_progress);
      },
      [this](std::monostate) { feed(Event::downloaded); });
}

void Updater::verify() {
  run<std::monostate>(
      Action::verify,
      [this, candidate = *candidate_](base::Interrupt& interrupt) {
        return verify_archive(settings_, candidate, interrupt);
      },
      [this](std::monostate) { feed(Event::verified); });
}

void Updater::adopt() {
  run<std::monostate>(
      Action::adopt,
      [this, candidate = *candidate_](base::Interrupt&) { return adopt_version(settings_, candidate); },
      [this](std::monostate) { feed(Event::adopted); });
}

void Updater::check_version() {
  if (layout_.is_complete(noted().to)) return feed(Event::version_found);
  end_step({.reason = layout_.version_folder(noted().to) + " is not there any more"});
}

void Updater::switch_current() {
  if (auto switched = layout_.switch_to(noted().to); !switched) {
    const StepFailure why = failed(switched.error());
    // It may have failed after the rename.
    if (auto back = try_point_current_at_self(); back) return end_step(why);
    log(Level::error, why.reason);
    return feed(Event::switch_unclear);
  }
  log(Level::info, "version " + noted().version + " is to be tried");
  feed(Event::current_switched);
}

// ---- the trial

void Updater::watch_trial() {
  log(Level::info,
      "version " + noted().version + " is on trial, attempt " + std::to_string(noted().attempts));
  // As long as it was promised to be when the trial was armed: the settings may have changed since.
  const auto promised = noted().deadline / kDeadlines;
  start_timer(Timer::trial, std::min<std::chrono::steady_clock::duration>(settings_.trial, promised),
              Event::trial_over);
}

void Updater::test_itself() {
  using Verdict = base::Result<void>;
  run<Verdict>(
      Action::test_itself,
      [this](base::Interrupt& interrupt) -> Attempt<Verdict> {
        Verdict verdict = run_self_test(settings_, layout_.version_folder(own_), interrupt);
        if (!verdict && verdict.error().code() == base::ErrorCode::cancelled) return failed(verdict.error());
        return verdict;
      },
      [this](Verdict verdict) {
        if (verdict) return feed(Event::self_tested);
        const bool is_late = verdict.error().code() == base::ErrorCode::timed_out;
        feed({.event = is_late ? Event::self_test_timed_out : Event::unhealthy,
              .why = update::Why{.reason = verdict.error().message()}});
      });
}

void Updater::welcomed() {
  feed(Event::welcomed);
}

// ---- how an update is closed

void Updater::raise_floor() {
  const auto raised = updater::raise_floor(settings_.state_dir, noted().release);
  if (!raised) log(Level::error, raised.error().message());
  feed(raised ? Event::floor_raised : Event::floor_not_raised);
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
void Updater::restore_current() {
  const auto held = try_point_current_at_self();
  if (!held) log(Level::error, held.error().message());
  feed(held ? Event::current_restored : Event::current_not_restored);
}

// Step 13, on the thread that may block; what cannot be removed now is removed another time.
void Updater::clean() {
  if (own_.empty()) return;
  work_.submit([layout = layout_, record = progress_.record, own = own_](base::Interrupt&) {
    // Whoever installs by hand has something in staging/, or is about to make it current.
    const auto lock = layout.lock(std::chrono::milliseconds(0));
    if (!lock) return;
    if (record) remove_versions(layout, *record, own);
    (void)layout.sweep_staging();
  });
}

}  // namespace agent::updater

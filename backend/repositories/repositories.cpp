#include "backend/repositories/repositories.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>

#include "base/interrupt.hpp"
#include "base/text.hpp"
#include "base/unique_fd.hpp"

namespace backend::repositories {

using ::modules::fetch::FetchTrouble;
using protocol::ModuleSource;
using std::chrono::seconds;
using std::chrono::steady_clock;

namespace {

constexpr std::size_t kMostKept = 16;     // commits in memory; a set of modules takes some 100 KiB
constexpr std::size_t kMostRecent = 200;  // answers
constexpr std::size_t kMostWaiting = 64;  // fetches, of all askers
// Who has waited so long for others is not served any more: opsctl does not wait for ever, nor do people.
constexpr seconds kLongestWait{20};
// Many recipes of one call name the same tag. A server that did not answer is left alone for a while.
constexpr seconds kSameAnswer{3}, kSameFailure{30};

std::string key_of(const ModuleSource& source) {
  return source.repo + "\n" + source.tag + "\n" + source.commit;
}

// Without the folder of ours that a checkout is in: it is nobody's business who pushes a recipe.
std::string without_folder(std::string text, const std::string& folder) {
  const std::string prefix = folder + "/";
  for (std::size_t at = text.find(prefix); at != std::string::npos; at = text.find(prefix, at))
    text.erase(at, prefix.size());
  return text;
}

std::shared_ptr<const ReadModules> read_modules(const std::string& folder,
                                                const std::vector<std::string>& winners) {
  ::modules::ModuleSet::Read read = ::modules::ModuleSet::read(folder);
  auto modules = std::make_shared<ReadModules>();
  std::vector<std::string> problems = std::move(read.problems);
  if (problems.empty()) ::modules::without_replaced(states::native_states(), read.set, winners, problems);
  for (std::string& problem : problems)
    modules->problems.push_back(without_folder(std::move(problem), folder));
  modules->set = std::move(read.set);
  return modules;
}

}  // namespace

// Set once, by the loop; seen by the thread that fetches.
class Repositories::Stop final : public base::Interrupt {
 public:
  void set() {
    is_set_.store(true);
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(fd_.get(), &one, sizeof one);
  }
  bool requested() override { return is_set_.load(); }
  int wait_fd() const override { return fd_.get(); }

 private:
  const base::UniqueFd fd_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  std::atomic<bool> is_set_ = false;
};

class Repositories::Fetch final : public store::StoreJob {
 public:
  Fetch(transport::Loop& loop, std::shared_ptr<const RepositorySettings> settings, std::shared_ptr<Stop> stop,
        const ModuleSource& source, Ask ask)
      : StoreJob(loop), settings_(std::move(settings)), stop_(std::move(stop)), ask_(ask) {
    looked.source = source;
  }

  base::Result<void> run(store::Store*) override {
    if (stop_->requested())
      looked.unknown = "the backend is stopping";
    else if (steady_clock::now() - queued > kLongestWait)
      looked.unknown = "the backend is busy with other repositories; push again";
    else
      fetch();
    return {};
  }
  void fail(const base::Error& error) override { looked.unknown = error.message(); }

  Looked looked;
  bool was_asked = false;

 private:
  void fetch() {
    was_asked = true;
    FetchTrouble trouble = FetchTrouble::access;
    auto fetched = ::modules::fetch::fetch_module(settings_->fetch,
                                                  {.repository = looked.source.repo,
                                                   .tag = looked.source.tag,
                                                   .commit = looked.source.commit,
                                                   .if_missing = ask_ == Ask::if_missing},
                                                  *stop_, {}, &trouble);
    if (!fetched) {
      (trouble == FetchTrouble::repository ? looked.refusal : looked.unknown) = fetched.error().message();
      return;
    }
    looked.source.commit = fetched->checkout.commit;
    looked.warning = fetched->warning;
    auto modules = read_modules(fetched->checkout.path, settings_->winners);
    if (modules->problems.empty())
      looked.modules = std::move(modules);
    else
      looked.refusal = base::join(modules->problems, "\n");
  }

  const std::shared_ptr<const RepositorySettings> settings_;
  const std::shared_ptr<Stop> stop_;
  const Ask ask_;
};

Repositories::Repositories(transport::Loop& loop, RepositorySettings settings, telemetry::Metrics& metrics,
                           terminal::Log& log)
    : loop_(loop),
      shared_settings_([&] {
        settings.fetch.follow_redirects = false;
        return std::make_shared<const RepositorySettings>(std::move(settings));
      }()),
      settings_(*shared_settings_),
      log_(log),
      stop_(std::make_shared<Stop>()),
      worker_(
          std::make_unique<store::StoreWorker>(loop, nullptr, store::StoreWorker::Commit::none, metrics)) {}

Repositories::~Repositories() {
  stop();
}

void Repositories::stop() {
  stop_->set();
}

// What needs no thread: what may not be asked for, and what is known.
std::optional<Looked> Repositories::answer_at_once(const ModuleSource& source) {
  Looked looked{.source = source, .modules = {}, .unknown = {}, .refusal = {}, .warning = {}};
  const auto address = ::modules::fetch::parse_repository(source.repo, settings_.fetch.schemes);
  if (!address || !settings_.allowed.allows(*address)) {
    const std::string why = "this backend does not look at " + base::quote_of(source.repo) +
                            " (module_repo in its configuration says what it looks at)";
    (settings_.refuse_others ? looked.refusal : looked.unknown) = why;
    return looked;
  }
  // By another spelling it would be another one's.
  looked.source.repo = address->text;
  if (const Looked* recent = find_recent(key_of(looked.source))) return *recent;
  if (!source.commit.empty())
    if (auto kept = find_kept(looked.source)) {
      looked.modules = std::move(kept);
      return looked;
    }
  if (worker_->queued() < kMostWaiting) return std::nullopt;
  looked.unknown = "the backend is busy with other repositories; push again";
  return looked;
}

const Looked* Repositories::find_recent(const std::string& key) {
  const auto now = steady_clock::now();
  std::erase_if(recent_, [&](const Remembered& each) { return each.until <= now; });
  const auto found = std::ranges::find(recent_, key, &Remembered::key);
  return found == recent_.end() ? nullptr : &found->looked;
}

void Repositories::remember(std::string key, const Looked& looked) {
  std::erase_if(recent_, [&](const Remembered& each) { return each.key == key; });
  recent_.push_back(
      {std::move(key), looked, steady_clock::now() + (looked.unknown.empty() ? kSameAnswer : kSameFailure)});
  if (recent_.size() > kMostRecent) recent_.pop_front();
}

std::shared_ptr<const ReadModules> Repositories::find_kept(const ModuleSource& source) {
  const auto found = std::ranges::find_if(kept_, [&](const Looked& each) {
    return each.source.repo == source.repo && each.source.tag == source.tag &&
           each.source.commit == source.commit;
  });
  if (found == kept_.end()) return nullptr;
  std::rotate(kept_.begin(), found, found + 1);
  return kept_.front().modules;
}

void Repositories::keep(const Looked& looked) {
  if (!looked.modules || find_kept(looked.source)) return;
  kept_.push_front(looked);
  if (kept_.size() > kMostKept) kept_.pop_back();
}

void Repositories::note(const Looked& looked) {
  const std::string what = "module repository " + looked.source.repo + " at " + looked.source.tag + ": ";
  if (looked.modules)
    log_.info(what + "commit " + looked.source.commit + ", " +
              std::to_string(looked.modules->set.modules().size()) + " modules" +
              (looked.warning.empty() ? "" : "; " + looked.warning));
  else
    log_.warning(what + (looked.unknown.empty() ? looked.refusal : looked.unknown));
}

transport::Task<Looked> Repositories::look(std::string asker, ModuleSource source, Ask ask) {
  if (auto known = answer_at_once(source)) co_return std::move(*known);
  source.repo = ::modules::fetch::parse_repository(source.repo, settings_.fetch.schemes)->text;
  const auto job = std::make_shared<Fetch>(loop_, shared_settings_, stop_, source, ask);
  if (worker_->queue(asker, job))
    co_await job->wait();
  else
    job->looked.unknown = "the backend is busy with other repositories; push again";
  if (job->was_asked) {
    note(job->looked);
    remember(key_of(source), job->looked);
    keep(job->looked);
  }
  co_return job->looked;
}

}  // namespace backend::repositories

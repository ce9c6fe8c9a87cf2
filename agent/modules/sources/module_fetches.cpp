#include "agent/modules/sources/module_fetches.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace agent::modules {

ModuleFetches::Cancel::Cancel() : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

void ModuleFetches::Cancel::request() {
  requested_.store(true);
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(fd_.get(), &one, sizeof one);
}

ModuleFetches::ModuleFetches(ModuleSettings settings, std::shared_ptr<const StateSources> local)
    : settings_(std::move(settings)), local_(std::move(local)), thread_([this] { work(); }) {}

ModuleFetches::~ModuleFetches() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
    waiting_.clear();
    if (running_) running_->request();
  }
  changed_.notify_all();
  thread_.join();
}

bool ModuleFetches::submit(Job job) {
  {
    const std::lock_guard lock(mutex_);
    if (waiting_.size() >= kMostWaiting) return false;
    waiting_.push_back({.job = std::move(job), .cancel = std::make_shared<Cancel>()});
  }
  changed_.notify_all();
  return true;
}

void ModuleFetches::cancel_all() {
  std::deque<Waiting> dropped;  // let go of without the lock
  const std::lock_guard lock(mutex_);
  dropped.swap(waiting_);
  if (running_) running_->request();
}

void ModuleFetches::let_go(std::shared_ptr<const StateSources> sources) {
  {
    const std::lock_guard lock(mutex_);
    let_go_.push_back(std::move(sources));
  }
  changed_.notify_all();
}

bool ModuleFetches::is_moving(const std::string& tag) const {
  return std::ranges::find(settings_.fetch.moving_tags, tag) != settings_.fetch.moving_tags.end();
}

void ModuleFetches::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return is_ending_ || !waiting_.empty() || !let_go_.empty(); });
    if (is_ending_) return;
    if (!let_go_.empty()) {
      std::vector<std::shared_ptr<const StateSources>> old = std::exchange(let_go_, {});
      lock.unlock();
      old.clear();
      lock.lock();
      continue;
    }
    Waiting next = std::move(waiting_.front());
    waiting_.pop_front();
    running_ = next.cancel;
    lock.unlock();
    carry_out(std::move(next));
    lock.lock();
  }
}

// Without the lock: to let go of modules that nobody else uses is to end their processes, which takes a
// while.
void ModuleFetches::carry_out(Waiting next) {
  ModuleAnswer answer = fetch(next.job, *next.cancel);
  {
    const std::lock_guard lock(mutex_);
    running_.reset();
    if (next.cancel->requested()) return;
  }
  next.job.done(std::move(answer));
}

ModuleAnswer ModuleFetches::fetch(const Job& job, base::Interrupt& interrupt) const {
  auto fetched = ::modules::fetch::fetch_module(settings_.fetch,
                                                {.repository = job.source.repo,
                                                 .tag = job.source.tag,
                                                 .commit = job.source.commit,
                                                 .if_missing = !job.must_ask},
                                                interrupt, job.progress);
  if (!fetched) return {.sources = std::move(fetched).error(), .warning = {}};
  std::string warning = std::move(fetched->warning);
  const bool is_same = job.in_use && job.in_use->fetched() && job.in_use->fetched()->named == job.source &&
                       job.in_use->fetched()->commit == fetched->checkout.commit;
  if (is_same) return {.sources = job.in_use, .warning = std::move(warning)};
  return {.sources = local_->with(job.source, std::move(*fetched)), .warning = std::move(warning)};
}

StateSources::Opened open_noted(const ModuleSettings& settings, const StateSources& local,
                                const FetchedSource& noted) {
  auto fetched = ::modules::fetch::use_fetched(
      settings.fetch, {.repository = noted.named.repo, .commit = noted.commit, .signer = noted.signer});
  if (!fetched) return std::move(fetched).error();
  return local.with(noted.named, std::move(*fetched));
}

}  // namespace agent::modules

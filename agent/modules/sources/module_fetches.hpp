// ModuleFetches: one thread that fetches module repositories, one after another, and opens what was fetched.
// Nobody waits for it: neither the loop nor the worker.
//
// submit() and cancel_all() may be called by any thread; answers and progress come on the thread of the
// fetches. The destructor cancels what runs and joins; nothing is called after that.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "agent/modules/sources/state_sources.hpp"
#include "base/interrupt.hpp"
#include "base/unique_fd.hpp"

namespace agent::modules {

struct ModuleAnswer {
  StateSources::Opened sources;
  std::string warning;  // why what is there is used, and nobody was asked; may be ""
};

class ModuleFetches {
 public:
  struct Job {
    recipe::ModuleSource source;
    // A moving tag: ask what it stands for. Else what is there is used.
    bool must_ask = false;
    // What is in use. If the tag still stands for its commit, it is the answer: its processes stay.
    std::shared_ptr<const StateSources> in_use;
    std::function<void(const std::string& line)> progress;
    std::function<void(ModuleAnswer answer)> done;  // not called for one that was cancelled
  };

  ModuleFetches(ModuleSettings settings, std::shared_ptr<const StateSources> local);
  ~ModuleFetches();
  ModuleFetches(const ModuleFetches&) = delete;
  ModuleFetches& operator=(const ModuleFetches&) = delete;

  // False when too many wait.
  bool submit(Job job);
  // What runs and what waits.
  void cancel_all();
  // Of what is used no more: if nobody else has it, its processes end on the thread of the fetches.
  void let_go(std::shared_ptr<const StateSources> sources);

  bool is_moving(const std::string& tag) const;

 private:
  class Cancel final : public base::Interrupt {
   public:
    Cancel();
    void request();
    bool requested() override { return requested_.load(); }
    int wait_fd() const override { return fd_.get(); }

   private:
    std::atomic<bool> requested_ = false;
    const base::UniqueFd fd_;
  };
  struct Waiting {
    Job job;
    std::shared_ptr<Cancel> cancel;
  };

  void work();
  void carry_out(Waiting next);
  ModuleAnswer fetch(const Job& job, base::Interrupt& interrupt) const;

  static constexpr std::size_t kMostWaiting = 8;

  const ModuleSettings settings_;
  const std::shared_ptr<const StateSources> local_;

  std::mutex mutex_;  // guards all that follows
  std::condition_variable changed_;
  std::deque<Waiting> waiting_;
  std::vector<std::shared_ptr<const StateSources>> let_go_;
  std::shared_ptr<Cancel> running_;
  bool is_ending_ = false;
  std::thread thread_;  // last: it uses the others
};

// What was noted of modules before: used again as it is there. Blocks shortly; nobody is asked.
StateSources::Opened open_noted(const ModuleSettings& settings, const StateSources& local,
                                const FetchedSource& noted);

}  // namespace agent::modules

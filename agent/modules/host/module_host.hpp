// ModuleHost: the modules of a set as state types beside the native ones, and their processes.
//
// Each module has at most two processes, one that plans and one that applies. They are started when first
// needed, reused, and stopped when nobody has needed them for a while, and at the end. A plan sees the
// machine read-only (base/programs/read_only_view.hpp).
//
// entries() may be read by any thread. States are planned and applied on one thread at a time
// (states/state.hpp). A thread of its own, started with the first process, stops the idle ones.
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "agent/modules/host/module_process.hpp"
#include "modules/module_set.hpp"
#include "modules/module_type.hpp"
#include "states/state.hpp"

namespace agent::modules {

class ModuleHost {
 public:
  struct Settings {
    std::chrono::milliseconds idle{60'000};  // after which a process is stopped
  };

  explicit ModuleHost(::modules::ModuleSet set) : ModuleHost(std::move(set), Settings()) {}
  ModuleHost(::modules::ModuleSet set, Settings settings);
  ~ModuleHost();  // ends all processes
  ModuleHost(const ModuleHost&) = delete;
  ModuleHost& operator=(const ModuleHost&) = delete;

  const ::modules::ModuleSet& set() const { return set_; }
  // One for each module. Recipes that name them must not outlive the host.
  std::span<const states::RegistryEntry> entries() const { return entries_; }

  // How many processes there are.
  std::size_t running();

 private:
  class HostedState;
  using Clock = ModuleProcess::Clock;

  struct Slot {
    std::unique_ptr<ModuleProcess> process;  // null: none, or it is in use
    Clock::time_point last_used{};
  };

  base::Result<std::unique_ptr<ModuleProcess>> take(std::size_t module, Purpose purpose,
                                                    states::Context& context,
                                                    const ModuleProcess::Output& output);
  void give_back(std::size_t module, Purpose purpose, std::unique_ptr<ModuleProcess> process);
  Slot& slot(std::size_t module, Purpose purpose) { return slots_[2 * module + (purpose == Purpose::apply)]; }
  void stop_idle_ones();

  const ::modules::ModuleSet set_;
  const Settings settings_;
  std::vector<std::unique_ptr<const HostedState>> types_;  // constant after construction
  std::vector<states::RegistryEntry> entries_;

  std::mutex mutex_;  // guards all that follows
  std::condition_variable changed_;
  std::vector<Slot> slots_;
  bool is_ending_ = false;
  std::thread idle_thread_;
};

}  // namespace agent::modules

// Worker: the thread that makes recipes true.
//
// It starts once and lives as long as the process. Commands go in, events come out, through two bounded
// channels; it does not know who sends or reads them, or whether anybody is connected. It is the only thread
// that touches the machine's configuration.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "agent/engine/messages.hpp"
#include "agent/engine/report_sink.hpp"
#include "base/channel.hpp"
#include "base/result.hpp"
#include "base/values/redactor.hpp"
#include "states/context.hpp"

namespace agent::engine {

struct WorkerSettings {
  states::Host host;
  // Where journal, watch records and lock live. Created 0700 when missing.
  std::string state_dir = "/var/lib/opsagent";
  // Which journal in it: a daemon and a command line do not continue each other's runs.
  std::string journal_name = "run";
  std::chrono::milliseconds round_delay = std::chrono::seconds(600);
  std::chrono::milliseconds first_back_off = std::chrono::seconds(5);
  std::chrono::milliseconds longest_back_off = std::chrono::seconds(300);
  std::chrono::milliseconds retry_delay = std::chrono::seconds(1);  // between attempts of one state
  // False: nobody will ever say that a wait is done, so meta.wait fails instead of waiting for ever.
  bool has_backend = false;
  // Where reports are kept until the backend has them; null for a command line.
  std::shared_ptr<ReportSink> reports;
  // False: nobody reads the diffs in results, so they are not made.
  bool wants_diffs = true;
  // For `apply PLAN`: the fingerprint each state's plan must have, by index; empty strings match everything.
  std::vector<std::string> expected_plans;
  std::string plan_salt;  // that these were made with
};

class Worker {
 public:
  // For programs: an Error where the system has no descriptor or thread left for it.
  static base::Result<std::unique_ptr<Worker>> start(WorkerSettings settings,
                                                     std::shared_ptr<base::Redactor> redactor);
  // Throws std::system_error where there is no thread left.
  Worker(WorkerSettings settings, std::shared_ptr<base::Redactor> redactor);
  ~Worker();  // stops now, and joins
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  base::Channel<Command>& commands() { return commands_; }
  base::Channel<Event>& events() { return events_; }

  // Whether a program runs that is not ended half-way, whatever is asked for: a package manager. Any thread.
  bool must_finish() const { return must_finish_; }

 private:
  static constexpr std::size_t kCommands = 256;
  static constexpr std::size_t kEvents = 4096;
  static constexpr std::size_t kEventBytes = 32 * 1024 * 1024;  // outputs may be large

  base::Channel<Command> commands_{kCommands};
  base::Channel<Event> events_{kEvents, weight, kEventBytes};
  std::atomic<bool> must_finish_ = false;
  std::thread thread_;
};

}  // namespace agent::engine

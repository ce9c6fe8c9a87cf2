// Launch: the service's main process. Starts `current`, passes signals on, starts it again when it ends, and
// during a trial owns the attempts, the deadline and the way back. What to do is decided in launcher.hpp.
//
// One thread, one child at a time. Needs libc, the layout and the journal: whatever is broken in the agent or
// in its libraries is not broken here. Installed once and never updated by the agent.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <csignal>
#include <optional>
#include <string>
#include <vector>

#include "base/host/notify.hpp"
#include "base/unique_fd.hpp"
#include "update/launcher/agent_watchdog.hpp"
#include "update/launcher/launcher_decision.hpp"
#include "update/launcher/launcher_log.hpp"
#include "update/layout.hpp"

namespace update::launcher {

struct LaunchOptions {
  std::string prefix;
  std::string state_dir = "/var/lib/opsagent";
  std::vector<std::string> arguments;  // for the agent, after "run"
  // An agent that was well and is silent for so long is killed and started again; 0: never. Only where no
  // service manager does it.
  std::chrono::seconds watchdog{60};
};

class Launch {
 public:
  explicit Launch(LaunchOptions options);

  // Blocks TERM, INT, HUP, USR1 and CHLD for the process. Returns the exit status.
  int run();

 private:
  // Since boot, without time asleep: the agent does not live then either.
  using Instant = std::chrono::milliseconds;

  static Instant now();
  bool take_lock();
  bool wait_for_other_agent();
  DiskState look();
  void perform(Decision& decision);
  std::optional<int> run_agent(const Decision& decision);
  bool is_used_up();
  bool start(const std::string& folder);
  AgentEnd watch(std::optional<Instant> deadline);
  bool is_trial_over();
  std::optional<AgentEnd> reap(Instant started);
  void end_agent_late(Instant now);
  void wait_for_news(std::optional<Instant> until);
  // Hears signals for so long, or until one says something. False: asked to stop while no agent runs.
  bool pause(std::chrono::milliseconds wait);
  void hear_signals();
  std::chrono::milliseconds feed_period() const;

  // What could not be written counts all the same, until the journal changes.
  struct Unwritten {
    std::optional<Record> on_disk;
    Record wanted;
  };

  const LaunchOptions options_;
  const Layout layout_;
  const base::Notify notify_;
  AgentWatchdog pulse_;
  LaunchLog log_;
  base::UniqueFd signals_;
  base::UniqueFd lock_;
  sigset_t inherited_{};
  void (*inherited_pipe_)(int) = nullptr;

  pid_t child_ = -1;
  bool child_ended_ = false;
  bool asked_to_stop_ = false;
  bool deadline_passed_ = false;
  std::optional<Instant> kill_at_;  // should the agent not end by itself
  std::optional<Instant> trial_until_;
  std::string trial_of_;                // the folder that trial_until_ is about
  std::optional<Record> trial_record_;  // as it was counted last, should the journal become unreadable
  std::optional<Unwritten> unwritten_;
  std::optional<Record> uncounted_;  // as the journal was before the attempt that is about to be made
  std::string last_end_;
  Restarts restarts_;
};

}  // namespace update::launcher

// Updater: performs what update/machine.hpp says, from the backend's request to the report that closes it.
//
// Belongs to the daemon's loop and outlives connections. What blocks (documents, download, verification,
// self-tests) runs on a thread of its own and comes back to the loop as a value. On the loop itself it writes
// the journal and the spool: short files.
//
// The journal is written before a phase is performed; after a kill start() goes on from the record alone.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "agent/log_line.hpp"
#include "agent/reports/spool.hpp"
#include "agent/updater/candidate.hpp"
#include "agent/updater/settings.hpp"
#include "base/background_thread.hpp"
#include "protocol/messages.hpp"
#include "transport/async.hpp"
#include "update/machine.hpp"

namespace agent::updater {

class Updater {
 public:
  struct Hooks {
    LogLine log;
    std::function<void()> spooled;  // a report was appended
    // Stop the worker when the running state is done, keeping its place; then drained(), and the end.
    std::function<void()> drain;
    std::function<std::string()> authorities;  // whom to believe besides the system's, in PEM
  };

  Updater(transport::Loop& loop, Settings settings, reports::Spool& spool, Hooks hooks);

  // Goes on with what the journal has. `problem`: what this version could not read of the state folder, by
  // which a version on trial knows that it cannot stay.
  void start(const std::string& problem);
  // The backend asks. Every request with an action id is answered by reports, the last of which closes it.
  void ask(const protocol::AgentUpdate& update);
  // A backend has accepted our handshake.
  void welcomed();
  // The worker has stopped because of Hooks::drain; the process ends next. True: for the launcher to start
  // `current` at once; false: not even the journal could be written, so that the next one drains again.
  bool drained();

  const std::optional<update::Record>& record() const { return record_; }

 private:
  void take(update::Event event, const StepFailure* why = nullptr);
  void perform(update::Todo todo);
  void again_later(update::Event event, const StepFailure* why);
  std::optional<std::string> why_not(const protocol::AgentUpdate& update) const;
  void answer(const protocol::AgentUpdate& update, update::Phase phase, const std::string& why);
  bool is_answer_on_its_way() const;
  bool is_way_back_open() const;
  StepFailure interrupted_by_start(bool is_new);
  void begin(const protocol::AgentUpdate& update);
  void forget_request(const std::optional<update::Record>& before);

  // The steps, updater_steps.cpp.
  void begin_after_delay();
  void read();
  void download();
  void verify();
  void adopt();
  void drain();
  void switch_current();
  void watch_health();
  void test_itself();
  void consider_health();
  void note_waiting(bool retryable, std::string reason);
  base::Result<void> try_point_current_at_self() const;
  void point_current_at_self();
  void raise();
  void give_up(std::string reason);
  void settle();
  void clean();
  void tell();
  ReleaseSource source(base::Interrupt& interrupt, const std::string& authorities) const;
  template <class T>
  void run(std::function<Attempt<T>(base::Interrupt&)> job, std::function<void(T)> then);

  base::Result<void> write(const update::Record& record);
  bool report(update::Phase phase, const std::string& key, std::optional<double> progress = {});
  void log(Level level, const std::string& text) const { hooks_.log(level, text); }

  // What could not be written is tried again: a full disk is not the end of an update.
  static constexpr std::chrono::seconds kAgain{5};
  static constexpr std::chrono::seconds kAgainOnTrial{1};  // there is a deadline

  transport::Loop& loop_;
  const Settings settings_;
  const update::Layout layout_;
  const std::string own_;  // the folder in versions/ that runs; empty: another place
  reports::Spool& spool_;
  const Hooks hooks_;

  std::optional<update::Record> record_;
  std::optional<std::uint64_t> told_seq_;  // the closing report has this number at most
  std::optional<Candidate> candidate_;     // since the documents were read
  transport::asio::steady_timer delay_;
  transport::asio::steady_timer trial_;
  transport::asio::steady_timer telling_;  // the closing report could not be written
  transport::asio::steady_timer raising_;  // nor the floor
  transport::asio::steady_timer placing_;  // nor `current`
  bool is_floor_due_ = false;
  bool is_welcomed_ = false;
  bool is_self_tested_ = false;
  bool is_old_enough_ = false;
  bool is_giving_up_ = false;
  base::BackgroundThread work_;  // last: its jobs use the others
};

// The folder of versions/ that this program was started from; empty when it was another.
std::string own_version_folder(const std::string& prefix);

}  // namespace agent::updater

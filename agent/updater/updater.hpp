// Updater: performs what update/update_table.hpp says, from the backend's request to the report that closes
// it. What happens goes in as events, what is to be done comes out as actions; each action is one function
// here, which says by an event how it went. What becomes of a request is in request_rules.hpp.
//
// Belongs to the daemon's loop and outlives connections. What blocks (documents, download, verification,
// self-tests) runs on a thread of its own and comes back to the loop as an event. On the loop itself it
// writes the journal and the spool: short files. What cannot be written is logged and tried again, for ever.
#pragma once

#include <array>
#include <deque>
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
#include "update/update_table.hpp"

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

  const std::optional<update::Record>& record() const { return progress_.record; }

 private:
  enum class Timer { pause, trial, report, floor, current };

  // Requests.
  void log_repeated(const protocol::AgentUpdate& update) const;
  void answer(const protocol::AgentUpdate& update, update::Phase phase, const std::string& why);
  bool is_answer_on_its_way() const;
  void begin(const protocol::AgentUpdate& update);

  // The table.
  void feed(update::Input input);
  void feed(update::Event event) { feed(update::Input{.event = event}); }
  void end_step(const StepFailure& failure);
  void perform(const update::Actions& actions);
  void perform(update::Action action);
  void start_timer(Timer which, std::chrono::steady_clock::duration time, update::Event event);

  // One per action: the journal and reports, updater.cpp.
  void write_pending();
  void write_note();
  void restore_journal();
  void check_journal();
  void report_closing();
  // The steps, updater_steps.cpp.
  void wait_to_begin();
  void read_documents();
  void download();
  void verify();
  void adopt();
  void check_version();
  void switch_current();
  void watch_trial();
  void test_itself();
  void raise_floor();
  void restore_current();
  void clean();

  base::Result<void> try_point_current_at_self() const;
  ReleaseSource source(base::Interrupt& interrupt, const std::string& authorities) const;
  template <class T>
  void run(update::Action action, std::function<Attempt<T>(base::Interrupt&)> job,
           std::function<void(T)> then);
  base::Result<void> write(const update::Record& record);
  bool report(update::Phase phase, const std::string& key, std::optional<double> progress = {});
  const update::Record& noted() const { return *progress_.record; }  // while there is one
  void log(Level level, const std::string& text) const { hooks_.log(level, text); }

  transport::Loop& loop_;
  const Settings settings_;
  const update::Layout layout_;
  const std::string own_;  // the folder in versions/ that runs; empty: another place
  reports::Spool& spool_;
  const Hooks hooks_;

  update::Progress progress_;
  std::deque<update::Input> inputs_;
  bool is_stepping_ = false;
  std::optional<protocol::AgentUpdate> request_;         // the one that is being noted
  std::optional<std::uint64_t> told_seq_;                // the closing report has this number at most
  std::optional<Candidate> candidate_;                   // since the documents were read
  std::array<transport::asio::steady_timer, 5> timers_;  // by Timer
  base::BackgroundThread work_;                          // last: its jobs use the others
};

// The folder of versions/ that this program was started from; empty when it was another.
std::string own_version_folder(const std::string& prefix);

}  // namespace agent::updater

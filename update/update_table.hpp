// The update as a table: which event leads from which phase to which, and what is to be done there. It reads
// like the specification's table of steps. step() takes what happened and returns what is to be done, in
// order; agent/updater/ performs it and decides nothing. Pure: no clock, no files, no thread; any thread may
// call it.
//
// A phase is written to the journal before it is performed. So after a kill the record alone says where to go
// on: `restarted_as_old` when the program that runs is the version before (`from`), `restarted_as_new` when
// it is the new one (`to`). What cannot be written is tried again after a pause: a full disk is not the end
// of an update. An event that has no row for the phase is refused: nothing changes.
#pragma once

#include <array>
#include <concepts>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "update/journal.hpp"

namespace update {

enum class Event {
  // Steps of an update.
  asked,             // by the backend, and nothing speaks against it
  begun,             // the pause before the first step is over
  trusted,           // the documents, and there is a target for this machine
  is_installed,      // trusted, and its folder is in versions/ already
  refused,           // the documents, or what was downloaded, are not what keys and hashes say
  downloaded,        // all bytes are there
  verified,          // hash, unpacked, its self-test passed
  adopted,           // it is in versions/
  version_found,     // after a restart: it is in versions/ still
  drain_due,         // the pause before a repeated drain is over
  drained,           // no state runs, cursor and reports are on disk
  current_switched,  // `current` leads to the new version
  switch_unclear,    // it could neither be switched nor led back: the launcher judges by what it finds
  left,              // all is said: the process ends for the launcher
  failed,            // it cannot be done: disk full, nothing reached, self-test
  restarted_as_old,
  restarted_as_new,
  // The trial.
  welcomed,             // a backend has accepted our handshake; may come in any phase
  self_tested,          // the self-test passed
  self_test_timed_out,  // the machine was too busy: that says nothing about the version
  trial_over,           // alive for long enough
  healthy,              // all three of welcomed, self_tested, trial_over; step() finds out itself
  unhealthy,            // the agent itself knows that it cannot stay
  // The journal.
  written,        // what write_journal was to write
  not_written,    //
  journal_works,  // check_journal
  journal_fails,
  retry_due,    // the pause before another attempt is over
  thread_busy,  // the action was not begun; Input::busy says which
  // How an update is closed.
  reported,      // the closing report is in the spool
  not_reported,  //
  report_due,    // the pause before it is tried again is over
  floor_raised,
  floor_not_raised,
  floor_due,
  current_restored,
  current_not_restored,
  current_due,
};
inline constexpr int kEvents = static_cast<int>(Event::current_due) + 1;
std::string_view name_of(Event event);

// What the shell does. Those that end with an event say which.
enum class Action {
  // The journal.
  write_journal,    // Progress::pending: written, not_written
  write_note,       // the record as it is, if that is possible: nothing depends on it
  restore_journal,  // the record as it is, or none: the request before could not be noted
  check_journal,    // the record as it is: journal_works, journal_fails
  // Reports.
  report,          // the phase; one that cannot be stored is left out
  report_closing,  // how it was closed: reported, not_reported
  answer_failure,  // to the request that could not be noted
  // Steps of an update.
  read_documents,  // root chain, timestamp, release: trusted, is_installed, refused, failed
  download,        // free space first; resumed by range: downloaded, refused, failed
  verify,          // sha256, unpack beneath staging/, self-test with its limit: verified, refused, failed
  adopt,           // sync, rename into versions/: adopted, failed
  check_version,   // its folder in versions/: version_found, failed
  drain,           // the running state ends; cursor and spool are on disk: drained
  switch_current,  // the link: current_switched, failed, switch_unclear
  leave,           // exit status 77: left
  // The trial.
  test_itself,  // self_tested, self_test_timed_out, unhealthy
  give_up,      // leave it to the launcher to take the way back, at once
  // How an update is closed.
  raise_floor,      // floor_raised, floor_not_raised
  restore_current,  // `current` leads to the version that runs: current_restored, current_not_restored
  clean,            // versions and staging that nobody needs
  // Pauses, each with the event that ends it.
  wait_to_begin,            // at random, so that a fleet does not come at once: begun
  wait_to_drain,            // an interrupted drain is not repeated in a circle: drain_due
  wait_to_retry,            // retry_due
  wait_to_retry_soon,       // the same on trial, where there is a deadline: retry_due
  wait_for_trial,           // trial_over
  wait_to_report,           // report_due
  wait_to_raise_floor,      // floor_due
  wait_to_restore_current,  // current_due
};
inline constexpr int kActions = static_cast<int>(Action::wait_to_restore_current) + 1;
std::string_view name_of(Action action);

using Actions = std::vector<Action>;

// What a row leads to do. When the record changes, it is written first (write_journal), and the phase is
// reported, unless it is a closed one; rows do not repeat that. A row with write_note does not wait for it.
struct RowActions {
  std::array<Action, 3> list{};
  std::size_t count = 0;

  template <std::same_as<Action>... Each>
  constexpr RowActions(Each... actions) : list{actions...}, count(sizeof...(actions)) {}
  const Action* begin() const { return list.data(); }
  const Action* end() const { return list.data() + count; }
};

struct Transition {
  Phase from;
  Event event;
  Phase to;
  RowActions actions;
};
// All of them, in the order of the specification.
std::span<const Transition> transitions();

// What an event leads to in every phase that has no row for it.
struct PhaseFreeRow {
  Event event;
  RowActions actions;
};
std::span<const PhaseFreeRow> phase_free_rows();

struct Why {
  std::string reason;
  bool retryable = true;  // the same version may be asked for again
  bool operator==(const Why&) const = default;
};

struct Input {
  Event event = Event::asked;
  std::optional<Why> why = {};        // failed, refused, unhealthy, self_test_timed_out
  std::optional<Record> record = {};  // asked, trusted, is_installed: what is known now, in any phase
  Action busy = Action::clean;        // thread_busy: what was not begun
  bool operator==(const Input&) const = default;
};

// How far an update is: the record, and what only this process knows.
struct Progress {
  std::optional<Record> record;  // as on disk; nothing: no update was ever asked for

  // A change that write_journal has been told to write.
  struct Pending {
    Input input;
    Record record;
    Actions then;
    bool operator==(const Pending&) const = default;
  };
  std::optional<Pending> pending;
  // What retry_due does: an event again, or an action.
  std::optional<Input> retry_input;
  std::optional<Action> retry_action;

  bool is_welcomed = false;
  bool is_self_tested = false;
  bool is_old_enough = false;
  bool is_giving_up = false;
  bool is_floor_due = false;    // release numbers below this one are not refused yet
  bool is_current_due = false;  // `current` does not lead to the version that runs

  // An update that is closed but has left something to do: no other one begins.
  bool is_being_closed() const { return record && (!record->is_reported || is_floor_due); }
  bool operator==(const Progress&) const = default;
};

struct Step {
  Progress next;
  Actions actions;
  bool operator==(const Step&) const = default;
};
// Nothing: in this phase that event means nothing.
std::optional<Step> step(const Progress& progress, const Input& input);

// What a start finds.
struct Found {
  std::string own;      // the folder in versions/ that runs; empty: another place
  std::string current;  // the folder that `current` leads to; empty: none
  std::string problem;  // what this version could not read of the state folder
};
// The first step after a start, from the record and from what is on disk.
Step start(const std::optional<Record>& record, const Found& found);

// Why a version on trial is not confirmed yet: what the launcher says of it, should it take the way back.
inline constexpr std::string_view kNotAccepted = "no backend has accepted it";
inline constexpr std::string_view kNotHealthy = "a backend has accepted it, but it did not stay healthy";

}  // namespace update

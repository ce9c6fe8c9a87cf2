// The update as a table: which event leads from which phase to which, and what is to be done there. It reads
// like the specification's table of steps; agent/updater/ performs it. Pure.
//
// A phase is written to the journal before it is performed. So after a kill the record alone says where to go
// on: `restarted_as_old` when the program that runs is the version before (`from`), `restarted_as_new` when
// it is the new one (`to`). An event that has no row for the phase is refused: nothing changes.
#pragma once

#include <optional>
#include <span>

#include "update/journal.hpp"

namespace update {

enum class Event {
  asked,             // by the backend, and nothing speaks against it
  begun,             // the record is on disk
  trusted,           // the documents, and there is a target for this machine
  is_installed,      // trusted, and its folder is in versions/ already
  refused,           // the documents, or what was downloaded, are not what keys and hashes say
  downloaded,        // all bytes are there
  verified,          // hash, unpacked, its self-test passed
  adopted,           // it is in versions/
  drained,           // no state runs, cursor and reports are on disk
  current_switched,  // `current` leads to the new version
  left,              // all is said: the process ends for the launcher
  healthy,           // in the trial
  unhealthy,         // in the trial: the agent itself knows that it cannot stay
  failed,            // it cannot be done: disk full, nothing reached, self-test
  restarted_as_old,
  restarted_as_new,
};

// What the shell does when it has come to a phase.
enum class Todo {
  nothing,
  acknowledge,     // the record is on disk and reported: then `begun`
  read_documents,  // root chain, timestamp, release
  download,        // free space first; resumed by range
  verify,          // sha256, unpack beneath staging/, self-test with its limit
  adopt,           // sync, rename into versions/
  drain,           // the running state ends; cursor and spool are on disk
  switch_current,  // the record says TRIAL {from, to, attempts 0}; now the link
  leave,           // exit status 77
  watch_health,    // self-test, welcomed, alive for long enough
  give_up,         // leave it to the launcher to take the way back, at once
  settle,          // floor, report, clean
  tell,            // report how it was closed
};

struct Transition {
  Phase from;
  Event event;
  Phase to;
  Todo todo;
};

// All of them, in the order of the specification.
std::span<const Transition> transitions();

struct Step {
  Phase next;
  Todo todo;
  bool operator==(const Step&) const = default;
};
// Nothing: in this phase that event means nothing.
std::optional<Step> step(Phase phase, Event event);

// The first step after a start, from the record alone.
Event event_of_start(bool runs_new_version);

}  // namespace update

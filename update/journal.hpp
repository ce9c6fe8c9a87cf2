// The update journal: how far the one update is. A small text file, "key value" lines, replaced whole and on
// disk when a write returns. Written by the agent, and by the launcher while no agent runs or before it
// starts one. Text and files; no clock. One process at a time writes.
//
// The launcher is installed once and may be much older than the agent: keys that it does not know are kept as
// they are. Format: see docs/self-update.md.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "protocol/update_phase.hpp"

namespace update {

// The journal has the words of UpdateStatus.
using Phase = protocol::UpdatePhase;
using protocol::is_closed;
using protocol::name_of;

struct Record {
  Phase phase = Phase::requested;
  std::string action_id;               // empty: version 1, nobody waits for an answer
  std::string version;                 // asked for
  std::string from, to;                // folders below versions/
  std::uint64_t release = 0;           // number, for the floor
  std::string sha256;                  // of the archive
  std::uint32_t attempts = 0;          // starts of `to`, counted before each
  std::chrono::seconds deadline{180};  // of the trial
  std::string reason;                  // why it was closed, one line
  bool retryable = false;              // the version may be asked for again
  bool is_reported = false;            // the closing report is in the spool
  std::string others;                  // lines with keys of later versions, as they were read
  bool operator==(const Record&) const = default;
};

// Whether this record waits for a verdict on `to`.
bool is_on_trial(const Record& record);

std::string to_text(const Record& record);
base::Result<Record> parse_record(std::string_view text);

// Longer reasons are cut.
inline constexpr std::size_t kLongestReason = 1000;

// STATE/update/journal. Nothing there: no update was ever asked for. ErrorCode::invalid: it is damaged.
std::string journal_path(const std::string& state_dir);
base::Result<std::optional<Record>> read_journal(const std::string& state_dir);
// Makes STATE/update, 0700, when it is missing.
base::Result<void> write_journal(const std::string& state_dir, const Record& record);

// The agent's exit status that asks the launcher to start `current` at once.
inline constexpr int kStartCurrent = 77;
inline constexpr std::uint32_t kMostAttempts = 3;
// As `attempts`: the new version has found out itself that it cannot stay, and `reason` says why.
inline constexpr std::uint32_t kGivenUp = kMostAttempts + 1;
// In the environment of an agent that the launcher has started.
inline constexpr const char* kLaunchedMark = "OPSAGENT_LAUNCHED";

}  // namespace update

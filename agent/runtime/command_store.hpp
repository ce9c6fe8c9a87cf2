// CommandStore: protocol::CommandMemory in a file, so that a command that is played back after a reconnect, a
// restart or a kill is still known. Belongs to the loop's thread; short writes.
//
// STATE/commands (0600): a line a command, "until in milliseconds, or -" TAB "key", appended before it is
// done; and "floor" TAB "milliseconds". Rewritten whole now and then. A last line without its end was being
// written when the agent was killed: its command was not done.
#pragma once

#include <optional>
#include <string>

#include "base/result.hpp"
#include "base/unique_fd.hpp"
#include "protocol/command_memory.hpp"

namespace agent::runtime {

class CommandStore {
 public:
  explicit CommandStore(std::string path) : path_(std::move(path)) {}

  // What was kept. The error: it cannot be read, or parts of it not; what can be is kept.
  base::Result<void> load();

  // Notes that a command is about to be done. Why it must not be: it came before, or it cannot be noted.
  // Empty: it is noted; with `must_last` on disk, so that it is known after a power cut too. One that need
  // not last is done on a full disk as well: that is when people want to look.
  std::string take(const std::string& key, std::optional<protocol::CommandMemory::Millis> until,
                   bool must_last);

 private:
  base::Result<void> append(const protocol::CommandMemory::Command& command, bool must_last);
  base::Result<void> rewrite();

  // Lines in the file before it is written anew: what is forgotten is still in it.
  static constexpr std::size_t kMostLines = 4 * protocol::CommandMemory::kMost;

  const std::string path_;
  protocol::CommandMemory memory_;
  base::UniqueFd file_;  // for appending; none: the file is written anew first
  std::size_t lines_ = 0;
};

}  // namespace agent::runtime

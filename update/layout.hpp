// Layout: where versions live, and which one is current. The launcher and the agent both use it: base only.
// Blocks for short writes; any thread, but one writer at a time.
//
//   PREFIX/versions/<version>-<sha8>/   bin/ lib/ share/ manifest; complete, or not there
//   PREFIX/current -> versions/…        relative symlink, replaced by rename
//   PREFIX/launch                       the launcher
//   PREFIX/staging/                     what is on its way: .part files and folders, swept by anybody who
//   starts over
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/unique_fd.hpp"

namespace update {

inline constexpr const char* kDefaultPrefix = "/opt/opsagent";

class Layout {
 public:
  explicit Layout(std::string prefix) : prefix_(std::move(prefix)) {}

  const std::string& prefix() const { return prefix_; }
  std::string version_folder(std::string_view name) const;  // PREFIX/versions/NAME
  std::string program(std::string_view name) const;         // …/bin/opsagent
  std::string staging() const;
  std::string launcher() const;

  // "<version>-<sha8>"
  static std::string folder_name(std::string_view version, std::string_view sha256);

  // Held by whoever adds or removes versions: an install, an uninstall, the agent. Waits so long for others;
  // ErrorCode::exists: they are still at work. Makes staging/, for its owner only, which is what is locked.
  base::Result<base::UniqueFd> lock(std::chrono::milliseconds patience) const;

  // Whether this can be the name of a folder in versions/: no path leads out of it.
  static bool is_name(std::string_view name);

  // The folder's name that `current` leads to; the error when it does not lead to one of versions/.
  base::Result<std::string> current() const;
  // Whether versions/NAME is there and has a program that can be started.
  bool is_complete(std::string_view name) const;
  // `current` leads to versions/NAME, on disk, when it returns; NAME must be there.
  base::Result<void> switch_to(std::string_view name) const;
  // What is in versions/, the folder that was changed last first.
  std::vector<std::string> versions() const;
  // A staged folder, synced and on the same file system, becomes versions/NAME; it is on disk when it
  // returns. One that is there already is complete, and stays; the staged one is removed.
  base::Result<void> adopt(const std::string& staged, std::string_view name) const;
  // Deletes all versions but those named and but what `current` leads to; nothing at all when `current` leads
  // nowhere. Each leaves versions/ by one rename, so that what is there is complete.
  base::Result<void> keep_only(const std::vector<std::string>& names) const;
  // It leaves versions/ by one rename; nothing happens when it is not there. Never what is in use.
  base::Result<void> discard(std::string_view name) const;
  // Empties staging/, but for `keep`: names in it that are still of use (a .part file).
  base::Result<void> sweep_staging(const std::vector<std::string>& keep = {}) const;

 private:
  std::string prefix_;
};

}  // namespace update

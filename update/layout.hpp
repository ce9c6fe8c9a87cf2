// Layout: where versions live, and which one is current. The launcher and the agent both use it: base only.
//
//   PREFIX/versions/<version>-<sha8>/   bin/ lib/ share/ manifest; complete, or not there
//   PREFIX/current -> versions/…        relative symlink, replaced by rename
//   PREFIX/launch                       the launcher
//   PREFIX/staging/                     what is on its way: .part files and folders, swept by anybody who
//   starts over
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

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

  // The folder's name that `current` leads to; the error when it does not lead to one of versions/.
  base::Result<std::string> current() const;
  // `current` leads to versions/NAME, on disk, when it returns; NAME must be there.
  base::Result<void> switch_to(std::string_view name) const;
  std::vector<std::string> versions() const;
  // Deletes all versions but those named and but what `current` leads to.
  base::Result<void> keep_only(const std::vector<std::string>& names) const;
  base::Result<void> sweep_staging() const;

 private:
  std::string prefix_;
};

}  // namespace update

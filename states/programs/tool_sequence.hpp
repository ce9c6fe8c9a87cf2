// ToolSequence: the system's own tools (useradd, timedatectl …), run one after the other while a state
// applies.
#pragma once

#include <string>
#include <vector>

#include "base/programs/process.hpp"
#include "base/result.hpp"
#include "states/commands.hpp"

namespace states::programs {

class ToolSequence {
 public:
  // `may_quote`: errors may repeat what a tool said; see Context::sensitive.
  ToolSequence(Commands& commands, bool may_quote) : commands_(commands), may_quote_(may_quote) {}

  // An error when it could not be started, was ended, or failed: "usermod failed (exit 8): user bob is
  // currently used by process 1".
  base::Result<void> run(base::Command command);
  base::Result<void> run(std::vector<std::string> argv);

  // What all of them have printed, cleaned, with a blank line between two tools.
  const std::string& output() const { return output_; }

 private:
  void keep(const std::string& output);

  Commands& commands_;
  const bool may_quote_;
  std::string output_;
};

}  // namespace states::programs

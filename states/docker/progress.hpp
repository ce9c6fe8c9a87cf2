// What the engine says while it pulls, pushes and builds: JSON objects, one a line, of which one may be the
// error that ended it though the status was good.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "states/commands.hpp"

namespace states::docker {

class Progress {
 public:
  // Lines for people go to the live output and into `log`, which is bounded.
  Progress(Commands& commands, std::string& log) : commands_(commands), log_(log) {}

  base::Result<void> take(std::string_view piece);
  // After the last piece: the error that the engine has told, if any.
  base::Result<void> finish();
  // The last line of the log; "" when there was none.
  const std::string& last_line() const { return last_line_; }

 private:
  base::Result<void> take_line(std::string line);
  void show(std::string_view text);

  Commands& commands_;
  std::string& log_;
  std::string held_;
  std::string error_;
  std::string last_line_;
};

}  // namespace states::docker

// LaunchLog: what the launcher has to say. To standard error, with the journal's priorities when that is the
// journal; to the system log besides when it is not, because there may be nobody at the other end. Never
// waits.
#pragma once

#include <string>
#include <string_view>

namespace update::launcher {

class LaunchLog {
 public:
  LaunchLog();

  void info(std::string_view text) { write(6, text); }
  void warning(std::string_view text) { write(4, text); }
  void error(std::string_view text) { write(3, text); }

 private:
  void write(int priority, std::string_view text);

  bool is_journal_ = false;
};

}  // namespace update::launcher

// Log: a daemon's lines, to standard error and, if wanted, to a file that is kept small.
//
// Connected to the journal, lines carry a priority ("<4>…") and no time, because the journal has its own.
// Everything passes the redactor, and what peers and programs say is made printable: one event is one line,
// of 16 KiB at the most. Any thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace base {
class Redactor;
}

namespace terminal {

enum class LogLevel { debug, info, warning, error };

class Log {
 public:
  // An empty `file`: standard error only. Without a redactor nothing is taken out. Refused: a file in a
  // folder that others can write to or put another in the place of (base/files/private_folder.hpp), and one
  // that is there and is a link, has a second name or is not ours.
  static base::Result<Log> open(LogLevel level, const std::string& file,
                                std::shared_ptr<base::Redactor> redactor = nullptr);
  ~Log();
  Log(Log&&) noexcept;
  Log& operator=(Log&&) noexcept;

  // Whether lines of this level are written at all.
  bool writes(LogLevel level) const;
  void write(LogLevel level, std::string_view text);
  void debug(std::string_view text) { write(LogLevel::debug, text); }
  void info(std::string_view text) { write(LogLevel::info, text); }
  void warning(std::string_view text) { write(LogLevel::warning, text); }
  void error(std::string_view text) { write(LogLevel::error, text); }

 private:
  struct Sinks;
  explicit Log(std::unique_ptr<Sinks> sinks);
  std::unique_ptr<Sinks> sinks_;
};

// Whether `journal_stream` (JOURNAL_STREAM, "device:inode") names what this descriptor is connected to.
bool is_journal(int fd, const char* journal_stream);

}  // namespace terminal

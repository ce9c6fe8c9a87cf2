// A supervisord and its programs, by its own command supervisorctl. Blocks.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "states/context.hpp"

namespace states::linux_supervisord {

struct Program {
  std::string name;    // "web", "group:web"
  std::string state;   // "RUNNING", "FATAL" …
  std::string detail;  // "pid 12, uptime 0:00:02", "Exited too quickly"

  bool is_running() const { return state == "RUNNING"; }
};

struct Status {
  bool answers = false;  // false: no supervisord listens where the configuration says
  std::vector<Program> programs;
};

// What `supervisorctl status` prints.
Status parse_status(std::string_view output);

// The programs that a name stands for: itself, or all of a group ("group", "group:*").
std::vector<Program> programs_of(const Status& status, std::string_view name);
// How supervisorctl is told: "web", "group:*".
std::string target_of(const Status& status, std::string_view name);

class Supervisor {
 public:
  Supervisor(std::string config, Context& context) : config_(std::move(config)), context_(context) {}

  // An error: supervisorctl cannot be run, or is refused by the supervisord. Asked once per round for each
  // configuration, until something is changed.
  base::Result<Status> status();
  // Starts one, and waits until it answers.
  base::Result<void> start_daemon();
  // A command that changes something: {"start", "web"}. An error: what supervisorctl says. A line with ERROR
  // is one, whatever its exit code.
  base::Result<void> tell(std::vector<std::string> words);
  // Waits until none of these is about to start or stop, up to 30 s.
  base::Result<std::vector<Program>> settled(std::string_view name);

  // What all of them have printed.
  const std::string& output() const { return output_; }

 private:
  base::Result<std::string> ask(std::vector<std::string> words);
  void forget();

  const std::string config_;
  Context& context_;
  std::string output_;
};

}  // namespace states::linux_supervisord

// SystemdSession: what we ask of systemd, over a connection that is made when first needed and kept for the
// round (it lives in Context::facts).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "states/systemd/bus.hpp"

namespace states::systemd {

// The unit's properties of these names, as systemd documents them.
struct UnitProperties {
  std::string id;            // the unit's own name, where it was asked for by another one
  std::string load_state;    // "loaded", "not-found", "masked", …
  std::string load_error;    // why it could not be loaded
  std::string active_state;  // "active", "activating", "failed", …
  std::string sub_state;
  bool can_reload = false;
  bool need_daemon_reload = false;
  std::uint64_t active_enter = 0;  // ActiveEnterTimestampMonotonic, µs
};

class SystemdSession {
 public:
  // Of a unit by its full name ("cron.service"). One message there and back.
  base::Result<UnitProperties> properties(const std::string& unit, Context& context);

  // Why the unit does not run ("exit-code", "timeout", …); empty for kinds of units that do not say.
  std::string result(const std::string& unit, Context& context);

  // Whether the unit has done all it does once its program has ended, and so never counts as running.
  bool ends_when_done(const std::string& unit, Context& context);

  // As `systemctl is-enabled` says it ("enabled", "static", "masked", …), from the files as they are now.
  // Refused by systemd (no such unit, an invalid file): ErrorCode::io with its text.
  base::Result<std::string> unit_file_state(const std::string& unit, Context& context);

  // The links that disabling the unit would take away. `runtime`: of those that last until the next boot
  // only.
  base::Result<std::vector<std::string>> links_of(const std::string& unit, bool runtime, Context& context);

  // EnableUnitFiles, DisableUnitFiles, MaskUnitFiles or UnmaskUnitFiles. `runtime`: until the next boot only.
  // Answers whether there was anything to do; false only when a unit is enabled that says nothing of how.
  // Refused by systemd: ErrorCode::io with its text.
  base::Result<bool> change_unit_file(const char* method, const std::string& unit, bool runtime,
                                      Context& context);

  // Queues a job by one of the methods StartUnit, StopUnit, RestartUnit, ReloadUnit, and waits for its end,
  // which is "done", "failed", "dependency", … Refused by systemd: ErrorCode::io with its text.
  base::Result<std::string> run_job(const char* method, const std::string& unit, Context& context);

  // Moves the processes to a new scope unit: a group of theirs that ends when the last of them does. They are
  // there when this returns.
  base::Result<void> start_scope(const std::string& scope, const std::string& description,
                                 std::span<const pid_t> processes, Context& context);
  // Moves more of them there.
  base::Result<void> attach(const std::string& scope, std::span<const pid_t> processes, Context& context);

  // daemon-reload.
  base::Result<void> reload_definitions(Context& context);

 private:
  struct Job {
    std::string path;
    std::string result;
  };
  base::Result<Bus*> bus();
  base::Result<void> listen_to_jobs(Bus& bus, Context& context);
  base::Result<std::string> queue_and_wait(Bus& bus, Message request, const std::string& unit,
                                           Context& context);
  base::Result<Message> get(const std::string& unit, const char* property, Context& context);
  void note_ended_job(sd_bus_message* signal);

  std::unique_ptr<Bus> bus_;
  bool listening_ = false;
  std::vector<Job> ended_jobs_;  // since the last one was queued
};

}  // namespace states::systemd

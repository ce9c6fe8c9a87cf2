// --wait: following machines until each has converged or failed with what it should run now.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/values/value.hpp"
#include "ctl/options.hpp"

namespace ctl {

// The machines of an app that a selector matches.
struct MachineGroup {
  std::string app;
  std::string selector;
  bool operator==(const MachineGroup&) const = default;
};

// How far machines have come. Pure: it is told what the backend says.
class Convergence {
 public:
  // paused: nothing is to be expected of it until somebody resumes it.
  enum class State { pending, converged, failed, offline, paused };
  struct Entry {
    std::int64_t wanted = 0;
    State state = State::pending;
    std::string status;
    std::string error;
    std::string held;  // by whom, until when and why
  };

  // What a list or an event says of a machine ("app/instance"). Events of machines that are not in a list are
  // ignored.
  void see(const std::string& machine, const base::Value& instance);
  void see_event(std::string_view type, const base::Value& data);

  bool done() const;
  bool succeeded() const;  // all have converged
  std::size_t count(State state) const;
  const std::map<std::string, Entry>& machines() const { return machines_; }
  // "3 of 5 machines: 2 converged, 1 failed"
  std::string summary() const;

 private:
  std::map<std::string, Entry> machines_;
};

// Shows progress and what failed; the exit status.
base::Result<int> wait_for_convergence(Session& session, const std::vector<MachineGroup>& groups);

}  // namespace ctl

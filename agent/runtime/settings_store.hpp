// SettingsStore: settings that the backend has sent. A candidate is used for one attempt; it becomes the
// confirmed one when a backend welcomes the agent under it, and is forgotten otherwise, also when the agent
// is killed in between: whatever an operator sends, the agent finds its way back. One thread.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace agent::runtime {

// What is absent stays as the local configuration has it.
struct RemoteSettings {
  std::vector<std::string> ws_uris;
  std::optional<std::chrono::seconds> heartbeat;
  std::optional<std::chrono::seconds> round_delay;
  bool operator==(const RemoteSettings&) const = default;
};

class SettingsStore {
 public:
  explicit SettingsStore(std::string path) : path_(std::move(path)) {}

  // What was kept. A candidate that a killed run was trying is reverted: true then.
  base::Result<bool> load();

  // Under which settings to connect now.
  const RemoteSettings& in_use() const { return candidate_ ? *candidate_ : confirmed_; }
  bool has_candidate() const { return candidate_.has_value(); }

  // Durable when they return.
  // Forgets the addresses for which `refuse` has a reason, of what was confirmed and of a candidate, and
  // answers them, each with its reason. The error: they are forgotten, but not on disk.
  struct Dropped {
    std::string uri, why;
  };
  using Refuse = std::function<std::optional<std::string>(const std::string& uri)>;
  base::Result<std::vector<Dropped>> drop_uris(const Refuse& refuse);

  base::Result<void> propose(RemoteSettings candidate);  // what it leaves out is taken from the confirmed
  base::Result<void> confirm();
  base::Result<void> revert();

 private:
  base::Result<void> write() const;

  const std::string path_;
  RemoteSettings confirmed_;
  std::optional<RemoteSettings> candidate_;
};

}  // namespace agent::runtime

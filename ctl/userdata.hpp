// The userdata of a new machine: the bootstrap script (bootstrap/userdata.sh) with its settings filled in.
// Pure: settings in, text out; any thread.
//
// Everything that a setting may hold is quoted for the shell; what the script, or the agent's configuration
// that it writes, could not carry is refused, and the error names the setting.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace ctl {

// What the smallest of the clouds accepts (EC2).
inline constexpr std::size_t kLargestUserdata = 16 * 1024;

struct UserdataSettings {
  std::vector<std::string> backends;  // wss://
  std::string app = "default";
  std::vector<std::string> tags;  // "key=value"
  std::string version;            // "": the newest of the channel
  std::string channel = "stable";
  std::string release_base;  // http:// or https://
  std::string join_token;
  std::string identity_source;
  std::string ca;         // PEM: who may vouch for the release base; "": the machine's own list
  bool agent_ca = false;  // the agent is to know its backend and its release base by `ca`, too
  std::string made;       // when: a machine whose clock is behind waits
  std::string root;       // the root document, raw
};

enum class UserdataForm { script, cloud_config };

// Below kLargestUserdata; a script that would be larger loses its remarks and indentation first.
base::Result<std::string> make_userdata(const UserdataSettings& settings, UserdataForm form);

// bootstrap/userdata.sh as it was when this was built (generated).
extern const std::string_view kUserdataTemplate;

}  // namespace ctl

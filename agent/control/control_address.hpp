// Where daemon and commands meet.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>
#include <string>

#include "base/result.hpp"

namespace agent::control {

inline std::string socket_path(const std::string& state_dir) {
  return state_dir + "/control.sock";
}
inline std::string pid_path(const std::string& state_dir) {
  return state_dir + "/opsagent.pid";
}

inline base::Result<sockaddr_un> control_address(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path)
    return base::Error(base::ErrorCode::limit,
                       path + " is too long for a socket; choose a shorter state_dir (" +
                           std::to_string(sizeof address.sun_path - 1) + " bytes with the socket's name)");
  std::memcpy(address.sun_path, path.c_str(), path.size());
  return address;
}

}  // namespace agent::control

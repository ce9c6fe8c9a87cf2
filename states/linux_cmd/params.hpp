// The parameters of linux.cmd.
#pragma once

#include <optional>
#include <string_view>

#include "states/param.hpp"

namespace states::linux_cmd {

struct Params {
  std::string_view cmd;
  std::string_view shell = "/bin/sh";
  std::optional<std::string_view> cwd;
  std::optional<std::string_view> user;
  std::optional<std::string_view> group;
  Pairs env;
  std::optional<Seconds> timeout;
  List creates;
  List removes;
  List unless;
  List only_if;
  std::string_view guard_view = "offline";
  List changed_when;
  List if_path_present;
  List if_path_absent;

  // A guard that says when there is nothing left to do. What such a command has done can be read again.
  bool has_goal() const { return !creates.empty() || !removes.empty() || !unless.empty(); }
};

}  // namespace states::linux_cmd

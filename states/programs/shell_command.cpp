#include "states/programs/shell_command.hpp"

#include <algorithm>
#include <array>

namespace states::programs {

namespace {

// Shells that understand "exec 3<&-".
bool is_posix_shell(std::string_view path) {
  constexpr std::array<std::string_view, 8> kNames{"sh",  "dash", "bash", "rbash",
                                                   "ash", "ksh",  "mksh", "zsh"};
  return std::ranges::find(kNames, path.substr(path.rfind('/') + 1)) != kNames.end();
}

}  // namespace

void set_shell_command(base::Command& command, std::string_view shell, std::string_view text,
                       const Context& context) {
  command.argv = {std::string(shell), "-c", std::string(text)};
  if (!context.sensitive && !context.has_secrets(text)) return;
  command.argv = {std::string(shell), base::kScriptPath};
  // The descriptor is closed first, for the sake of what the command starts, perhaps as another user. The
  // shell has the file open under another number by then, and keeps that to itself. In the same line, so that
  // the numbers of lines in complaints are right.
  static_assert(base::kScriptDescriptor == 3);
  command.script = (is_posix_shell(shell) ? "exec 3<&-; " : "") + std::string(text);
}

}  // namespace states::programs

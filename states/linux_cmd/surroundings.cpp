#include "states/linux_cmd/surroundings.hpp"

#include <utility>
#include <vector>

#include "states/programs/shell_command.hpp"

namespace states::linux_cmd {

namespace {

// Replaces an entry of the same name, so that no program sees two.
void set_variable(std::vector<std::string>& environment, std::string_view name, std::string_view value) {
  const std::string prefix = std::string(name) + "=";
  std::erase_if(environment, [&](const std::string& entry) { return entry.starts_with(prefix); });
  environment.push_back(prefix + std::string(value));
}

std::vector<std::string> environment_for(const Params& params, const runners::Runner& runner) {
  auto environment = base::clean_environment(runner.home);
  if (!runner.name.empty()) {
    set_variable(environment, "USER", runner.name);
    set_variable(environment, "LOGNAME", runner.name);
    set_variable(environment, "SHELL", runner.shell);
  }
  for (const Pair& pair : params.env)
    if (!pair.value.empty()) set_variable(environment, pair.key, pair.value);
  return environment;
}

}  // namespace

std::optional<uid_t> whose(const runners::Runner& runner) {
  return runner.identity ? std::optional(runner.identity->uid) : std::nullopt;
}

base::Result<base::Command> command_in(std::string cwd, std::string_view text, const Params& params,
                                       const runners::Runner& runner, Context& context,
                                       base::UniqueFd& folder) {
  auto opened = context.tree.follow(cwd, whose(runner));
  if (!opened) return std::move(opened).error().with_context("working directory");
  folder = std::move(*opened);
  base::Command command;
  programs::set_shell_command(command, params.shell, text, context);
  command.env = environment_for(params, runner);
  command.cwd = std::move(cwd);
  command.cwd_folder = folder.get();
  command.identity = runner.identity;
  return command;
}

}  // namespace states::linux_cmd

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "agent/cli/command_line.hpp"
#include "agent/cli/commands.hpp"

namespace agent::cli {

namespace {

// What the command cannot do without, as a question to the user; empty when all is there.
std::string missing(const Options& options) {
  const auto usage = [](std::string_view text) { return std::string(text); };
  switch (options.command) {
    case CommandName::plan:
    case CommandName::apply:
    case CommandName::validate: {
      const CommandRow& row = command_row(options.command);
      if (options.argument.empty())
        return "which recipe? opsagent " + std::string(row.name) + " " + std::string(row.argument);
      return {};
    }
    case CommandName::run:
      if (options.recipe.empty() && options.ws_uris.empty())
        return usage("for whom? opsagent run --ws-uri URI, or without a backend: opsagent run --recipe FILE");
      if (!options.recipe.empty() && !options.ws_uris.empty())
        return usage("--recipe is for a daemon without backend; with --ws-uri the backend sends the recipe");
      return {};
    case CommandName::completion:
      return options.argument.empty() ? usage("for which shell? opsagent completion bash|zsh|fish")
                                      : std::string();
    case CommandName::clean:
      return options.argument.empty() || options.argument == "reinstall"
                 ? std::string()
                 : usage("what is to be cleaned? opsagent clean, or opsagent clean reinstall");
    case CommandName::install:
    case CommandName::uninstall:
    case CommandName::self_test:
    case CommandName::none:
    case CommandName::states:
    case CommandName::status:
    case CommandName::stop:
    case CommandName::stop_wait:
    case CommandName::stop_end:
    case CommandName::restart:
    case CommandName::restart_wait:
    case CommandName::restart_end:
    case CommandName::doctor:
    case CommandName::version:
      return {};
  }
  return {};
}

// The doctor and the self-test go on where everybody else stops, and say what is wrong.
base::Result<Options> without_configuration(const std::string& command, bool json,
                                            const std::string& problem) {
  auto options = parse_options({.arguments = {command},
                                .environment = [](const char*) -> const char* { return nullptr; },
                                .default_config = "/dev/null"});
  if (!options) return options;
  options->json = json;
  options->config_problem = problem;
  return options;
}

}  // namespace

int run_chosen_command(const Options& options, Console& console) {
  if (options.version) return version_command(console);
  if (options.help || options.command == CommandName::none) {
    (options.help ? console.out : console.err).write(help_text(options.command));
    return options.help ? kOk : kFailure;
  }
  if (const std::string question = missing(options); !question.empty()) {
    console.complain(question);
    return kFailure;
  }
  switch (options.command) {
    case CommandName::plan:
      return plan_command(options, console);
    case CommandName::apply:
      return apply_command(options, console);
    case CommandName::validate:
      return validate_command(options, console);
    case CommandName::states:
      return states_command(options, console);
    case CommandName::run:
      return run_command(options, console);
    case CommandName::status:
      return status_command(options, console);
    case CommandName::stop:
    case CommandName::stop_wait:
    case CommandName::stop_end:
    case CommandName::restart:
    case CommandName::restart_wait:
    case CommandName::restart_end:
      return stop_command(options, console);
    case CommandName::doctor:
      return doctor_command(options, console);
    case CommandName::completion:
      return completion_command(options, console);
    case CommandName::version:
      return version_command(console);
    case CommandName::install:
      return install_command(options, console);
    case CommandName::uninstall:
      return uninstall_command(options, console);
    case CommandName::clean:
      return clean_command(options, console);
    case CommandName::self_test:
      return self_test_command(options, console);
    case CommandName::none:
      break;
  }
  return kFailure;
}

int run_program(int argc, const char* const* argv) {
  auto redactor = std::make_shared<base::Redactor>();
  auto options =
      parse_options({.arguments = std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc),
                     .environment = [](const char* name) -> const char* { return std::getenv(name); }});
  if (!options && argc > 1)
    if (const std::string command = argv[1]; command == "doctor" || command == "self-test")
      options = without_configuration(command,
                                      std::find(argv, argv + argc, std::string_view("--json")) != argv + argc,
                                      options.error().message());
  if (!options) {
    const bool is_hidden =
        ::geteuid() != 0 && ::access(kDefaultConfig, F_OK) == 0 && ::access(kDefaultConfig, R_OK) != 0;
    Console(Options{}, redactor)
        .complain(options.error().message() +
                  (is_hidden ? "\nthe configuration is root's: run it as root" : ""));
    return kFailure;
  }
  Console console(*options, std::move(redactor));
  const int status = run_chosen_command(*options, console);
  console.out.flush();
  if (console.out.ok()) return status;
  // Whoever reads less than all of it knows that; a full disk must not look like success.
  console.complain("not all output could be written");
  return status == kOk ? kFailure : status;
}

}  // namespace agent::cli

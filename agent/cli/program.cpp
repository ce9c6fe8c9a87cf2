#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "agent/cli/commands/commands.hpp"
#include "agent/cli/console.hpp"
#include "agent/cli/options/command_line.hpp"
#include "base/programs/core_dumps.hpp"
#include "base/unique_fd.hpp"
#include "terminal/command_help.hpp"

namespace agent::cli {

namespace {

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

// As a daemon of old: whoever started it gets its prompt back. Before any thread is started.
bool go_to_background() {
  const pid_t child = ::fork();
  if (child < 0) return false;
  if (child > 0) ::_exit(kOk);
  if (::setsid() < 0) return false;
  const base::UniqueFd nowhere(::open("/dev/null", O_RDWR | O_CLOEXEC));
  return nowhere && ::dup2(nowhere.get(), STDIN_FILENO) >= 0 && ::dup2(nowhere.get(), STDOUT_FILENO) >= 0 &&
         ::dup2(nowhere.get(), STDERR_FILENO) >= 0;
}

}  // namespace

int run_chosen_command(const Options& options, terminal::Console& console) {
  if (options.version) return version_command(options, console);
  if (!options.group.empty()) {
    console.out.write(terminal::group_help(command_table(), options.group));
    return kOk;
  }
  if (options.help || !options.command) {
    (options.help ? console.out : console.err).write(terminal::help_text(command_table(), options.command));
    return options.help ? kOk : kFailure;
  }
  if (options.command->least > 0 && options.argument().empty()) {
    console.complain(options.command->question);
    return kFailure;
  }
  return options.command->run(options, console);
}

int run_program(int argc, const char* const* argv) {
  base::forbid_core_dumps();  // recipes have secrets in them
  auto redactor = std::make_shared<base::Redactor>();
  auto options = parse_options(terminal::process_sources(argc, argv));
  if (!options && argc > 1)
    if (const std::string command = argv[1]; command == "doctor" || command == "self-test")
      options = without_configuration(command,
                                      std::find(argv, argv + argc, std::string_view("--json")) != argv + argc,
                                      options.error().message());
  if (!options) {
    const bool is_hidden =
        ::geteuid() != 0 && ::access(kDefaultConfig, F_OK) == 0 && ::access(kDefaultConfig, R_OK) != 0;
    make_console(Options{}, redactor)
        .complain(options.error().message() +
                  (is_hidden ? "\nthe configuration is root's: run it as root" : ""));
    return kFailure;
  }
  terminal::Console console = make_console(*options, std::move(redactor));
  for (const std::string& remark : options->remarks)
    if (!options->quiet) console.warn(remark);
  if (options->background && !go_to_background()) {
    console.complain("cannot go to the background");
    return kFailure;
  }
  const int status = run_chosen_command(*options, console);
  console.out.flush();
  if (console.out.ok()) return status;
  // Whoever reads less than all of it knows that; a full disk must not look like success.
  console.complain("not all output could be written");
  return status == kOk ? kFailure : status;
}

}  // namespace agent::cli

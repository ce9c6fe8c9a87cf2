#include <algorithm>
#include <csignal>

#include "ctl/api.hpp"
#include "ctl/commands/commands.hpp"
#include "ctl/login_file.hpp"
#include "ctl/options/command_line.hpp"
#include "ctl/time_text.hpp"
#include "terminal/command_help.hpp"

namespace ctl {

namespace {

// The answer to "ask the machines for so long" comes later than that.
constexpr std::int64_t kAnswerMargin = 30;

int show_error(const base::Error& error, bool unreachable, terminal::Console& console) {
  console.complain(error.message());
  if (unreachable) return kUnreachable;
  return error.code() == base::ErrorCode::invalid ? kUsage : kFailed;
}

int run_chosen_command(const Options& options, terminal::Console& console) {
  if (options.version) return *version_command(options, console);
  if (!options.group.empty()) {
    console.out.write(terminal::group_help(command_table(), options.group));
    return kOk;
  }
  if (options.help || !options.command) {
    (options.help ? console.out : console.err).write(terminal::help_text(command_table(), options.command));
    return options.help ? kOk : kUsage;
  }
  return options.command->run(options, console);
}

}  // namespace

int run_with_server(base::Result<int> (*command)(Session&), const Options& options,
                    terminal::Console& console) {
  auto login = choose_login(options, login_path());
  if (!login) return show_error(login.error(), false, console);
  if (!login->token.empty()) console.redactor->add(login->token);
  const std::chrono::seconds answer_timeout(kAnswerMargin +
                                            std::max<std::int64_t>(options.timeout.value_or(60), 60));
  auto ca = read_ca(login->ca);
  if (!ca) return show_error(ca.error(), false, console);
  auto api = Api::make({.server = login->server,
                        .token = login->token,
                        .ca = std::move(*ca),
                        .answer_timeout = answer_timeout});
  if (!api) return show_error(api.error(), false, console);
  Session session{.options = options, .console = console, .api = **api};
  auto status = command(session);
  if (!(*api)->token_expires().empty())
    console.warn("your access token ends " + until_text(base::Value::string((*api)->token_expires()), now()) +
                 ": ask an administrator for another one ('opsctl token create')");
  const bool unreachable = (*api)->unreachable();
  if (!unreachable)
    if (const auto followed = follow_authorities(**api, *login, login_path()); !followed)
      console.complain("the authorities that vouch for the backend could not be stored: " +
                       followed.error().message());
  return status ? *status : show_error(status.error(), unreachable, console);
}

int run_local(base::Result<int> (*command)(const Options&, terminal::Console&), const Options& options,
              terminal::Console& console) {
  auto status = command(options, console);
  return status ? *status : show_error(status.error(), false, console);
}

int run_program(int argc, const char* const* argv) {
  std::signal(SIGPIPE,
              SIG_IGN);  // a reader that goes away ends the output, and is told apart from a lost backend
  auto redactor = std::make_shared<base::Redactor>();
  auto options = parse_options(terminal::process_sources(argc, argv));
  if (!options) {
    terminal::Console({.program = "opsctl", .colour = {}}, redactor).complain(options.error().message());
    return kUsage;
  }
  terminal::Console console(
      {.program = "opsctl", .colour = options->color, .live = options->format == Format::table},
      std::move(redactor));
  const int status = run_chosen_command(*options, console);
  console.out.flush();
  if (console.out.ok()) return status;
  // Whoever reads less than all of it knows that; a full disk must not look like success.
  console.complain("not all output could be written");
  return status == kOk ? kFailed : status;
}

}  // namespace ctl

// `opsagent stop`, `restart` and their kin: ask the daemon, and wait until it has happened.
#include <poll.h>

#include "agent/cli/commands/commands.hpp"
#include "agent/control/control_address.hpp"
#include "agent/control/control_client.hpp"
#include "agent/control/pid_file.hpp"
#include "agent/control/service_unit.hpp"
#include "base/values/json.hpp"

namespace agent::cli {

namespace {

using control::ControlClient;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kStatusPatience{5};
// A state that is cancelled gets TERM, 5 s, KILL; the rest is writing down what there is.
constexpr std::chrono::seconds kLongestStop{60};
constexpr std::chrono::hours kForever{24 * 365};
constexpr std::chrono::seconds kLongestStart{30};

struct Request {
  std::string_view when;
  bool restart = false;
};

// "restart-wait" restarts and waits; a name without an ending does it now.
Request request_of(std::string_view command) {
  const std::size_t dash = command.find('-');
  return {.when = dash == command.npos ? "now" : command.substr(dash + 1),
          .restart = command.starts_with("restart")};
}

// The new daemon may need a moment before it listens.
bool wait_for_start(const std::string& state_dir) {
  constexpr int kPollMs = 50;
  const Clock::time_point deadline = Clock::now() + kLongestStart;
  while (Clock::now() < deadline) {
    if (auto client = ControlClient::connect(state_dir))
      if (client->ask(R"({"command":"status"})", kStatusPatience)) return true;
    ::poll(nullptr, 0, kPollMs);
  }
  return false;
}

std::string error_in(const std::string& answer) {
  base::Arena arena;
  const auto parsed = base::parse_json(answer, arena);
  const auto* root = std::get_if<base::Value>(&parsed);
  const base::Value* error = root ? root->find("error") : nullptr;
  return error ? std::string(error->text()) : std::string();
}

// The unit that would start it again, asked as long as it runs.
std::optional<control::ServiceUnit> unit_of_daemon(const std::string& state_dir) {
  const auto pid = control::PidFile::holder(control::pid_path(state_dir));
  return pid ? control::unit_kept_by(*pid) : std::nullopt;
}

}  // namespace

int stop_command(const Options& options, terminal::Console& console) {
  const Request request = request_of(options.command->name);
  const auto fail = [&](const std::string& text) {
    console.complain(text);
    return kFailure;
  };
  auto client = ControlClient::connect(options.state_dir);
  if (!client) return fail(client.error().message());
  const auto unit = request.restart ? std::nullopt : unit_of_daemon(options.state_dir);
  auto answer = client->ask(R"({"command":"stop","when":")" + std::string(request.when) + R"(","restart":)" +
                                (request.restart ? "true" : "false") + "}",
                            kStatusPatience);
  if (!answer) return fail(answer.error().message());
  if (const std::string error = error_in(*answer); !error.empty()) return fail(error);
  const std::chrono::milliseconds patience =
      request.when == "now" ? std::chrono::milliseconds(kLongestStop) : std::chrono::milliseconds(kForever);
  if (!client->wait_for_end(patience)) return fail("the daemon has not ended in time; see 'opsagent status'");
  if (request.restart) {
    if (!wait_for_start(options.state_dir)) return fail("the daemon has ended and does not answer again");
    console.out.line("restarted");
    return kOk;
  }
  if (!unit) {
    console.out.line("stopped");
    return kOk;
  }
  // It has ended as it was asked to; now its unit is told, before it starts the next one.
  if (auto told = control::stop_unit(*unit); !told)
    return fail("the daemon has ended, but systemd will start it again: " + unit->name +
                " could not be stopped: " + told.error().message() +
                "\nstop it with: " + unit->stop_command());
  console.out.line("stopped, and with it the unit " + unit->name +
                   ": it starts again at the next boot, or with '" + unit->start_command() + "'");
  return kOk;
}

}  // namespace agent::cli

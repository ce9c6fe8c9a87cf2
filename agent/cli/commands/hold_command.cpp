// `opsagent hold` and `run-now`: rounds do not begin for a while, or one begins at once. The daemon does it.
#include <pwd.h>
#include <unistd.h>

#include <cstdlib>

#include "agent/cli/commands/commands.hpp"
#include "agent/control/control_client.hpp"
#include "base/utc_text.hpp"
#include "base/values/json.hpp"
#include "base/values/json_text.hpp"
#include "protocol/messages.hpp"
#include "terminal/duration.hpp"
#include "terminal/wrap.hpp"

namespace agent::cli {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;
using std::chrono::seconds;

constexpr seconds kPatience{30};  // for a disk that is busy

// Who asks: for people, and for no right. Behind sudo the person, not root alone.
std::string who() {
  const passwd* user = ::getpwuid(::geteuid());
  const std::string name = user ? user->pw_name : "uid " + std::to_string(::geteuid());
  const char* person = std::getenv("SUDO_USER");
  return person && *person && name != person ? std::string(person).substr(0, 64) + " (as " + name + ")"
                                             : name;
}

Result<seconds> length_of(const Options& options) {
  if (!options.hold_for.empty() && !options.hold_until.empty())
    return Error(ErrorCode::invalid, "--for and --until say the same: give one of them");
  if (options.hold_until.empty())
    return options.hold_for.empty() ? Result<seconds>(seconds(protocol::kDefaultHold))
                                    : terminal::parse_duration(options.hold_for, "--for");
  const auto until = base::parse_utc(options.hold_until);
  if (!until)
    return Error(ErrorCode::invalid,
                 "--until must be an instant like 2026-03-01T12:00:00Z, not '" + options.hold_until + "'");
  const auto left = std::chrono::ceil<seconds>(*until - std::chrono::system_clock::now());
  if (left.count() < 1) return Error(ErrorCode::invalid, options.hold_until + " has passed");
  return left;
}

// What the daemon answers, with what its values live in.
struct Answer {
  std::string text = {};
  base::Arena arena = {};
  base::Value value = {};
};

// Its word against it is an error.
Result<std::unique_ptr<Answer>> ask(const Options& options, const std::string& request) {
  auto client = control::ControlClient::connect(options.state_dir);
  if (!client) return std::move(client).error();
  auto text = client->ask(request, kPatience);
  if (!text) return std::move(text).error();
  auto answer = std::make_unique<Answer>();
  answer->text = std::move(*text);
  const auto parsed = base::parse_json(answer->text, answer->arena);
  const auto* root = std::get_if<base::Value>(&parsed);
  if (!root) return Error(ErrorCode::invalid, "the daemon's answer is no JSON");
  answer->value = *root;
  if (const base::Value* error = root->find("error"))
    return Error(ErrorCode::invalid, error->text() == "no such command"
                                         ? "the daemon is of an older version that knows nothing of this: "
                                           "'opsagent restart-wait' starts the new one"
                                         : std::string(error->text()));
  return answer;
}

std::string text_at(const base::Value& object, std::string_view key) {
  const base::Value* value = object.find(key);
  return value ? std::string(value->text()) : std::string();
}

int fail(terminal::Console& console, const Error& error) {
  console.complain(error.message());
  return kFailure;
}

}  // namespace

int hold_command(const Options& options, terminal::Console& console) {
  if (options.is_release) {
    if (!options.hold_for.empty() || !options.hold_until.empty() || !options.reason.empty() ||
        options.ends_round)
      return fail(console, Error(ErrorCode::invalid, "--end stands alone"));
    const auto released = ask(options, R"({"command":"release"})");
    if (!released) return fail(console, released.error());
    const base::Value* was_held = (*released)->value.find("was_held");
    console.out.line(was_held && was_held->as_bool().value_or(false)
                         ? "the machine's own hold is over"
                         : "the machine was not held by a command of its own");
    const std::string still = text_at((*released)->value, "still");
    if (still.empty()) return kOk;
    console.complain("no round begins yet: " + still);
    return kFailure;
  }
  const auto length = length_of(options);
  if (!length) return fail(console, length.error());
  const std::string request = base::JsonText()
                                  .begin_object()
                                  .member("command", "hold")
                                  .member("for_s", length->count())
                                  .member("by", who())
                                  .member("reason", options.reason)
                                  .member("now", options.ends_round)
                                  .end_object()
                                  .take();
  const auto held = ask(options, request);
  if (!held) return fail(console, held.error());
  console.out.line(terminal::printable(text_at((*held)->value, "held")));
  console.out.line("No round begins until then, or until 'opsagent hold --end'." +
                   std::string(options.ends_round ? "" : " One that is under way comes to its end."));
  return kOk;
}

int run_now_command(const Options& options, terminal::Console& console) {
  const auto begun = ask(options, R"({"command":"run-now"})");
  if (!begun) return fail(console, begun.error());
  console.out.line("A round begins now, or as soon as the one under way is over.");
  return kOk;
}

}  // namespace agent::cli

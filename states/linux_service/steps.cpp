#include "states/linux_service/steps.hpp"

#include <array>

#include "base/text.hpp"
#include "states/files/working_folder.hpp"
#include "states/linux_service/services.hpp"
#include "states/programs/shell_command.hpp"

namespace states::linux_service {

std::string problem_of(std::string_view name, const ServiceStatus& status) {
  const std::string service = "Service " + std::string(name);
  switch (status.presence) {
    case Presence::available:
      return {};
    case Presence::missing:
      return service + " does not exist on this host";
    case Presence::masked:
      return service + " is masked";
    case Presence::unusable:
      return service + " cannot be loaded: " + status.detail;
  }
  return {};
}

std::string changed_text(const Context& context) {
  if (context.watch_changed.empty()) return {};
  return " (changed: " + base::join(context.watch_changed, ", ") + ")";
}

bool ends_everything(const base::Error& error) {
  return error.code() == base::ErrorCode::cancelled || error.code() == base::ErrorCode::timed_out;
}

namespace {

constexpr std::chrono::seconds kCommandTimeout{600};

// One step under way. `failure` is empty as long as all went well.
struct Attempt {
  const Step& step;
  ServiceControl* control = nullptr;
  std::chrono::steady_clock::time_point acted{};
  Action done = Action::start;  // what reload_or_restart came to
  std::string failure;
  std::string output;
};

void add_text(std::string& all, std::string_view text) {
  text = base::trim(text);
  if (!text.empty()) all.append(all.empty() ? "" : "\n\n").append(text);
}

base::Result<void> run_command(Attempt& attempt, ApplyContext& context) {
  auto folder = files::working_folder(context);
  if (!folder) return std::move(folder).error();
  base::Command command;
  programs::set_shell_command(command, "/bin/sh", attempt.step.command, context);
  command.cwd = *std::move(folder);
  command.timeout = kCommandTimeout;
  auto completed = context.commands.run(std::move(command));
  if (!completed) return std::move(completed).error();
  add_text(attempt.output, completed->output);
  if (completed->ending == base::Ending::signalled)
    attempt.failure =
        "Action for " + attempt.step.name + " failed (signal " + std::to_string(completed->signal) + ")";
  else if (completed->exit_code != 0)
    attempt.failure =
        "Action for " + attempt.step.name + " failed (exit " + std::to_string(completed->exit_code) + ")";
  return {};
}

// Performs the verb; `attempt.failure` says why it did not work.
base::Result<void> perform(Attempt& attempt, Verb verb) {
  auto performed = attempt.control->perform(attempt.step.name, verb);
  if (!performed) return std::move(performed).error();
  static constexpr std::array<std::string_view, 3> kWords{
      " did not start: ", " did not reload: ", " did not restart: "};
  attempt.done = verb == Verb::start    ? Action::start
                 : verb == Verb::reload ? Action::reload
                                        : Action::restart;
  attempt.failure = performed->ok ? std::string()
                                  : attempt.step.name + std::string(kWords[static_cast<std::size_t>(verb)]) +
                                        performed->detail;
  add_text(attempt.output, performed->output);
  return {};
}

base::Result<void> act(Attempt& attempt, Services& services, ApplyContext& context) {
  auto found = services.prepare(attempt.step.name);
  if (!found) return std::move(found).error();
  attempt.control = found->control;
  attempt.failure = problem_of(attempt.step.name, found->status);
  if (!attempt.failure.empty()) return {};
  switch (attempt.step.action) {
    case Action::start:
      return perform(attempt, Verb::start);
    case Action::reload:
      return perform(attempt, Verb::reload);
    case Action::restart:
      return perform(attempt, Verb::restart);
    case Action::reload_or_restart:
      if (found->status.can_reload) {
        if (auto reloaded = perform(attempt, Verb::reload); !reloaded || attempt.failure.empty())
          return reloaded;
      }
      return perform(attempt, Verb::restart);
    case Action::command:
      attempt.done = Action::command;
      return run_command(attempt, context);
  }
  return {};
}

// Whether the service runs now that its step has been done.
base::Result<void> verify(Attempt& attempt, Services& services) {
  auto status = services.wait_until_steady(*attempt.control, attempt.step.name, attempt.acted);
  if (!status) return std::move(status).error();
  if (status->is_running()) return {};
  static constexpr std::array<std::string_view, 5> kWords{
      " did not start: ", " is not running after reload: ", " is not running after restart: ", "",
      " is not running after its action: "};
  attempt.failure =
      attempt.step.name + std::string(kWords[static_cast<std::size_t>(attempt.done)]) + status->detail;
  return {};
}

std::string success_text(const Attempt& attempt, const std::string& changed) {
  switch (attempt.done) {
    case Action::start:
      return attempt.step.name + " started";
    case Action::reload:
      return attempt.step.name + " reloaded" + changed;
    case Action::restart:
    case Action::reload_or_restart:
      return attempt.step.name + " restarted" + changed;
    case Action::command:
      break;
  }
  return "Action for " + attempt.step.name + " executed" + changed;
}

// Cancelled or out of time: what was done until then is told too.
Applied stopped(const base::Error& error, const std::vector<Attempt>& attempts, const Context& context) {
  std::string output;
  for (const Attempt& attempt : attempts)
    add_text(output, attempt.output);
  add_text(output, context.commands.interrupted_output());
  return Applied::failed(error, std::move(output));
}

}  // namespace

Applied take_steps(const Steps& steps, ApplyContext& context) {
  Services services(context);
  std::vector<Attempt> attempts;
  // All are told to act before any is watched for its first seconds, so that ten services take no longer than
  // one.
  for (const Step& step : steps.steps) {
    Attempt& attempt = attempts.emplace_back(Attempt{.step = step});
    auto acted = act(attempt, services, context);
    if (!acted && ends_everything(acted.error())) return stopped(acted.error(), attempts, context);
    if (!acted) attempt.failure = acted.error().with_context(step.name).message();
    attempt.acted = std::chrono::steady_clock::now();
  }
  for (Attempt& attempt : attempts) {
    if (!attempt.failure.empty()) continue;
    auto verified = verify(attempt, services);
    if (!verified && ends_everything(verified.error())) return stopped(verified.error(), attempts, context);
    if (!verified) attempt.failure = verified.error().with_context(attempt.step.name).message();
  }

  std::string comment;
  std::string output;
  bool ok = steps.problems.empty();
  const std::string changed = changed_text(context);
  for (Attempt& attempt : attempts) {
    ok = ok && attempt.failure.empty();
    add_text(comment, attempt.failure.empty() ? success_text(attempt, changed) : attempt.failure);
    add_text(output, attempt.output);
    if (!attempt.failure.empty() && attempt.control)
      add_text(output, attempt.control->recent_log(attempt.step.name));
  }
  for (const std::string& running : steps.running)
    add_text(comment, running);
  for (const std::string& problem : steps.problems)
    add_text(comment, problem);
  return ok ? Applied::done(std::move(comment), std::move(output))
            : Applied::failed(std::move(comment), std::move(output));
}

}  // namespace states::linux_service

#include "states/linux_service/steps.hpp"

#include <array>

#include "base/text.hpp"
#include "states/files/working_folder.hpp"
#include "states/linux_service/services.hpp"
#include "states/programs/shell_command.hpp"
#include "states/systemd/leftovers.hpp"

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
  const std::string reasons = reasons_text(context);
  return reasons.empty() ? std::string() : " (changed: " + reasons + ")";
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
  Action done = Action::none;      // what reload_or_restart came to
  std::vector<std::string> did{};  // "enabled", "started"
  bool has_reacted = false;        // the action went well, whatever else did not
  std::string failure{};
  std::string output{};
};

void fail(Attempt& attempt, std::string why) {
  attempt.failure.append(attempt.failure.empty() ? "" : "; ").append(why);
}

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
  systemd::Leftovers left(command, context);
  auto completed = context.commands.run(command);
  if (!completed) return std::move(completed).error();
  add_text(attempt.output, completed->output);
  if (completed->ending == base::Ending::signalled)
    fail(attempt,
         "Action for " + attempt.step.name + " failed (signal " + std::to_string(completed->signal) + ")");
  else if (completed->exit_code != 0)
    fail(attempt,
         "Action for " + attempt.step.name + " failed (exit " + std::to_string(completed->exit_code) + ")");
  else
    attempt.has_reacted = true;
  return {};
}

Action action_of(Verb verb) {
  switch (verb) {
    case Verb::start:
      return Action::start;
    case Verb::reload:
      return Action::reload;
    case Verb::restart:
      return Action::restart;
    case Verb::stop:
      return Action::stop;
  }
  return Action::none;
}

// Performs the verb. `attempt.failure` says why it did not work; the answer is whether it cannot work.
base::Result<bool> perform(Attempt& attempt, Verb verb) {
  auto performed = attempt.control->perform(attempt.step.name, verb);
  if (!performed) return std::move(performed).error();
  static constexpr std::array<std::string_view, 4> kWords{
      " did not start: ", " did not reload: ", " did not restart: ", " did not stop: "};
  attempt.done = action_of(verb);
  add_text(attempt.output, performed->output);
  attempt.has_reacted = performed->ok;
  if (!performed->ok)
    fail(attempt,
         attempt.step.name + std::string(kWords[static_cast<std::size_t>(verb)]) + performed->detail);
  return performed->is_unsupported;
}

// What runs goes on as it was when a reload fails. A restart would end it, and what could not be read then
// cannot be read by a new process either.
base::Result<void> reload(Attempt& attempt, bool may_restart) {
  auto is_unsupported = perform(attempt, Verb::reload);
  if (!is_unsupported) return std::move(is_unsupported).error();
  if (attempt.has_reacted) return {};
  if (*is_unsupported && may_restart) {
    attempt.failure.clear();
    auto restarted = perform(attempt, Verb::restart);
    return restarted ? base::Result<void>() : std::move(restarted).error();
  }
  auto status = attempt.control->look(attempt.step.name);
  if (!status) return std::move(status).error();
  if (status->is_running()) attempt.failure += " (it was not restarted, and still runs as it was)";
  return {};
}

base::Result<void> act(Attempt& attempt, const ServiceStatus& status, ApplyContext& context) {
  const auto only = [&](Verb verb) {
    auto performed = perform(attempt, verb);
    return performed ? base::Result<void>() : std::move(performed).error();
  };
  switch (attempt.step.action) {
    case Action::none:
      return {};
    case Action::start:
      return only(Verb::start);
    case Action::stop:
      return only(Verb::stop);
    case Action::restart:
      return only(Verb::restart);
    case Action::reload:
      return reload(attempt, false);
    case Action::reload_or_restart:
      return status.can_reload.value_or(true) ? reload(attempt, true) : only(Verb::restart);
    case Action::command:
      attempt.done = Action::command;
      return run_command(attempt, context);
  }
  return {};
}

// Whether the service starts at boot. One that could not be enabled is started all the same.
base::Result<void> set_boot(Attempt& attempt, const Services::Found& found, BootVerb verb,
                            Services& services) {
  auto performed = services.perform_for_boot(found, attempt.step.name, verb);
  if (!performed) return std::move(performed).error();
  static constexpr std::array<std::string_view, 4> kDid{"enabled", "disabled", "masked", "unmasked"};
  const std::string did(kDid[static_cast<std::size_t>(verb)]);
  add_text(attempt.output, performed->output);
  if (performed->ok)
    attempt.did.push_back(did);
  else
    fail(attempt, attempt.step.name + " could not be " + did + ": " + performed->detail);
  return {};
}

base::Result<void> take(Attempt& attempt, Services& services, ApplyContext& context) {
  const Step& step = attempt.step;
  auto found = services.prepare(step.name);
  if (!found) return std::move(found).error();
  attempt.control = found->control;
  if (step.unmask) {
    if (auto set = set_boot(attempt, *found, BootVerb::unmask, services); !set) return set;
    if (!attempt.failure.empty()) return {};
    found = services.prepare(step.name);
    if (!found) return std::move(found).error();
    attempt.control = found->control;
  }
  const bool needs_unit =
      step.enable.value_or(false) || (step.action != Action::none && step.action != Action::stop);
  if (std::string problem = problem_of(step.name, found->status); needs_unit && !problem.empty()) {
    fail(attempt, std::move(problem));
    return {};
  }
  if (step.enable)
    if (auto set = set_boot(attempt, *found, *step.enable ? BootVerb::enable : BootVerb::disable, services);
        !set)
      return set;
  if (auto acted = act(attempt, found->status, context); !acted) return acted;
  return step.mask ? set_boot(attempt, *found, BootVerb::mask, services) : base::Result<void>();
}

// Whether the service runs now that its step has been done, or does not.
base::Result<void> verify(Attempt& attempt, Services& services) {
  if (attempt.done == Action::none) return {};
  if (attempt.done == Action::stop) {
    auto status = attempt.control->look(attempt.step.name);
    if (!status) return std::move(status).error();
    if (status->activity != Activity::stopped)
      fail(attempt, attempt.step.name + " still runs after its stop");
    return {};
  }
  auto status = services.wait_until_steady(*attempt.control, attempt.step.name, attempt.acted);
  if (!status) return std::move(status).error();
  if (status->is_running()) return {};
  static constexpr std::array<std::string_view, 7> kWords{"",
                                                          " did not start: ",
                                                          " is not running after reload: ",
                                                          " is not running after restart: ",
                                                          "",
                                                          " is not running after its action: ",
                                                          ""};
  attempt.has_reacted = false;
  fail(attempt,
       attempt.step.name + std::string(kWords[static_cast<std::size_t>(attempt.done)]) + status->detail);
  return {};
}

std::string success_text(const Attempt& attempt, const std::string& changed) {
  static constexpr std::array<std::string_view, 7> kDid{"", "started", "reloaded", "restarted",
                                                        "", "",        "stopped"};
  std::vector<std::string> did = attempt.did;
  // What is masked is masked last.
  if (const std::string_view word = kDid[static_cast<std::size_t>(attempt.done)]; !word.empty())
    did.emplace(did.end() - (attempt.step.mask ? 1 : 0), word);
  const bool is_reaction = attempt.done == Action::reload || attempt.done == Action::restart;
  std::string text;
  if (!did.empty()) text = attempt.step.name + " " + base::join(did, ", ") + (is_reaction ? changed : "");
  if (attempt.done == Action::command)
    text.append(text.empty() ? "" : "; ").append("Action for " + attempt.step.name + " executed" + changed);
  return text;
}

// Cancelled or out of time: what was done until then is told too. Whoever has reacted need not do so once
// more because another one takes too long; there is no time to see whether he stays.
Applied stopped(const base::Error& error, const std::vector<Attempt>& attempts, const Context& context) {
  std::string output;
  std::vector<std::string> reacted;
  for (const Attempt& attempt : attempts) {
    add_text(output, attempt.output);
    if (attempt.has_reacted) reacted.push_back(attempt.step.name);
  }
  add_text(output, context.commands.interrupted_output());
  Applied applied = Applied::failed(error, std::move(output));
  applied.reacted = std::move(reacted);
  return applied;
}

}  // namespace

Applied take_steps(const Steps& steps, ApplyContext& context) {
  Services services(context);
  std::vector<Attempt> attempts;
  // All are told to act before any is watched for its first seconds, so that ten services take no longer than
  // one.
  for (const Step& step : steps.steps) {
    Attempt& attempt = attempts.emplace_back(Attempt{.step = step});
    auto acted = take(attempt, services, context);
    if (!acted && ends_everything(acted.error())) return stopped(acted.error(), attempts, context);
    if (!acted) fail(attempt, acted.error().with_context(step.name).message());
    attempt.acted = std::chrono::steady_clock::now();
  }
  for (Attempt& attempt : attempts) {
    if (!attempt.has_reacted) continue;
    auto verified = verify(attempt, services);
    if (!verified && ends_everything(verified.error())) return stopped(verified.error(), attempts, context);
    if (!verified) {
      attempt.has_reacted = false;
      fail(attempt, verified.error().with_context(attempt.step.name).message());
    }
  }

  std::string comment;
  std::string output;
  std::vector<std::string> reacted;
  bool ok = steps.problems.empty();
  const std::string changed = changed_text(context);
  for (Attempt& attempt : attempts) {
    ok = ok && attempt.failure.empty();
    add_text(comment, attempt.failure.empty() ? success_text(attempt, changed) : attempt.failure);
    add_text(output, attempt.output);
    if (attempt.has_reacted) reacted.push_back(attempt.step.name);
    if (!attempt.failure.empty() && attempt.control)
      add_text(output, attempt.control->recent_log(attempt.step.name));
  }
  for (const std::string& kept : steps.kept)
    add_text(comment, kept);
  for (const std::string& problem : steps.problems)
    add_text(comment, problem);
  Applied applied = ok ? Applied::done(std::move(comment), std::move(output))
                       : Applied::failed(std::move(comment), std::move(output));
  applied.reacted = std::move(reacted);
  return applied;
}

}  // namespace states::linux_service

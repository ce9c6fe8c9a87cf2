#include "states/linux_cmd/command_guards.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/output_text.hpp"
#include "states/linux_cmd/surroundings.hpp"
#include "states/programs/ending_text.hpp"

namespace states::linux_cmd {

namespace {

// Of what a guard prints only the last line is ever shown.
constexpr std::size_t kKeptOfGuard = 4 * 1024;

base::View view_of(const Params& params) {
  if (params.guard_view == kViewAll) return base::View::all;
  return params.guard_view == kViewNetwork ? base::View::read_only : base::View::read_only_offline;
}

// One guard's answer: whether it is true, and how it ended, for people.
struct Answer {
  bool is_true = false;
  std::string ending{};
};

class CommandGuards {
 public:
  CommandGuards(const Params& params, const runners::Runner& runner, Context& context)
      : params_(params), runner_(runner), context_(context) {}

  // A plan instead of an answer: there is none.
  std::variant<Plan, Answer> ask(const std::string& name, std::string_view text) {
    base::UniqueFd folder;
    auto command = command_in(cwd(), text, params_, runner_, context_, folder);
    if (!command) return Plan::fail(std::move(command).error().with_context(name));
    command->timeout = std::min<std::chrono::milliseconds>(kGuardTime, context_.commands.time_left());
    command->keep_head = command->keep_tail = kKeptOfGuard;
    command->view = view_of(params_);
    auto completed = context_.commands.run(*command);
    if (!completed && is_not_started(completed.error()) && command->view != base::View::all) {
      if (context_.plans_only)
        return Plan::unknown({}, name + " cannot be asked in a plan: " + completed.error().message());
      // In a run it does what the recipe says, as the command itself does.
      command->view = base::View::all;
      completed = context_.commands.run(*command);
    }
    if (!completed) return Plan::fail(std::move(completed).error().with_context(name));
    return judge(name, *completed);
  }

 private:
  static bool is_not_started(const base::Error& error) {
    return error.code() != base::ErrorCode::cancelled && error.code() != base::ErrorCode::timed_out;
  }

  // The command's own, as far as it is there: a plan makes no folder.
  std::string cwd() {
    if (params_.cwd) return std::string(*params_.cwd);
    std::string own = context_.host.state_dir + "/tmp";
    return context_.tree.follow(own) ? own : "/";
  }

  std::variant<Plan, Answer> judge(const std::string& name, const base::Completed& completed) {
    const std::string ending = programs::ending_of(completed);
    if (completed.ending == base::Ending::signalled)
      return Plan::fail(name + " is neither true nor false: it was ended by " + ending);
    if (completed.left_behind > 0)
      return Plan::fail(name + " left " + std::to_string(completed.left_behind) +
                        (completed.left_behind == 1 ? " process" : " processes") +
                        " running: a guard only looks");
    Answer answer{.is_true = completed.ok(), .ending = ending};
    const std::string output = base::clean_output(completed.output);
    if (const std::string_view line = base::last_line(output);
        !answer.is_true && !context_.sensitive && !line.empty())
      answer.ending += ": " + programs::shortened(line, context_);
    return answer;
  }

  const Params& params_;
  const runners::Runner& runner_;
  Context& context_;
};

std::string name_of(std::string_view guard, List commands, std::size_t index) {
  std::string name(guard);
  if (commands.size() > 1) name += " " + std::to_string(index + 1) + " of " + std::to_string(commands.size());
  return name;
}

// Why nobody can ask the guards now.
std::optional<Plan> not_askable(const Params& params, const Context& context) {
  const std::string which = params.only_if.empty() ? "unless" : "only_if";
  if (const Overlay::Entry* who = context.overlay.anybody())
    return Plan::unknown(who->state_id, "What " + which + " says may depend on what earlier states do");
  if (context.plans_only && params.guard_view == kViewAll)
    return Plan::unknown({}, "A plan does not ask " + which + ", which may do anything (guard_view: all)");
  return std::nullopt;
}

}  // namespace

std::variant<Plan, std::string> held_back_by_commands(const Params& params, const runners::Runner& runner,
                                                      Context& context) {
  if (params.only_if.empty() && params.unless.empty()) return std::string();
  if (auto plan = not_askable(params, context)) return std::move(*plan);
  CommandGuards guards(params, runner, context);
  for (std::size_t i = 0; i < params.only_if.size(); ++i) {
    const std::string name = name_of("only_if", params.only_if, i);
    auto asked = guards.ask(name, params.only_if[i]);
    if (auto* plan = std::get_if<Plan>(&asked)) return std::move(*plan);
    const Answer& answer = std::get<Answer>(asked);
    if (answer.is_true) continue;
    Plan held = Plan::kept("Skipped: " + name + " is not true (" + answer.ending + ")");
    held.is_held_back = true;
    return held;
  }
  for (std::size_t i = 0; i < params.unless.size(); ++i) {
    const std::string name = name_of("unless", params.unless, i);
    auto asked = guards.ask(name, params.unless[i]);
    if (auto* plan = std::get_if<Plan>(&asked)) return std::move(*plan);
    const Answer& answer = std::get<Answer>(asked);
    if (!answer.is_true) return name + " is not true (" + answer.ending + ")";
  }
  if (params.unless.empty()) return std::string("only_if is true");
  return Plan::kept("Nothing to do: unless is true");
}

}  // namespace states::linux_cmd

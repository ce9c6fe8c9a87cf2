// linux.cmd: a shell command, run in every round while its guards hold.
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/output_text.hpp"
#include "base/text.hpp"
#include "states/files/working_folder.hpp"
#include "states/linux_cmd/changed_when.hpp"
#include "states/linux_cmd/command_guards.hpp"
#include "states/linux_cmd/params.hpp"
#include "states/linux_cmd/path_guards.hpp"
#include "states/linux_cmd/paths.hpp"
#include "states/linux_cmd/surroundings.hpp"
#include "states/programs/ending_text.hpp"
#include "states/runners/run_as.hpp"
#include "states/state.hpp"
#include "states/systemd/leftovers.hpp"

namespace states::linux_cmd {

namespace {

constexpr std::array kGuardViews{kViewOffline, kViewNetwork, kViewAll};

constexpr auto kParams = param_table(
    param<&Params::cmd>("cmd", "the command, handed to the shell as it is; a list is joined by newlines")
        .multiline()
        .join_lists()
        .required(),
    param<&Params::shell>("shell", "absolute path of the shell, run as `<shell> -c <cmd>`")
        .fallback("/bin/sh"),
    param<&Params::cwd>("cwd", "absolute path of the working directory")
        .fallback("`tmp` in the agent's state directory, created when missing"),
    param<&Params::user>("user", "whom to run as, with that user's groups").fallback("the agent's"),
    param<&Params::group>("group", "primary group to run with").fallback("the user's, else the agent's"),
    param<&Params::env>("env", "additional environment; entries without a value are skipped").split_words(),
    param<&Params::timeout>("timeout", "seconds after which it is ended with all that it started")
        .fallback("600"),
    param<&Params::creates>("creates", "what the command makes: nothing to do once all of these exist")
        .names(),
    param<&Params::removes>("removes", "what the command removes: nothing to do once none of these exists")
        .names(),
    param<&Params::unless>("unless", "commands that only look: nothing to do once all of them succeed"),
    param<&Params::only_if>("only_if", "commands that only look: run only if all of them succeed"),
    param<&Params::guard_view>("guard_view",
                               "what `unless` and `only_if` may use: `offline` (nothing is written, no "
                               "network), `network` (nothing is written), `all` (not asked in plans)")
        .only(kGuardViews)
        .fallback("`offline`"),
    param<&Params::changed_when>("changed_when",
                                 "when it counts as a change: exit statuses, texts that the output "
                                 "contains, or `never`")
        .fallback("whenever it has run"),
    param<&Params::if_path_present>("if-path-present", "run only if all of these exist").names(),
    param<&Params::if_path_absent>("if-path-absent", "run only if none of these exists").names());

class Cmd final : public State<Params> {
 public:
  constexpr Cmd()
      : State({.name = "linux.cmd", .summary = "A shell command, run in every round while its guards hold"},
              kParams) {}

 private:
  base::Result<void> check(const Params& params) const override;
  PlanWith<NoSteps> plan(const Params& params, Context& context) const override;
  Applied apply(const Params& params, const Plan& plan, const NoSteps& steps,
                ApplyContext& context) const override;
  std::optional<std::chrono::seconds> time_limit(const Params& params) const override;
  std::vector<Effect> touched(const Params& params) const override;
  bool can_reread(const Params& params) const override { return params.has_goal(); }
};

base::Error invalid(std::string message) {
  return {base::ErrorCode::invalid, std::move(message)};
}

base::Result<void> Cmd::check(const Params& params) const {
  std::vector<std::string_view> paths{params.shell};
  if (params.cwd) paths.push_back(*params.cwd);
  for (const List named : {params.creates, params.removes, params.if_path_present, params.if_path_absent})
    paths.insert(paths.end(), named.begin(), named.end());
  for (std::string_view path : paths)
    if (!path.starts_with('/') || path.find('\0') != std::string_view::npos)
      return invalid("'" + std::string(path) + "' is not an absolute path");
  if (params.cmd.find('\0') != std::string_view::npos) return invalid("Illegal cmd: it contains NUL");
  for (const Pair& pair : params.env) {
    const bool illegal = pair.key.find_first_of(std::string_view("=\0", 2)) != std::string_view::npos ||
                         pair.value.find('\0') != std::string_view::npos;
    if (illegal && !pair.value.empty())
      return invalid("Illegal value for 'env': '" + std::string(pair.key) + "'");
  }
  for (const std::string_view path : params.creates)
    if (std::ranges::find(params.removes, path) != params.removes.end())
      return invalid("'" + std::string(path) + "' is both in 'creates' and in 'removes'");
  if (auto when = read_changed_when(params.changed_when); !when) return std::move(when).error();
  return {};
}

// What check() has let pass.
ChangedWhen changed_when(const Params& params) {
  auto when = read_changed_when(params.changed_when);
  return when ? std::move(*when) : ChangedWhen();
}

Plan::Counts counts_of(const Params& params) {
  return changed_when(params).counts();
}

std::optional<std::chrono::seconds> Cmd::time_limit(const Params& params) const {
  return params.timeout ? std::optional(params.timeout->value) : std::nullopt;
}

std::vector<Effect> Cmd::touched(const Params& params) const {
  if (counts_of(params) == Plan::Counts::never) return {};
  std::vector<Effect> effects{{.kind = EffectKind::anything, .name = std::string(params.cmd)}};
  for (const List named : {params.creates, params.removes})
    for (const std::string_view path : named)
      effects.push_back({.kind = EffectKind::anything, .name = std::string(path)});
  return effects;
}

// `message` as a failure, or as "unknown" when an earlier state may yet provide the path.
Plan not_there(std::string_view path, std::string message, const Context& context) {
  if (const Overlay::Entry* provider = context.overlay.provider(EffectKind::file, path))
    return Plan::unknown(provider->state_id, message + " yet");
  return Plan::fail(std::move(message));
}

// Who may enter it is said elsewhere than in its mode.
bool has_access_list(const std::string& folder, Context& context) {
  const auto opened = context.tree.folder(folder);
  if (!opened) return false;
  const std::string by_descriptor = "/proc/self/fd/" + std::to_string(*opened);
  return ::getxattr(by_descriptor.c_str(), "system.posix_acl_access", nullptr, 0) > 0;
}

bool may_enter(const struct stat& folder, const base::Identity& who) {
  if (folder.st_uid == who.uid) return (folder.st_mode & S_IXUSR) != 0;
  const bool is_in_group =
      folder.st_gid == who.gid || std::ranges::find(who.groups, folder.st_gid) != who.groups.end();
  return (folder.st_mode & (is_in_group ? S_IXGRP : S_IXOTH)) != 0;
}

// Why whoever the command runs as may not go to a folder.
std::optional<Plan> closed_folder(const std::string& cwd, const std::string& path, std::string_view user,
                                  const base::Identity& who, Context& context) {
  for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string at = path.substr(0, end);
    const Overlay::Entry* planned = planned_at(at, context);
    if (planned && planned->effect.present && !planned->effect.attributes_only) {
      if (!planned->effect.is_open && planned->effect.owner != user)
        return Plan::unknown(planned->state_id, "Whether user " + std::string(user) + " may enter " + at +
                                                    " depends on what an earlier state does");
    } else {
      const auto found = context.tree.look(at);
      if (found && *found && S_ISDIR((*found)->st_mode) && !may_enter(**found, who) &&
          !has_access_list(at, context))
        return Plan::fail("Working directory " + cwd + " is not accessible to user " + std::string(user) +
                          (at == cwd ? "" : ": " + at + " is closed to him"));
    }
    if (end == std::string::npos) return std::nullopt;
  }
}

// The same for a working directory, which root may always enter.
std::optional<Plan> closed_cwd(const std::string& cwd, const Params& params, const runners::Runner& runner,
                               Context& context) {
  const auto clean = base::clean_path(cwd);
  if (!params.user || !clean || (runner.identity && runner.identity->uid == 0)) return std::nullopt;
  // Of one that an earlier state makes, whose number nobody knows, nothing is there yet.
  constexpr id_t kNobody = static_cast<id_t>(-1);
  const base::Identity who = runner.identity.value_or(base::Identity{kNobody, kNobody, {}});
  if (auto closed = closed_folder(cwd, *clean, *params.user, who, context)) return closed;
  const std::string real = context.tree.real_end(*clean);
  return real.empty() || real == *clean ? std::nullopt : closed_folder(cwd, real, *params.user, who, context);
}

// Why the command could not be started, as far as can be seen beforehand.
std::optional<Plan> obstacle(const Params& params, std::variant<runners::Runner, Plan> runner,
                             Context& context) {
  const std::string shell(params.shell);
  const Overlay::Entry* planned_shell = planned_at(shell, context);
  if (planned_shell ? !planned_shell->effect.present : !base::find_program(shell))
    return not_there(shell, "Shell " + shell + " is not executable", context);
  if (auto* stop = std::get_if<Plan>(&runner)) return std::move(*stop);
  if (!params.cwd) return std::nullopt;
  const std::string cwd(*params.cwd);
  if (const Overlay::Entry* planned = planned_at(cwd, context)) {
    if (!planned->effect.present) return Plan::fail("Working directory " + cwd + " does not exist");
    if (planned->effect.kind == EffectKind::directory)
      return closed_cwd(cwd, params, std::get<runners::Runner>(runner), context);
    return Plan::fail("Working directory " + cwd + " is not a directory");
  }
  const auto folder = found_at(cwd, whose(std::get<runners::Runner>(runner)), context);
  if (!folder) return Plan::fail("Working directory: " + folder.error().message());
  if (!*folder) return not_there(cwd, "Working directory " + cwd + " does not exist", context);
  if (!S_ISDIR((*folder)->st_mode)) return Plan::fail("Working directory " + cwd + " is not a directory");
  return closed_cwd(cwd, params, std::get<runners::Runner>(runner), context);
}

// In which rounds it runs, and what that counts as.
std::string how_often(const Params& params, const Context& context) {
  const std::size_t paths = params.creates.size() + params.removes.size() + params.if_path_present.size() +
                            params.if_path_absent.size();
  const bool asks = !params.unless.empty() || !params.only_if.empty();
  std::string text = "runs while its guards hold";
  if (paths == 0 && !asks) text = context.is_paced ? "" : "runs every round";
  if (paths == 1 && !asks) {
    if (!params.creates.empty()) text = "runs until " + std::string(params.creates.front()) + " exists";
    if (!params.removes.empty()) text = "runs until " + std::string(params.removes.front()) + " is gone";
    if (!params.if_path_absent.empty())
      text = "runs until " + std::string(params.if_path_absent.front()) + " exists";
  }
  const std::string_view counts = counts_of(params) == Plan::Counts::by_outcome
                                      ? "whether it changes something is known when it has run"
                                  : counts_of(params) == Plan::Counts::never ? "never counts as a change"
                                                                             : "";
  if (!text.empty() && !counts.empty()) text += "; ";
  text += counts;
  return text.empty() ? text : " (" + text + ")";
}

PlanWith<NoSteps> Cmd::plan(const Params& params, Context& context) const {
  auto found = runners::run_as(params.user, params.group, context);
  const runners::Runner* known = std::get_if<runners::Runner>(&found);
  if (auto held = held_back_by_paths(params, known ? whose(*known) : std::nullopt, context))
    return std::move(*held);
  const runners::Runner runner = known ? *known : runners::Runner();
  if (auto stop = obstacle(params, std::move(found), context)) return std::move(*stop);
  auto asked = held_back_by_commands(params, runner, context);
  if (auto* held = std::get_if<Plan>(&asked)) return std::move(*held);
  const std::string& why = std::get<std::string>(asked);
  Plan plan{.verdict = Verdict::change,
            .message = "Run a command" + how_often(params, context) + (why.empty() ? "" : ": " + why),
            .counts = counts_of(params)};
  plan.changes = {{.what = "command",
                   .before = params.has_goal() ? "not done" : "",
                   .after = programs::shortened(params.cmd, context)}};
  plan.effects = touched(params);
  return plan;
}

Applied judge(const Params& params, const base::Completed& completed, const Context& context) {
  std::string output = base::clean_output(completed.output);
  switch (judge_ending(changed_when(params), completed, output)) {
    case Ended::changed:
      return Applied::done(completed.ok() ? std::string("Command succeeded")
                                          : "Command succeeded (" + programs::ending_of(completed) + ")",
                           std::move(output));
    case Ended::unchanged: {
      Applied applied = Applied::done("Command succeeded and changed nothing", std::move(output));
      applied.changed_nothing = true;
      return applied;
    }
    case Ended::failed:
      break;
  }
  std::string comment = "Command failed (" + programs::ending_of(completed) + ")";
  if (const std::string_view line = base::last_line(output); !context.sensitive && !line.empty())
    comment += ": " + programs::shortened(line, context);
  return Applied::failed(std::move(comment), std::move(output));
}

Applied Cmd::apply(const Params& params, const Plan&, const NoSteps&, ApplyContext& context) const {
  auto cwd =
      params.cwd ? base::Result<std::string>(std::string(*params.cwd)) : files::working_folder(context);
  if (!cwd) return Applied::failed(cwd.error());
  auto found = runners::run_as(params.user, params.group, context);
  if (auto* stop = std::get_if<Plan>(&found)) return Applied::failed(stop->message);
  base::UniqueFd folder;
  auto command =
      command_in(std::move(*cwd), params.cmd, params, std::get<runners::Runner>(found), context, folder);
  if (!command) return Applied::failed(command.error());
  command->timeout = context.commands.time_left();  // by time_limit(), or what the recipe says
  systemd::Leftovers left(*command, context);
  auto completed = context.commands.run(*command);
  if (!completed)
    return Applied::failed(completed.error(), base::clean_output(context.commands.interrupted_output()));
  Applied applied = judge(params, *completed, context);
  if (const std::string remark = left.remark(); !remark.empty()) applied.comment += "; " + remark;
  return applied;
}

constexpr Cmd kType;

}  // namespace

extern const StateType& kState;
constinit const StateType& kState = kType;

}  // namespace states::linux_cmd

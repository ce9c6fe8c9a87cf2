// linux.cmd: a shell command, run in every round while its guards hold.
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/output_text.hpp"
#include "base/text.hpp"
#include "states/files/working_folder.hpp"
#include "states/programs/ending_text.hpp"
#include "states/programs/shell_command.hpp"
#include "states/runners/run_as.hpp"
#include "states/state.hpp"
#include "states/systemd/leftovers.hpp"

namespace states::linux_cmd {

namespace {

struct Params {
  std::string_view cmd;
  std::string_view shell = "/bin/sh";
  std::optional<std::string_view> cwd;
  std::optional<std::string_view> user;
  std::optional<std::string_view> group;
  Pairs env;
  std::optional<Seconds> timeout;
  List if_path_present;
  List if_path_absent;
};

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
    param<&Params::if_path_present>("if-path-present", "run only if all of these exist").names(),
    param<&Params::if_path_absent>("if-path-absent", "run only if none of these exists").names());

class Cmd final : public State<Params> {
 public:
  constexpr Cmd()
      : State({.name = "linux.cmd",
               .summary = "A shell command, run in every round while its guards hold",
               .rereadable = false},
              kParams) {}

 private:
  base::Result<void> check(const Params& params) const override;
  PlanWith<NoSteps> plan(const Params& params, Context& context) const override;
  Applied apply(const Params& params, const Plan& plan, const NoSteps& steps,
                ApplyContext& context) const override;
  std::optional<std::chrono::seconds> time_limit(const Params& params) const override;
  std::vector<Effect> touched(const Params& params) const override;
};

base::Error invalid(std::string message) {
  return {base::ErrorCode::invalid, std::move(message)};
}

base::Result<void> Cmd::check(const Params& params) const {
  std::vector<std::string_view> paths{params.shell};
  if (params.cwd) paths.push_back(*params.cwd);
  paths.insert(paths.end(), params.if_path_present.begin(), params.if_path_present.end());
  paths.insert(paths.end(), params.if_path_absent.begin(), params.if_path_absent.end());
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
  return {};
}

std::optional<std::chrono::seconds> Cmd::time_limit(const Params& params) const {
  return params.timeout ? std::optional(params.timeout->value) : std::nullopt;
}

std::vector<Effect> Cmd::touched(const Params& params) const {
  return {{.kind = EffectKind::anything, .name = std::string(params.cmd)}};
}

// Whose links count as the agent's own: those of the user that the command runs as.
std::optional<uid_t> whose(const runners::Runner& runner) {
  return runner.identity ? std::optional(runner.identity->uid) : std::nullopt;
}

// What is at a path, links followed as far as the agent follows any; nothing when it is not there.
base::Result<std::optional<struct stat>> found_at(std::string_view path, std::optional<uid_t> whose,
                                                  Context& context) {
  auto found = context.tree.follow(path, whose);
  if (!found) {
    const base::ErrorCode why = found.error().code();
    if (why == base::ErrorCode::not_found || why == base::ErrorCode::exists)
      return std::optional<struct stat>();
    return std::move(found).error();
  }
  struct stat st {};
  if (::fstat(found->get(), &st) != 0) return base::os_error(errno, path);
  return std::optional(st);
}

// What an earlier state of the recipe would have done to this very path.
const Overlay::Entry* planned_at(std::string_view path, const Context& context) {
  if (context.overlay.empty()) return nullptr;
  auto clean = base::clean_path(path);
  return clean ? context.overlay.followed(*clean) : nullptr;
}

base::Result<bool> exists(std::string_view path, std::optional<uid_t> whose, Context& context) {
  if (const Overlay::Entry* planned = planned_at(path, context)) return planned->effect.present;
  auto found = found_at(path, whose, context);
  if (!found) return std::move(found).error();
  return found->has_value();
}

// `message` as a failure, or as "unknown" when an earlier state may yet provide the path.
Plan not_there(std::string_view path, std::string message, const Context& context) {
  if (const Overlay::Entry* provider = context.overlay.provider(EffectKind::file, path))
    return Plan::unknown(provider->state_id, message + " yet");
  return Plan::fail(std::move(message));
}

// Who may make something else of a path of a guard than there is now.
const Overlay::Entry* who_may_change(std::string_view path, bool is_there, const Context& context) {
  const Overlay& overlay = context.overlay;
  if (overlay.empty() || planned_at(path, context)) return nullptr;
  const Overlay::Entry* who =
      is_there ? overlay.command_naming(path) : overlay.provider(EffectKind::file, path);
  overlay.take_doubt();
  return who;
}

// The plan to do nothing, when a guard says so.
std::optional<Plan> held_back(const Params& params, std::optional<uid_t> whose, Context& context) {
  // What holds it back for certain decides, whatever becomes of other paths, and whoever it would run as.
  const Overlay::Entry* doubt = context.overlay.take_doubt();
  std::string open = "It depends on what an earlier state does";
  std::optional<Plan> problem;
  const auto check = [&](std::string_view path, bool wanted) -> std::optional<Plan> {
    const auto is_there = exists(path, whose, context);
    const Overlay::Entry* who = context.overlay.take_doubt();
    if (!who && !is_there) {
      problem = Plan::fail((wanted ? "if-path-present: " : "if-path-absent: ") + is_there.error().message());
      return std::nullopt;
    }
    if (!who) who = who_may_change(path, *is_there, context);
    if (who) {
      if (!doubt) open = std::string(path) + " depends on what an earlier state does";
      doubt = who;
      return std::nullopt;
    }
    if (*is_there == wanted) return std::nullopt;
    return Plan::kept("Skipped: " + std::string(path) + (*is_there ? " exists" : " is missing"));
  };
  for (std::string_view path : params.if_path_present)
    if (auto stop = check(path, true)) return stop;
  for (std::string_view path : params.if_path_absent)
    if (auto stop = check(path, false)) return stop;
  return doubt ? std::optional(Plan::unknown(doubt->state_id, std::move(open))) : std::move(problem);
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

// In which rounds it runs.
std::string how_often(const Params& params) {
  if (params.if_path_present.empty() && params.if_path_absent.empty()) return "runs every round";
  if (params.if_path_present.empty() && params.if_path_absent.size() == 1)
    return "runs until " + std::string(params.if_path_absent.front()) + " exists";
  return "runs while its guards hold";
}

PlanWith<NoSteps> Cmd::plan(const Params& params, Context& context) const {
  auto runner = runners::run_as(params.user, params.group, context);
  const runners::Runner* known = std::get_if<runners::Runner>(&runner);
  if (auto skipped = held_back(params, known ? whose(*known) : std::nullopt, context))
    return std::move(*skipped);
  if (auto stop = obstacle(params, std::move(runner), context)) return std::move(*stop);
  Plan plan{.verdict = Verdict::change, .message = "Run a command (" + how_often(params) + ")"};
  plan.changes = {{.what = "command", .before = "", .after = programs::shortened(params.cmd, context)}};
  plan.effects = touched(params);
  return plan;
}

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

Applied judge(const base::Completed& completed, const Context& context) {
  std::string output = base::clean_output(completed.output);
  if (completed.ok()) return Applied::done("Command succeeded", std::move(output));
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
  const runners::Runner& runner = std::get<runners::Runner>(found);
  const auto folder = context.tree.follow(*cwd, whose(runner));
  if (!folder) return Applied::failed(folder.error().with_context("working directory"));

  base::Command command;
  programs::set_shell_command(command, params.shell, params.cmd, context);
  command.env = environment_for(params, runner);
  command.cwd = std::move(*cwd);
  command.cwd_folder = folder->get();
  command.identity = runner.identity;
  command.timeout = context.commands.time_left();  // by time_limit(), or what the recipe says
  systemd::Leftovers left(command, context);
  auto completed = context.commands.run(command);
  if (!completed)
    return Applied::failed(completed.error(), base::clean_output(context.commands.interrupted_output()));
  Applied applied = judge(*completed, context);
  if (const std::string remark = left.remark(); !remark.empty()) applied.comment += "; " + remark;
  return applied;
}

constexpr Cmd kType;

}  // namespace

extern const StateType& kState;
constinit const StateType& kState = kType;

}  // namespace states::linux_cmd

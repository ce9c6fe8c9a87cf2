// linux.cronjob: commands in a user's crontab.
#include <algorithm>
#include <cctype>

#include "base/output_text.hpp"
#include "base/text.hpp"
#include "states/linux_cronjob/cron_field.hpp"
#include "states/linux_cronjob/crontab.hpp"
#include "states/prerequisites/prerequisite.hpp"
#include "states/state.hpp"

namespace states::linux_cronjob {

namespace {

struct Params {
  std::string_view user = "root";
  List cmd;
  std::string_view minute = "*";
  std::string_view hour = "*";
  std::string_view day_of_month = "*";
  std::string_view month = "*";
  std::string_view day_of_week = "*";
};

constexpr auto kParams = param_table(
    param<&Params::user>("user", "whose crontab").fallback("root"),
    param<&Params::cmd>("cmd", "commands of one line; one job each, all at the same times").required(),
    param<&Params::minute>("minute", "0-59, *; lists, ranges and steps of these; random; as for all times")
        .fallback("*"),
    param<&Params::hour>("hour", "0-23").fallback("*"),
    param<&Params::day_of_month>("day-of-month", "1-31").fallback("*"),
    param<&Params::month>("month", "1-12, or jan-dec").fallback("*"),
    param<&Params::day_of_week>("day-of-week", "0-7, or sun-sat; 0 and 7 are Sunday").fallback("*"));

constexpr prerequisites::Prerequisite kNeeded{"linux.cronjob", "crontab", {"cron"}, {"cronie"}};
constexpr std::size_t kLargestCrontab = 1024 * 1024;  // cron itself takes less

struct Steps {
  std::string user;
  std::string before;  // the whole crontab as it was found
  std::string text;    // the whole crontab, to be installed
  std::vector<std::string> comments;
};

class Cronjob final : public State<Params, Steps> {
 public:
  constexpr Cronjob()
      : State({.name = "linux.cronjob", .summary = "Commands in a user's crontab"}, kParams) {}

 private:
  base::Result<void> check(const Params& params) const override;
  PlanWith<Steps> plan(const Params& params, Context& context) const override;
  Applied apply(const Params& params, const Plan& plan, const Steps& steps,
                ApplyContext& context) const override;
  std::vector<Effect> touched(const Params& params) const override;
};

base::Error invalid(std::string message) {
  return {base::ErrorCode::invalid, std::move(message)};
}

// cron runs one line of text.
base::Result<void> check_command(std::string_view command) {
  const std::string_view text = base::trim(command);
  if (text.empty()) return invalid("Empty command");
  if (text.find('\0') != std::string_view::npos) return invalid("Illegal cmd: it contains NUL");
  if (text.find_first_of("\n\r") != std::string_view::npos)
    return invalid(
        "Illegal cmd: it has several lines, and a cron job is one line. Put the lines into a script "
        "(linux.file with mode 0755) and let the job run that, or give each line as a command of its own");
  return {};
}

base::Result<void> Cronjob::check(const Params& params) const {
  const std::pair<const CronField&, std::string_view> fields[] = {{kMinute, params.minute},
                                                                  {kHour, params.hour},
                                                                  {kDayOfMonth, params.day_of_month},
                                                                  {kMonth, params.month},
                                                                  {kDayOfWeek, params.day_of_week}};
  for (const auto& [field, value] : fields)
    if (auto fine = check_cron_field(field, value); !fine) return fine;
  for (const std::string_view command : params.cmd)
    if (auto fine = check_command(command); !fine) return fine;
  return {};
}

// What tells machines apart and stays: systemd's id of it, else the host's name.
std::string machine_name(Context& context) {
  constexpr std::size_t kLongest = 4096;
  auto id = context.tree.read("/etc/machine-id", kLongest);
  if (!id || base::trim(*id).empty()) id = context.tree.read("/etc/hostname", kLongest);
  return id ? std::string(base::trim(*id)) : std::string();
}

bool uses_random(const Params& params) {
  return is_random(params.minute) || is_random(params.hour) || is_random(params.day_of_month) ||
         is_random(params.month) || is_random(params.day_of_week);
}

// Of the job with this command.
std::string times_of(const Params& params, std::string_view command, std::string_view machine) {
  const std::pair<const CronField&, std::string_view> fields[] = {{kMinute, params.minute},
                                                                  {kHour, params.hour},
                                                                  {kDayOfMonth, params.day_of_month},
                                                                  {kMonth, params.month},
                                                                  {kDayOfWeek, params.day_of_week}};
  std::string times;
  for (const auto& [field, text] : fields) {
    times.append(times.empty() ? "" : " ");
    if (is_random(text))
      times.append(std::to_string(random_value(field, machine, command)));
    else
      times.append(base::trim(text));
  }
  std::ranges::transform(times, times.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return times;
}

// Where crontab(1) keeps them: Debian and Alpine, SUSE, Red Hat and Arch.
constexpr const char* kSpools[] = {"/var/spool/cron/crontabs", "/var/spool/cron/tabs", "/var/spool/cron"};

// One that is looked for in the wrong place would seem to be empty, and what is in it would be lost.
std::string crontab_path(const std::string& user, Context& context) {
  using Family = base::OsRelease::Family;
  const Family family = context.host.os.family;
  const char* spool = family == Family::debian ? kSpools[0] : kSpools[2];
  if (family == Family::other)
    spool = *std::ranges::find_if(std::begin(kSpools), std::end(kSpools) - 1, [&](const char* folder) {
      return static_cast<bool>(context.tree.folder(folder));
    });
  return std::string(spool) + "/" + user;
}

// The user's crontab as crontab(1) would list it; empty when there is none.
base::Result<std::string> read_crontab(const std::string& user, Context& context) {
  const std::string path = crontab_path(user, context);
  if (const Overlay::Entry* planned = context.overlay.path(path); planned && planned->effect.content)
    return *planned->effect.content;
  auto found = context.tree.look(path);
  if (!found) return std::move(found).error();
  if (!*found) return std::string();
  auto spooled = context.tree.read(path, kLargestCrontab);
  if (!spooled) return std::move(spooled).error();
  return std::string(without_header(*spooled));
}

std::vector<Effect> Cronjob::touched(const Params& params) const {
  std::vector<Effect> touched = prerequisites::possible_packages(kNeeded);
  for (const char* spool : kSpools)
    touched.push_back(
        {.kind = EffectKind::file, .name = std::string(spool) + "/" + std::string(params.user)});
  return touched;
}

// The account's name, or the plan that stops here. Nothing for a user that an earlier state would create.
std::variant<std::optional<std::string>, Plan> account_of(std::string_view user, Context& context) {
  if (const base::User* account = context.accounts.user(user)) return account->name;
  const Overlay::Entry* planned = context.overlay.find(EffectKind::user, user);
  if (planned && planned->effect.present) return std::nullopt;
  const std::string message = "User '" + std::string(user) + "' does not exist";
  if (const Overlay::Entry* provider = context.overlay.provider(EffectKind::user, user))
    return Plan::unknown(provider->state_id, message + " yet");
  return Plan::fail(message);
}

// Whether a state asks for this job, of whomever.
bool asks_for(const Params& params, std::string_view times, std::string_view command,
              std::string_view machine) {
  return times_of(params, command, machine) == times &&
         std::ranges::any_of(params.cmd, [&](std::string_view given) { return one_line(given) == command; });
}

std::string account_name(std::string_view user, Context& context) {
  const base::User* account = context.accounts.user(user);
  return account ? account->name : std::string(user);
}

// What to say of a job, before or after it was put there; an empty `line`: nothing of what it does.
std::string describe(JobState state, bool done, const std::string& user, const std::string& line) {
  const std::string_view what = state == JobState::present ? "Job already present for "
                                : state == JobState::added
                                    ? (done ? "Job added for " : "Add a job for ")
                                    : (done ? "Job updated for " : "Update the job of ");
  return std::string(what) + user + (line.empty() ? "" : ": " + line);
}

PlanWith<Steps> Cronjob::plan(const Params& params, Context& context) const {
  auto account = account_of(params.user, context);
  if (auto* stop = std::get_if<Plan>(&account)) return std::move(*stop);
  const auto& name = std::get<std::optional<std::string>>(account);
  Steps steps{.user = name.value_or(std::string(params.user))};
  auto present = read_crontab(steps.user, context);
  if (!present) return Plan::fail(present.error());

  Crontab crontab(*present);
  const bool any_random =
      uses_random(params) || std::ranges::any_of(context.recipe, [&](const RecipePart& other) {
        return other.type == this && uses_random(values(*other.params));
      });
  const std::string machine = any_random ? machine_name(context) : std::string();
  const auto is_wanted = [&](std::string_view at, std::string_view command) {
    return asks_for(params, at, command, machine) ||
           std::ranges::any_of(context.recipe, [&](const RecipePart& other) {
             if (other.type != this) return false;
             const Params& its = values(*other.params);
             return asks_for(its, at, command, machine) && account_name(its.user, context) == steps.user;
           });
  };
  Plan plan;
  for (std::string_view given : params.cmd) {
    const std::string command = one_line(given);
    const std::string times = times_of(params, command, machine);
    const std::string line = times + " " + command;
    const Crontab::Put put = crontab.put(times, command, is_wanted);
    const std::string shown = context.sensitive ? std::string() : line;
    steps.comments.push_back(describe(put.state, true, steps.user, shown));
    plan.message += (plan.message.empty() ? "" : "; ") + describe(put.state, false, steps.user, shown);
    if (put.state == JobState::present) continue;
    plan.changes.push_back({.what = "cron job of " + steps.user,
                            .before = put.state == JobState::added ? "absent" : put.before,
                            .after = line});
  }
  if (plan.changes.empty()) return plan;

  if (auto planned = prerequisites::plan_program(context, kNeeded, plan); !planned)
    return Plan::fail(planned.error());
  plan.verdict = Verdict::change;
  steps.text = crontab.text();
  plan.effects.push_back(
      {.kind = EffectKind::file, .name = crontab_path(steps.user, context), .content = steps.text});
  steps.before = std::move(*present);
  return {std::move(plan), std::move(steps)};
}

Applied Cronjob::apply(const Params&, const Plan&, const Steps& steps, ApplyContext& context) const {
  auto installed = prerequisites::ensure_program(context, kNeeded);
  if (!installed) return Applied::failed(installed.error());
  // What its user has added meanwhile must not be lost.
  const auto present = read_crontab(steps.user, context);
  if (!present) return Applied::failed(present.error(), std::move(installed->output));
  if (*present != steps.before)
    return Applied::failed(
        base::changed_since_planned("The crontab of " + steps.user, "it has other lines").message(),
        std::move(installed->output));
  base::Command command;
  command.argv = {std::string(kNeeded.program), "-u", steps.user, "-"};
  command.input = steps.text;
  auto completed = context.commands.run(std::move(command));
  if (!completed) return Applied::failed(completed.error(), std::move(installed->output));
  const std::string said = base::clean_output(completed->output);
  std::string output = std::move(installed->output) + said;
  if (!completed->ok()) {
    // The first line names the place and the reason, the ones after it only that it was not installed.
    std::string_view why = base::trim(said);
    why = why.substr(0, why.find('\n'));
    return Applied::failed(
        "crontab refused the entry" + (context.sensitive ? std::string() : ": " + std::string(why)),
        std::move(output));
  }
  return Applied::done(installed->before(base::join(steps.comments, "\n\n")), std::move(output));
}

constexpr Cronjob kType;

}  // namespace

extern const StateType& kState;
constinit const StateType& kState = kType;

}  // namespace states::linux_cronjob

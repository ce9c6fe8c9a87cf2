// common.virtualenv: a virtual environment of Python, with what a file of requirements names.
#include <algorithm>

#include "base/output_text.hpp"
#include "base/text.hpp"
#include "base/tree/tree.hpp"
#include "states/common_virtualenv/environment.hpp"
#include "states/common_virtualenv/requirements.hpp"
#include "states/files/working_folder.hpp"
#include "states/language_packages/pip_output.hpp"
#include "states/programs/ending_text.hpp"
#include "states/state.hpp"

namespace states::common_virtualenv {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;
using language_packages::Runner;

struct Params {
  std::string_view path;
  std::string_view python_bin = "/usr/bin/python3";
  std::optional<std::string_view> requirements_file;
  bool system_site_packages = false;
  List extra_search_dir;
};

constexpr auto kParams = param_table(
    param<&Params::path>("path", "folder of the environment").names().required(),
    param<&Params::python_bin>("python-bin", "interpreter to make it with")
        .fallback("/usr/bin/python3")
        .alias("python"),
    param<&Params::requirements_file>("requirements-file", "file of requirements, installed by pip")
        .fallback("nothing is installed"),
    param<&Params::system_site_packages>("system-site-packages",
                                         "the system's packages count in it; only when it is made")
        .fallback("false")
        .alias("system_site_packages"),
    param<&Params::extra_search_dir>("extra-search-dir", "folders with wheels, in which pip looks as well")
        .alias("extra_search_dir"));

struct Steps {
  std::string path;
  bool makes = false;
  std::string interpreter;
  bool installs = false;
};

class Virtualenv final : public State<Params, Steps> {
 public:
  constexpr Virtualenv()
      : State({.name = "common.virtualenv",
               .summary = "A virtual environment of Python, and what a file of requirements names",
               .timeout = std::chrono::hours(1)},
              kParams) {}

 private:
  Result<void> check(const Params& params) const override;
  PlanWith<Steps> plan(const Params& params, Context& context) const override;
  Applied apply(const Params& params, const Plan& plan, const Steps& steps,
                ApplyContext& context) const override;
  std::vector<Effect> touched(const Params& params) const override;
};

Result<void> Virtualenv::check(const Params& params) const {
  auto path = base::clean_path(params.path);
  if (!path) return std::move(path).error();
  if (*path == "/") return Error(ErrorCode::invalid, "Illegal value for 'path': '/'");
  const bool is_name = params.python_bin.find('/') == params.python_bin.npos;
  if (params.python_bin.starts_with('-') || params.python_bin.empty())
    return Error(ErrorCode::invalid,
                 "Illegal value for 'python-bin': '" + std::string(params.python_bin) + "'");
  if (!is_name)
    if (auto python = base::clean_path(params.python_bin); !python) return std::move(python).error();
  if (params.requirements_file)
    if (auto file = base::clean_path(*params.requirements_file); !file) return std::move(file).error();
  for (const std::string_view folder : params.extra_search_dir)
    if (auto clean = base::clean_path(folder); !clean) return std::move(clean).error();
  return {};
}

std::vector<Effect> Virtualenv::touched(const Params& params) const {
  const auto path = base::clean_path(params.path);
  std::vector<Effect> touched{
      {.kind = EffectKind::directory, .name = path ? *path : std::string(params.path)}};
  for (const char* package : {"python3-venv", "virtualenv", "python3", "python3-virtualenv"})
    touched.push_back({.kind = EffectKind::package, .name = package});
  return touched;
}

// What a failed look means for a plan: a file that is missing may come from an earlier state.
Plan unless_provided(const Error& error, std::string_view path, Context& context) {
  const Overlay::Entry* earlier = context.overlay.path(path);
  if (!earlier && error.code() == ErrorCode::not_found)
    earlier = context.overlay.provider(EffectKind::file, path);
  return earlier
             ? Plan::unknown(earlier->state_id, std::string(path) + " depends on what an earlier state does")
             : Plan::fail(error);
}

// Wheels are programs: whoever can put one there has it run.
Result<void> check_search_dirs(List folders, const Runner& runner, Context& context) {
  for (const std::string_view folder : folders) {
    const auto clean = base::clean_path(folder);
    const auto found = context.tree.look(*clean);
    if (!found) return found.error();
    if (*found)
      if (auto owned = language_packages::check_owned_way(*clean, runner.uid, context); !owned) return owned;
  }
  return {};
}

std::optional<Plan> plan_making(const Params& params, const Runner& runner, Presence presence, Steps& steps,
                                Plan& plan, Context& context) {
  auto interpreter = find_interpreter(params.python_bin, runner, context);
  const Maker maker = maker_for(interpreter ? *interpreter : std::string(params.python_bin), context);
  if (!interpreter && interpreter.error().code() != ErrorCode::not_found)
    return Plan::fail(interpreter.error());
  // The system's own comes with what makes environments.
  if (!interpreter && params.python_bin != Params{}.python_bin)
    return unless_provided(interpreter.error(), params.python_bin, context);
  steps.makes = true;
  steps.interpreter = interpreter ? std::move(*interpreter) : std::string(params.python_bin);
  plan.changes.push_back({.what = "environment " + steps.path,
                          .before = presence == Presence::absent ? "absent" : "its python is gone",
                          .after = "made with " + steps.interpreter});
  if (auto there = prerequisites::plan_program(context, maker.needed, plan); !there)
    return Plan::fail(there.error());
  plan.message = (presence == Presence::absent ? "Make environment " : "Mend environment ") + steps.path;
  return std::nullopt;
}

std::optional<Plan> plan_requirements(const Params& params, const Runner& runner, Steps& steps, Plan& plan,
                                      Context& context) {
  if (!params.requirements_file) return std::nullopt;
  const Overlay::Entry* earlier = context.overlay.path(*params.requirements_file);
  if (earlier && !(earlier->effect.present && steps.makes))
    return Plan::unknown(earlier->state_id, std::string(*params.requirements_file) +
                                                " depends on what an earlier state does to it");
  if (auto checked = check_search_dirs(params.extra_search_dir, runner, context); !checked)
    return Plan::fail(checked.error());
  auto requirements =
      read_requirements(*params.requirements_file, steps.path, params.extra_search_dir, runner, context);
  if (!requirements && !earlier)
    return unless_provided(requirements.error(), *params.requirements_file, context);
  if (requirements && !steps.makes && is_satisfied(*requirements, steps.path, context)) return std::nullopt;
  steps.installs = true;
  plan.changes.push_back({.what = "packages of " + steps.path,
                          .before = {},
                          .after = "as pip makes them of " + std::string(*params.requirements_file)});
  plan.message += (plan.message.empty() ? "Install the requirements of " : "; install the requirements of ") +
                  std::string(*params.requirements_file);
  return std::nullopt;
}

PlanWith<Steps> Virtualenv::plan(const Params& params, Context& context) const {
  auto path = base::clean_path(params.path);
  if (!path) return Plan::fail(path.error());
  Steps steps{.path = std::move(*path)};
  auto runner = language_packages::runner_in(steps.path, context);
  if (!runner) return Plan::fail(runner.error());
  auto presence = look_at(steps.path, *runner, context);
  if (!presence) return Plan::fail(presence.error());
  Plan plan;
  if (*presence != Presence::present)
    if (auto stop = plan_making(params, *runner, *presence, steps, plan, context)) return std::move(*stop);
  if (auto stop = plan_requirements(params, *runner, steps, plan, context)) return std::move(*stop);
  if (plan.changes.empty())
    return Plan::kept("Environment " + steps.path + " exists" +
                      (params.requirements_file ? "; requirements already satisfied" : ""));
  plan.verdict = Verdict::change;
  plan.is_refresh = !steps.makes;
  plan.effects.push_back({.kind = EffectKind::directory, .name = steps.path});
  return {std::move(plan), std::move(steps)};
}

// The run of one apply().
class Making {
 public:
  Making(const Params& params, const Steps& steps, ApplyContext& context)
      : params_(params), steps_(steps), context_(context) {}

  Applied run() {
    std::string comment = "Environment " + steps_.path + " exists";
    auto runner = language_packages::runner_in(steps_.path, context_);
    if (!runner) return Applied::failed(runner.error());
    runner_ = std::move(*runner);
    if (steps_.makes) {
      if (auto made = make(); !made) return Applied::failed(made.error(), output_);
      comment = "Environment " + steps_.path + " created (Python " + version_of(steps_.path, context_) + ")";
    }
    if (!prerequisite_.empty()) comment = prerequisite_ + "\n\n" + comment;
    if (!steps_.installs) return Applied::done(std::move(comment), output_);
    auto installed = install();
    if (!installed) return Applied::failed(installed.error(), output_);
    return Applied::done(comment + "\n\n" + *installed, output_);
  }

 private:
  Result<void> make() {
    const Maker maker = maker_for(steps_.interpreter, context_);
    auto there = prerequisites::ensure_program(context_, maker.needed);
    if (!there) return std::move(there).error();
    prerequisite_ = there->comment;
    output_ = there->output;
    auto interpreter = find_interpreter(steps_.interpreter, runner_, context_);
    if (!interpreter) return std::move(interpreter).error();
    if (auto made = files::make_folders(steps_.path, runner_.folder_attributes(), context_); !made)
      return made;
    std::vector<std::string> argv;
    if (maker.is_module) {
      argv = {*interpreter, "-m", "venv"};
    } else {
      argv = {"virtualenv", "--python=" + *interpreter};
      auto folders = search_dirs();
      if (!folders) return std::move(folders).error();
      for (const std::string& folder : *folders)
        argv.push_back("--extra-search-dir=" + folder);
    }
    if (params_.system_site_packages) argv.emplace_back("--system-site-packages");
    argv.push_back(steps_.path);
    if (auto done = execute(std::move(argv), maker.is_module ? "venv" : "virtualenv"); !done) return done;
    auto presence = look_at(steps_.path, runner_, context_);
    if (!presence) return std::move(presence).error();
    if (*presence == Presence::present) return {};
    return Error(ErrorCode::io,
                 "Environment " + steps_.path + " has no python that can be run after it was made");
  }

  // "Requirements installed: +six==1.16.0 -old==1.0"
  Result<std::string> install() {
    auto before = packages_in(steps_.path, context_);
    if (!before) return std::move(before).error();
    // Read again: by now an earlier state may have written the file.
    if (auto read = requirements(); !read) return std::move(read).error();
    auto folders = search_dirs();
    if (!folders) return std::move(folders).error();
    std::vector<std::string> argv{steps_.path + "/bin/python",   "-m",        "pip", "install",
                                  "--disable-pip-version-check", "--no-input"};
    for (const std::string& folder : *folders)
      argv.push_back("--find-links=" + folder);
    argv.push_back("--requirement=" + *base::clean_path(*params_.requirements_file));
    if (auto done = execute(std::move(argv), "pip"); !done) return std::move(done).error();
    auto now = requirements();
    if (!now) return std::move(now).error();
    remember(*now, steps_.path, context_);
    auto after = packages_in(steps_.path, context_);
    if (!after) return std::move(after).error();
    std::string text;
    for (const std::string& package : *after)
      if (!std::ranges::binary_search(*before, package)) text += " +" + package;
    for (const std::string& package : *before)
      if (!std::ranges::binary_search(*after, package)) text += " -" + package;
    return text.empty() ? "Requirements already satisfied" : "Requirements installed:" + text;
  }

  // Those that are there by now and that only he, or root, can fill. One that is missing is not named:
  // somebody could make it before pip looks.
  Result<std::vector<std::string>> search_dirs() {
    if (auto checked = check_search_dirs(params_.extra_search_dir, runner_, context_); !checked)
      return std::move(checked).error();
    std::vector<std::string> folders;
    for (const std::string_view folder : params_.extra_search_dir) {
      const auto clean = base::clean_path(folder);
      const auto found = context_.tree.look(*clean);
      if (found && *found) folders.push_back(*clean);
    }
    return folders;
  }

  Result<Requirements> requirements() {
    return read_requirements(*params_.requirements_file, steps_.path, params_.extra_search_dir, runner_,
                             context_);
  }

  Result<void> execute(std::vector<std::string> argv, const std::string& what) {
    base::Command command;
    command.argv = std::move(argv);
    command.timeout = std::chrono::hours(24);  // the state's deadline cuts it
    runner_.prepare(command);
    auto done = context_.commands.run_undisturbed(std::move(command));
    const std::string printed =
        base::clean_output(done ? done->output : context_.commands.interrupted_output());
    if (!base::trim(printed).empty())
      output_ += (output_.empty() ? "" : "\n") + std::string(base::trim(printed)) + "\n";
    context_.facts.clear();
    context_.tree.forget();
    if (!done) return std::move(done).error();
    if (done->ok()) return {};
    std::string line = language_packages::pip_telling_line(printed);
    if (line.empty()) line = base::last_line(printed);
    const std::string why =
        context_.sensitive || line.empty() ? "" : ": " + programs::shortened(line, context_);
    if (language_packages::pip_reason(printed) == language_packages::Reason::unreachable)
      return Error(ErrorCode::io, "Registry not reachable" + why);
    return Error(ErrorCode::io, what + " failed (" + programs::ending_of(*done) + ")" + why);
  }

  const Params& params_;
  const Steps& steps_;
  ApplyContext& context_;
  Runner runner_;
  std::string prerequisite_;
  std::string output_;
};

Applied Virtualenv::apply(const Params& params, const Plan& /*plan*/, const Steps& steps,
                          ApplyContext& context) const {
  return Making(params, steps, context).run();
}

constexpr Virtualenv kType;

}  // namespace

extern const StateType& kState;
constinit const StateType& kState = kType;

}  // namespace states::common_virtualenv

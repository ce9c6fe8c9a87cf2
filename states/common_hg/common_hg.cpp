// common.hg: a working copy of a Mercurial repository.
#include <algorithm>

#include "base/output_text.hpp"
#include "base/text.hpp"
#include "states/checkouts/checkout.hpp"
#include "states/checkouts/locks.hpp"
#include "states/files/protected_folders.hpp"
#include "states/prerequisites/prerequisite.hpp"
#include "states/state.hpp"

namespace states::common_hg {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;
using checkouts::Client;
using checkouts::Found;

struct Params {
  std::string_view path;
  std::string_view repo;
  std::string_view revision = "default";
  bool force = false;
  std::optional<std::string_view> user;
};

constexpr auto kParams = param_table(
    param<&Params::path>("path", "folder of the clone").required(),
    param<&Params::repo>("repo", "address of the repository, or a path").required(),
    param<&Params::revision>("revision", "branch, tag or changeset").alias("branch").fallback("default"),
    param<&Params::force>("force", "empty a folder that is no clone; discard local modifications")
        .fallback("false"),
    param<&Params::user>("user", "whom hg runs as, and who owns the clone").fallback("root"));

constexpr prerequisites::Prerequisite kNeeded{"common.hg", "hg", {"mercurial"}, {"mercurial"}};

struct Steps {
  std::string path;
  bool is_new = false;
  std::optional<base::Seen> emptied{};  // the folder whose content goes
  std::string before;                   // the changeset that it was at
};

class Hg final : public State<Params, Steps> {
 public:
  constexpr Hg()
      : State({.name = "common.hg",
               .summary = "A working copy of a Mercurial repository",
               .timeout = std::chrono::hours(1)},
              kParams) {}

 private:
  Result<void> check(const Params& params) const override;
  PlanWith<Steps> plan(const Params& params, Context& context) const override;
  Applied apply(const Params& params, const Plan& plan, const Steps& steps,
                ApplyContext& context) const override;
  std::vector<Effect> touched(const Params& params) const override;
};

Result<void> Hg::check(const Params& params) const {
  auto clean = base::clean_path(params.path);
  if (!clean) return std::move(clean).error();
  if (params.force && files::is_protected_name(*clean))
    return Error(ErrorCode::invalid, "Refusing to empty " + *clean);
  if (auto fine = checkouts::check_value("repo", params.repo); !fine) return fine;
  if (auto fine = checkouts::check_value("revision", params.revision); !fine) return fine;
  // What hg reads as an expression is no name.
  if (params.revision.find_first_of("()|&:\"'~^{}\\") == std::string_view::npos) return {};
  return Error(ErrorCode::invalid, "Illegal value for 'revision': '" + std::string(params.revision) + "'");
}

std::vector<Effect> Hg::touched(const Params& params) const {
  std::vector<Effect> touched = prerequisites::possible_packages(kNeeded);
  if (auto clean = base::clean_path(params.path))
    touched.push_back({.kind = EffectKind::directory, .name = std::move(*clean), .certain = false});
  return touched;
}

bool is_whole_id(std::string_view text) {
  return text.size() == 40 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

class Repository {
 public:
  Repository(const Params& params, const std::string& path, const runners::Runner& runner, Context& context)
      : params_(params),
        path_(path),
        address_(checkouts::split_address(params.repo)),
        context_(context),
        hg_("hg", runner, environment_for(runner, address_), context, login_of(address_)) {}

  const std::string& repo() const { return address_.plain; }
  const std::string& output() const { return hg_.output(); }

  // The changeset that the working copy is at; zeros for none.
  Result<std::string> here() {
    return hg_.ask({"--noninteractive", "-R", path_, "log", "-r", ".", "-T", "{node}"});
  }
  // What the revision is on the server.
  Result<std::string> there() {
    auto said = hg_.try_to({"--noninteractive", "identify", "--id", "--debug", "-r",
                            std::string(params_.revision), "--", address_.plain});
    if (!said) return std::move(said).error();
    if (!said->ok()) return explained("identify", *said);
    // Other lines are about how it was asked.
    for (const std::string_view line : base::split(std::string_view(said->output), '\n'))
      if (is_whole_id(base::trim(line))) return std::string(base::trim(line));
    return Error(ErrorCode::io, "hg identify names no changeset of " + address_.plain);
  }

  Result<void> bring(bool is_new) {
    if (is_new)
      if (auto cloned = run("clone", {"clone", "--noupdate", "--", address_.plain, path_}); !cloned)
        return cloned;
    if (!is_new)
      if (auto pulled = pull(); !pulled) return pulled;
    std::vector<std::string> update{"-R", path_, "update", "-r", std::string(params_.revision)};
    if (params_.force)
      update.emplace_back("--clean");
    else if (!was_interrupted())
      update.emplace_back("--check");
    auto done = hg_.run(with_rules(std::move(update)));
    if (!done) return std::move(done).error();
    if (done->ok()) return {};
    if (done->output.find("uncommitted changes") != std::string::npos)
      return Error(ErrorCode::exists, "Local changes block the update: " + changed_files());
    return explained("update", *done);
  }

 private:
  static std::vector<std::string> environment_for(const runners::Runner& runner,
                                                  const checkouts::Address& address) {
    std::vector<std::string> environment{"HGPLAIN=1"};
    // A password goes by a file in memory: arguments everybody sees.
    if (!address.user.empty())
      environment.push_back("HGRCPATH=/etc/mercurial/hgrc:/etc/mercurial/hgrc.d:" + runner.home +
                            "/.hgrc:" + base::kScriptPath);
    return environment;
  }
  static std::string login_of(const checkouts::Address& address) {
    if (address.user.empty()) return {};
    const std::size_t host = address.plain.find("://") + 3;
    return "[auth]\nopsagent.prefix = " + address.plain.substr(host) + "\nopsagent.schemes = http https\n" +
           "opsagent.username = " + address.user + "\nopsagent.password = " + address.password + "\n";
  }

  static std::vector<std::string> with_rules(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "--noninteractive");
    return arguments;
  }

  Result<void> run(std::string_view action, std::vector<std::string> arguments) {
    auto done = hg_.run(with_rules(std::move(arguments)));
    if (!done) return std::move(done).error();
    if (!done->ok()) return explained(action, *done);
    return {};
  }

  // An update was killed. The files that it has written count as local changes: hg takes those that are as
  // they should be then, and merges others.
  bool was_interrupted() {
    context_.tree.forget();
    const auto found = context_.tree.look(path_ + "/.hg/updatestate");
    return found && *found;
  }

  Result<void> pull() {
    const std::vector<std::string> arguments{"-R", path_, "pull", "--", address_.plain};
    auto done = hg_.run(with_rules(arguments));
    if (done && !done->ok() && done->output.find("hg recover") != std::string::npos) {
      // Somebody was ended half-way.
      if (auto recovered = run("recover", {"-R", path_, "recover"}); !recovered) return recovered;
      done = hg_.run(with_rules(arguments));
    }
    if (!done) return std::move(done).error();
    if (!done->ok()) return explained("pull", *done);
    return {};
  }

  std::string changed_files() {
    constexpr std::size_t kMostNamed = 20;
    const auto said = hg_.ask({"--noninteractive", "-R", path_, "status", "-mard", "-n"});
    std::vector<std::string> files;
    if (said)
      for (const std::string_view line : base::split(std::string_view(*said), '\n'))
        if (files.size() < kMostNamed && !line.empty()) files.emplace_back(line);
    return files.empty() ? "uncommitted changes" : base::join(files, ", ");
  }

  Error explained(std::string_view action, const base::Completed& completed) const {
    for (const std::string_view sign : {"authorization failed", "Permission denied",
                                        "http authorization required", "HTTP Error 401", "HTTP Error 403"})
      if (completed.output.find(sign) != std::string::npos)
        return {ErrorCode::permission, "Authentication failed for " + address_.plain};
    for (const std::string_view sign : {"unknown revision", "ambiguous identifier", "unknown branch"})
      if (completed.output.find(sign) != std::string::npos)
        return {ErrorCode::not_found,
                "Revision '" + std::string(params_.revision) + "' not found in " + address_.plain};
    return hg_.failure(action, completed);
  }

  const Params& params_;
  const std::string path_;
  const checkouts::Address address_;
  Context& context_;
  Client hg_;
};

PlanWith<Steps> plan_update(const Params& params, const std::string& path, const runners::Runner& runner,
                            Plan plan, Context& context) {
  Repository repository(params, path, runner, context);
  auto here = repository.here();
  if (!here) return Plan::fail(here.error());
  const Plan kept = Plan::kept(path + " is at " + checkouts::short_id(*here));
  if (is_whole_id(params.revision) && *here == params.revision) return Plan::kept(kept.message);
  auto there = repository.there();
  if (!there) return Plan::fail(there.error());
  if (*here == *there) return Plan::kept(kept.message);
  plan.verdict = Verdict::change;
  plan.message = "Update " + path + " to " + std::string(params.revision);
  plan.changes.push_back(
      {.what = path, .before = checkouts::short_id(*here), .after = checkouts::short_id(*there)});
  plan.effects.push_back({.kind = EffectKind::directory, .name = path, .certain = false, .below = true});
  return {std::move(plan), {.path = path, .before = std::move(*here)}};
}

// A folder with other files, which are to go.
Result<Steps> plan_emptying(const std::string& path, Context& context, Plan& plan) {
  auto removable = files::look_at_removable(path, context.tree, context.interrupt, false);
  if (!removable) return std::move(removable).error();
  auto found = context.tree.look(path);
  if (!found) return std::move(found).error();
  if (!*found) return base::changed_since_planned(path, "it is gone");
  plan.changes.push_back({.what = "files below " + path,
                          .before = std::to_string(removable->entries) + " entries",
                          .after = "removed"});
  plan.effects.push_back({.kind = EffectKind::directory, .name = path, .present = false});
  return Steps{.path = path, .is_new = true, .emptied = base::Seen(**found)};
}

PlanWith<Steps> Hg::plan(const Params& params, Context& context) const {
  auto clean = base::clean_path(params.path);
  if (!clean) return Plan::fail(clean.error());
  auto runner = runners::run_as(params.user, std::nullopt, context);
  if (auto* stop = std::get_if<Plan>(&runner)) return std::move(*stop);
  const auto& as = std::get<runners::Runner>(runner);
  auto found = checkouts::look_at(*clean, ".hg", as, context);
  if (auto* stop = std::get_if<Plan>(&found)) return std::move(*stop);
  const Found what = std::get<Found>(found);
  if (what == Found::other_files && !params.force)
    return Plan::fail(*clean + " exists, is not empty and not a Mercurial repository");
  Plan plan;
  auto has_hg = prerequisites::plan_program(context, kNeeded, plan);
  if (!has_hg) return Plan::fail(has_hg.error());
  if (what == Found::working_copy && *has_hg)
    return plan_update(params, *clean, as, std::move(plan), context);
  const bool is_new = what != Found::working_copy;
  Steps steps{.path = *clean, .is_new = is_new};
  if (what == Found::other_files) {
    auto emptying = plan_emptying(*clean, context, plan);
    if (!emptying) return Plan::fail(emptying.error());
    steps = std::move(*emptying);
  }
  const std::string repo = checkouts::split_address(params.repo).plain;
  plan.verdict = Verdict::change;
  plan.message = (is_new ? "Clone " + repo + " to " : "Update ") + *clean;
  plan.changes.push_back({.what = *clean,
                          .before = is_new ? "absent" : "cannot be told without hg",
                          .after = "clone of " + repo + " at " + std::string(params.revision)});
  if (auto planned = checkouts::plan_folder(*clean, params.user, context, plan); !planned)
    return Plan::fail(planned.error());
  return {std::move(plan), std::move(steps)};
}

Applied Hg::apply(const Params& params, const Plan&, const Steps& steps, ApplyContext& context) const {
  auto runner = runners::run_as(params.user, std::nullopt, context);
  if (auto* stop = std::get_if<Plan>(&runner)) return Applied::failed(stop->message);
  const auto& as = std::get<runners::Runner>(runner);
  auto installed = prerequisites::ensure_program(context, kNeeded);
  if (!installed) return Applied::failed(installed.error());
  if (steps.emptied)
    if (auto gone = context.files.remove_tree(steps.path, *steps.emptied, context.interrupt); !gone)
      return Applied::failed(gone.error());
  if (auto made = checkouts::make_folder(steps.path, ".hg", as, context); !made)
    return Applied::failed(made.error());
  if (auto freed = checkouts::remove_dead_locks(steps.path, ".hg", {"wlock", "store/lock"}, context); !freed)
    return Applied::failed(freed.error());
  Repository repository(params, steps.path, as, context);
  const auto done = repository.bring(steps.is_new);
  std::string output = installed->output + repository.output();
  if (!done) return Applied::failed(done.error(), std::move(output));
  const auto here = repository.here();
  if (!here) return Applied::failed(here.error(), std::move(output));
  const std::string now = checkouts::short_id(*here);
  std::string comment = steps.is_new ? "Cloned " + repository.repo() + " to " + steps.path + " at " + now
                        : steps.before == *here
                            ? steps.path + " is at " + now
                            : steps.path + " updated " + checkouts::short_id(steps.before) + " -> " + now;
  return Applied::done(installed->before(std::move(comment)), std::move(output));
}

constexpr Hg kType;

}  // namespace

extern const StateType& kState;
constinit const StateType& kState = kType;

}  // namespace states::common_hg

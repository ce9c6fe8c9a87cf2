// linux.supervisord: programs of a supervisord that run, and restart when watched files change.
#include <algorithm>
#include <array>

#include "base/sha256.hpp"
#include "base/text.hpp"
#include "states/files/working_folder.hpp"
#include "states/linux_supervisord/included_files.hpp"
#include "states/linux_supervisord/supervisor.hpp"
#include "states/prerequisites/prerequisite.hpp"
#include "states/state.hpp"

namespace states::linux_supervisord {

namespace {

struct Params {
  std::string_view config;
  List name;
  Watch watch;
};

constexpr auto kParams = param_table(
    param<&Params::config>("config", "absolute path of supervisord's configuration").required(),
    param<&Params::name>("name", "programs, or groups of programs").required(),
    param<&Params::watch>("watch", "files; when one has changed since a program last started, it restarts")
        .fallback("nothing is watched"));

constexpr prerequisites::Prerequisite kNeeded{
    "linux.supervisord", "supervisorctl", {"supervisor"}, {"supervisor"}};
constexpr std::size_t kLargestConfig = 4 * 1024 * 1024;

class Supervisord final : public State<Params> {
 public:
  constexpr Supervisord()
      : State({.name = "linux.supervisord",
               .summary = "Programs that a supervisord keeps running",
               .watches_files = true,
               .takes_orders = TakesOrders::restart},
              kParams) {}

 private:
  base::Result<void> check(const Params& params) const override;
  PlanWith<NoSteps> plan(const Params& params, Context& context) const override;
  Applied apply(const Params& params, const Plan& plan, const NoSteps& steps,
                ApplyContext& context) const override;
  WatchRequest watch(const Params& params) const override;
  std::vector<Effect> touched(const Params& params) const override;
};

base::Error illegal(std::string_view param, std::string_view value) {
  return {base::ErrorCode::invalid,
          "Illegal value for '" + std::string(param) + "': '" + std::string(value) + "'"};
}

bool has_blanks(std::string_view text) {
  return std::ranges::any_of(text, [](unsigned char c) { return c <= ' ' || c == 0x7f; });
}

base::Result<void> Supervisord::check(const Params& params) const {
  if (const auto clean = base::clean_path(params.config); !clean) return illegal("config", params.config);
  for (const std::string_view name : params.name)
    // supervisorctl would take "all" for every program.
    if (name.empty() || name.starts_with('-') || has_blanks(name) || name == "all")
      return illegal("name", name);
  for (const std::string_view path : params.watch.paths)
    if (!path.starts_with('/')) return illegal("watch", path);
  return {};
}

WatchRequest Supervisord::watch(const Params& params) const {
  return {.paths = params.watch.paths,
          .first_counts = true,
          .always = params.watch.always,
          .parts = {params.name.begin(), params.name.end()}};
}

Effect program_effect(std::string_view name) {
  return {.kind = EffectKind::unit, .name = "supervisord program " + std::string(name), .certain = false};
}

std::vector<Effect> Supervisord::touched(const Params& params) const {
  std::vector<Effect> touched = prerequisites::possible_packages(kNeeded);
  for (const std::string_view name : params.name)
    touched.push_back(program_effect(name));
  return touched;
}

// The hash of the configuration that the programs were last told of, with the files that it includes, in the
// agent's state folder.
std::string record_path(const Params& params, const Context& context) {
  return context.host.state_dir + "/supervisord/" + base::sha256_hex(params.config).substr(0, 16);
}

base::Result<std::string> config_hash(const Params& params, Context& context) {
  const std::string config = *base::clean_path(params.config);
  auto real = context.tree.followed_path(config);
  if (!real) return std::move(real).error();
  auto text = context.tree.read(*real, kLargestConfig);
  if (!text) return std::move(text).error();
  const auto patterns = included_patterns(*text, std::string(base::split_path(config).folder));
  auto files = files_of(patterns);
  if (!files) return std::move(files).error();
  // Without any the text alone: so it was before, and nothing is told anew for that.
  if (files->empty()) return base::sha256_hex(*text);
  base::Sha256 hash;
  hash.add(base::sha256_hex(*text));
  for (const std::string& file : *files) {
    auto part = context.tree.followed_path(file);
    if (!part) return std::move(part).error();
    auto content = context.tree.read(*part, kLargestConfig);
    if (!content) return std::move(content).error();
    hash.add("\n" + file + "\n" + base::sha256_hex(*content));
  }
  return hash.finish();
}

// The earlier state that changes one of the files that the configuration includes.
const Overlay::Entry* changer_of_included(const Params& params, Context& context) {
  if (context.overlay.empty()) return nullptr;
  const std::string config = *base::clean_path(params.config);
  const auto real = context.tree.followed_path(config);
  const auto text = real ? context.tree.read(*real, kLargestConfig) : base::Result<std::string>(real.error());
  if (!text) return nullptr;
  for (const std::string& pattern : included_patterns(*text, std::string(base::split_path(config).folder)))
    if (const Overlay::Entry* earlier = context.overlay.below(folder_of_pattern(pattern))) return earlier;
  return nullptr;
}

base::Result<bool> is_known_config(const Params& params, const std::string& hash, Context& context) {
  auto found = context.tree.look(record_path(params, context));
  if (!found) return std::move(found).error();
  if (!*found) return false;
  return context.tree.has_content(record_path(params, context), hash + "\n");
}

base::Result<void> remember_config(const Params& params, const std::string& hash, ApplyContext& context) {
  const std::string path = record_path(params, context);
  const std::string folder(base::split_path(path).folder);
  if (auto made = files::make_folders(folder, {.uid = 0, .gid = 0, .mode = 0700}, context); !made)
    return made;
  auto found = context.tree.look(path);
  if (!found) return std::move(found).error();
  return context.files.write_file(path, base::Seen(*found), hash + "\n", {.uid = 0, .gid = 0, .mode = 0600});
}

// What is to be done with one name.
enum class Action { nothing, wait, start, restart, add };

// `just_started`: with all its programs, so that they have what is watched already.
Action action_for(const std::vector<Program>& programs, std::string_view name, bool just_started,
                  const Context& context) {
  if (programs.empty()) return Action::add;
  const bool has_reacted = std::ranges::find(context.watch_reacted, name) != context.watch_reacted.end();
  const bool all_run = std::ranges::all_of(programs, &Program::is_running);
  const Orders* orders = context.orders;
  const bool is_ordered = orders && !orders->restart_for.empty() &&
                          std::ranges::find(orders->restarted, name) == orders->restarted.end();
  if (((context.watch_triggered && !has_reacted) || is_ordered) && !just_started)
    return std::ranges::any_of(programs, &Program::is_running) ? Action::restart : Action::start;
  if (all_run) return Action::nothing;
  const bool about_to_run = std::ranges::all_of(
      programs, [](const Program& program) { return program.is_running() || program.state == "STARTING"; });
  return about_to_run ? Action::wait : Action::start;
}

std::string changed_text(const Context& context) {
  const std::string reasons = reasons_text(context);
  return reasons.empty() ? std::string(" (watch)") : " (changed: " + reasons + ")";
}

std::string state_text(const std::vector<Program>& programs) {
  for (const Program& program : programs)
    if (!program.is_running()) return program.state + (program.detail.empty() ? "" : ": " + program.detail);
  return programs.empty() ? "not known" : "RUNNING";
}

void plan_program(const Status& status, std::string_view name, Plan& plan, std::string& kept,
                  const Context& context) {
  const std::vector<Program> programs = programs_of(status, name);
  const Action action = action_for(programs, name, false, context);
  if (action == Action::nothing) {
    kept.append(kept.empty() ? "" : "; ").append(std::string(name) + " is running");
    return;
  }
  const std::string why = action == Action::restart ? changed_text(context) : std::string();
  const char* const todo = action == Action::restart ? "Restart "
                           : action == Action::wait  ? "Wait for "
                                                     : "Start ";
  plan.verdict = Verdict::change;
  plan.message.append(plan.message.empty() ? "" : "; ").append(todo + std::string(name) + why);
  plan.changes.push_back({.what = "program " + std::string(name),
                          .before = state_text(programs),
                          .after = action == Action::restart ? "restarted" + why : "RUNNING"});
  plan.effects.push_back(program_effect(name));
}

PlanWith<NoSteps> Supervisord::plan(const Params& params, Context& context) const {
  const std::string config(params.config);
  if (const Overlay::Entry* earlier = context.overlay.path(*base::clean_path(config)))
    return Plan::unknown(earlier->state_id, "An earlier state writes " + config);
  const auto hash = config_hash(params, context);
  if (!hash && hash.error().code() != base::ErrorCode::not_found) return Plan::fail(hash.error());
  if (!hash) {
    if (const Overlay::Entry* earlier = context.overlay.provider(EffectKind::file, config))
      return Plan::unknown(earlier->state_id, "Configuration " + config + " is not there yet");
    return Plan::fail("Configuration " + config + " not found");
  }
  if (const Overlay::Entry* earlier = changer_of_included(params, context))
    return Plan::unknown(earlier->state_id, "An earlier state writes a file that " + config + " includes");
  Plan plan;
  const auto is_there = prerequisites::plan_program(context, kNeeded, plan);
  if (!is_there) return Plan::fail(is_there.error());
  Supervisor supervisor(config, context);
  base::Result<Status> status = *is_there ? supervisor.status() : Status{};
  if (!status) return Plan::fail(status.error());
  if (!status->answers) {
    plan.verdict = Verdict::change;
    plan.message = "Start supervisord with " + config;
    plan.changes.push_back({.what = "supervisord of " + config, .before = "not running", .after = "running"});
  }
  const auto known = is_known_config(params, *hash, context);
  if (!known) return Plan::fail(known.error());
  if (status->answers && !*known) {
    plan.verdict = Verdict::change;
    plan.message = "Tell supervisord to read " + config;
    plan.changes.push_back(
        {.what = "supervisord of " + config, .before = "another configuration", .after = "updated"});
  }
  std::string kept;
  for (const std::string_view name : params.name)
    plan_program(*status, name, plan, kept, context);
  if (plan.verdict == Verdict::kept) return Plan::kept(kept);
  plan.written = {record_path(params, context)};
  return plan;
}

struct Progress {
  Applied applied{};
  std::string failures{};
  bool just_started = false;  // the supervisord

  void say(const std::string& text) {
    applied.comment.append(applied.comment.empty() ? "" : "\n\n").append(text);
  }
  void fail(const std::string& text) { failures.append(failures.empty() ? "" : "\n\n").append(text); }
};

bool ends_everything(const base::Error& error) {
  return error.code() == base::ErrorCode::cancelled || error.code() == base::ErrorCode::timed_out;
}

// A supervisord that answers and has read the configuration.
base::Result<void> prepare(const Params& params, const std::string& hash, Supervisor& supervisor,
                           Progress& progress, ApplyContext& context) {
  auto status = supervisor.status();
  if (!status) return std::move(status).error();
  if (!status->answers) {
    if (auto started = supervisor.start_daemon(); !started) return started;
    progress.just_started = true;
    progress.say("supervisord started with " + std::string(params.config));
  } else {
    auto known = is_known_config(params, hash, context);
    if (!known) return std::move(known).error();
    if (*known) return {};
    if (auto read = supervisor.tell({"reread"}); !read) return read;
    if (auto updated = supervisor.tell({"update"}); !updated) return updated;
    progress.say("supervisord has read " + std::string(params.config));
  }
  return remember_config(params, hash, context);
}

// One name. Answers what was done.
base::Result<std::string> make_run(const Params& params, std::string_view name, bool just_started,
                                   Supervisor& supervisor, ApplyContext& context) {
  const std::string text(name);
  auto status = supervisor.status();
  if (!status) return std::move(status).error();
  Action action = action_for(programs_of(*status, name), name, just_started, context);
  if (action == Action::add) {
    const std::string group = text.substr(0, text.find(':'));
    if (auto read = supervisor.tell({"reread"}); !read) return std::move(read).error();
    if (auto added = supervisor.tell({"add", group}); !added && ends_everything(added.error()))
      return std::move(added).error();
    auto programs = supervisor.settled(name);
    if (!programs) return std::move(programs).error();
    if (programs->empty())
      return base::Error(base::ErrorCode::not_found,
                         "Program " + text + " is not defined in " + std::string(params.config));
    status = supervisor.status();
    if (!status) return std::move(status).error();
    action = std::ranges::all_of(*programs, &Program::is_running) ? Action::wait : Action::start;
  }
  const std::string target = target_of(*status, name);
  base::Result<void> told;
  if (action == Action::start || action == Action::restart)
    told = supervisor.tell({action == Action::start ? "start" : "restart", target});
  if (!told && ends_everything(told.error())) return std::move(told).error();
  auto programs = supervisor.settled(name);
  if (!programs) return std::move(programs).error();
  // How it is says more than that it could not be started.
  if (!std::ranges::all_of(*programs, &Program::is_running))
    return base::Error(base::ErrorCode::io, text + " is " + state_text(*programs));
  if (action == Action::restart) return text + " restarted" + changed_text(context);
  return text + (action == Action::nothing ? " is running" : " started");
}

Applied Supervisord::apply(const Params& params, const Plan&, const NoSteps&, ApplyContext& context) const {
  auto installed = prerequisites::ensure_program(context, kNeeded);
  if (!installed) return Applied::failed(installed.error());
  const auto hash = config_hash(params, context);
  if (!hash && hash.error().code() != base::ErrorCode::not_found)
    return Applied::failed(hash.error(), installed->output);
  if (!hash) return Applied::failed("Configuration " + std::string(params.config) + " not found");
  Supervisor supervisor(std::string(params.config), context);
  Progress progress;
  if (auto prepared = prepare(params, *hash, supervisor, progress, context); !prepared)
    return Applied::failed(prepared.error(), installed->output + supervisor.output());
  for (const std::string_view name : params.name) {
    const auto done = make_run(params, name, progress.just_started, supervisor, context);
    if (!done && ends_everything(done.error())) {
      progress.applied = Applied::failed(done.error(), installed->output + supervisor.output());
      return progress.applied;
    }
    if (!done) {
      progress.fail(done.error().message());
      continue;
    }
    progress.say(*done);
    progress.applied.reacted.emplace_back(name);
  }
  Applied& applied = progress.applied;
  applied.output = installed->output + supervisor.output();
  applied.comment = installed->before(applied.comment);
  if (!progress.failures.empty()) {
    applied.end = AppliedEnd::failed;
    applied.comment = progress.failures + (applied.comment.empty() ? "" : "\n\n" + applied.comment);
  }
  return applied;
}

constexpr Supervisord kType;

}  // namespace

extern const StateType& kState;
constinit const StateType& kState = kType;

}  // namespace states::linux_supervisord

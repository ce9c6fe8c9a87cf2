// linux.service: services that run, and act when watched files have changed.
#include <algorithm>

#include "base/text.hpp"
#include "states/linux_service/service_params.hpp"
#include "states/linux_service/services.hpp"
#include "states/linux_service/steps.hpp"
#include "states/state.hpp"

namespace states::linux_service {

namespace {

constexpr auto kParams = param_table(
    param<&Params::name>("name",
                         "the services; the value is what to do when a watched file has changed: `reload`, "
                         "`restart`, or a command for `/bin/sh -c`")
        .required()
        .fallback("value: reload, and restart where that does not work"),
    param<&Params::watch>("watch", "files; when one has changed since the last success, every service acts")
        .fallback("nothing is watched"));

class Service final : public State<Params, Steps> {
 public:
  constexpr Service()
      : State({.name = "linux.service",
               .summary = "Services that run, and reload or restart when files have changed",
               .watches_files = true},
              kParams) {}

 private:
  base::Result<void> check(const Params& params) const override;
  PlanWith<Steps> plan(const Params& params, Context& context) const override;
  Applied apply(const Params& params, const Plan& plan, const Steps& steps,
                ApplyContext& context) const override;
  WatchRequest watch(const Params& params) const override;
};

bool is_legal_name(std::string_view name) {
  return !name.starts_with('-') && !name.starts_with('.') &&
         std::ranges::none_of(name, [](char c) { return c == '/' || static_cast<unsigned char>(c) <= ' '; });
}

base::Error illegal(std::string_view param, std::string_view value) {
  return base::Error(base::ErrorCode::invalid,
                     "Illegal value for '" + std::string(param) + "': '" + std::string(value) + "'");
}

base::Result<void> Service::check(const Params& params) const {
  for (const Pair& service : params.name)
    if (!is_legal_name(service.key)) return illegal("name", service.key);
  for (const std::string_view path : params.watch.paths)
    if (!path.starts_with('/')) return illegal("watch", path);
  return {};
}

WatchRequest Service::watch(const Params& params) const {
  return {.paths = params.watch.paths, .first_counts = true, .always = params.watch.always};
}

// The state that may bring a unit or script that is missing, or masked, now.
const Overlay::Entry* provider_of(std::string_view name, Presence presence, const Overlay& overlay) {
  if (overlay.empty()) return nullptr;
  const std::string unit = unit_name(name);
  std::vector<std::string> files = {unit};
  // web@1.service is made from web@.service.
  if (const std::size_t at = unit.find('@'); at != std::string::npos)
    files.push_back(unit.substr(0, at + 1) + unit.substr(unit.rfind('.')));
  for (const char* folder : {"/etc/systemd/system/", "/run/systemd/system/", "/usr/local/lib/systemd/system/",
                             "/lib/systemd/system/", "/usr/lib/systemd/system/"})
    for (const std::string& file : files)
      if (const Overlay::Entry* entry = overlay.path(folder + file)) return entry;
  if (presence == Presence::masked) return nullptr;
  if (const Overlay::Entry* entry = overlay.path(script_path(name)); entry && entry->effect.present)
    return entry;
  if (const Overlay::Entry* entry = overlay.find(EffectKind::unit, unit); entry && entry->effect.present)
    return entry;
  return overlay.provider(EffectKind::unit, name);
}

Action watch_action(std::string_view wanted, bool is_running) {
  if (!wanted.empty() && wanted != "reload" && wanted != "restart") return Action::command;
  if (!is_running) return Action::start;
  if (wanted.empty()) return Action::reload_or_restart;
  return wanted == "reload" ? Action::reload : Action::restart;
}

void add_step(Plan& plan, Steps& steps, const Pair& service, const ServiceStatus& status, Action action,
              const std::string& changed) {
  static constexpr std::array<std::array<std::string_view, 2>, 5> kWords{
      {{"Start ", "running"},
       {"Reload ", "reloaded"},
       {"Restart ", "restarted"},
       {"Reload or restart ", "reloaded"},
       {"Run the action of ", "acted upon"}}};
  const auto& [todo, done] = kWords[static_cast<std::size_t>(action)];
  const std::string name(service.key);
  const std::string reason = action == Action::start ? std::string() : changed;
  plan.verdict = Verdict::change;
  plan.message.append(plan.message.empty() ? "" : "; ").append(todo).append(name).append(reason);
  plan.changes.push_back({.what = "service " + name,
                          .before = status.is_running() ? "running" : "not running: " + status.detail,
                          .after = std::string(done) + reason});
  if (action == Action::command) plan.effects = {{.kind = EffectKind::anything}};
  steps.steps.push_back(
      {name, action, action == Action::command ? std::string(service.value) : std::string()});
}

PlanWith<Steps> Service::plan(const Params& params, Context& context) const {
  Services services(context);
  Steps steps;
  Plan plan;
  std::optional<Plan> pending;
  const std::string changed = changed_text(context);
  for (const Pair& service : params.name) {
    auto found = services.find_settled(service.key);
    if (!found && ends_everything(found.error())) return Plan::fail(found.error());
    if (!found) {
      steps.problems.push_back(found.error().message());
      continue;
    }
    const ServiceStatus& status = found->status;
    if (std::string problem = problem_of(service.key, status); !problem.empty()) {
      if (const Overlay::Entry* entry = provider_of(service.key, status.presence, context.overlay))
        pending = Plan::unknown(entry->state_id, problem + "; an earlier state may change that");
      else
        steps.problems.push_back(std::move(problem));
    } else if (context.watch_triggered) {
      add_step(plan, steps, service, status, watch_action(service.value, status.is_running()), changed);
    } else if (!status.is_running()) {
      add_step(plan, steps, service, status, Action::start, changed);
    } else {
      steps.running.push_back(std::string(service.key) + " is running");
    }
  }
  const std::string problems = base::join(steps.problems, "; ");
  if (pending && steps.problems.empty()) return *std::move(pending);
  if (plan.verdict != Verdict::change)
    return problems.empty() ? Plan::kept(base::join(steps.running, "; ")) : Plan::fail(problems);
  if (!problems.empty()) plan.message += "; " + problems;
  return {std::move(plan), std::move(steps)};
}

Applied Service::apply(const Params&, const Plan&, const Steps& steps, ApplyContext& context) const {
  return take_steps(steps, context);
}

constexpr Service kType;

}  // namespace

extern const StateType& kState;
constinit const StateType& kState = kType;

}  // namespace states::linux_service

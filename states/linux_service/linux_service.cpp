// linux.service: services that run or do not, also after the next boot, and act when watched files have
// changed.
#include <algorithm>
#include <array>
#include <optional>

#include "base/text.hpp"
#include "states/linux_service/install_section.hpp"
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
        .fallback("value: reload, and restart what cannot reload"),
    param<&Params::watch>("watch",
                          "files and folders; when one has changed since a service last reacted, it acts")
        .fallback("nothing is watched"),
    param<&Params::running>("running", "whether the services run now; `false` stops them").fallback("true"),
    param<&Params::enabled>("enabled", "whether they start when the machine boots").fallback("left as it is"),
    param<&Params::masked>("masked", "whether anybody can start them at all (systemd only)")
        .fallback("left as it is"),
    param<&Params::actions>("actions", "of old recipes; has no effect"));

class Service final : public State<Params, Steps> {
 public:
  constexpr Service()
      : State(
            {.name = "linux.service",
             .summary = "Services that run or do not, start at boot, and reload or restart when files change",
             .watches_files = true,
             .takes_orders = TakesOrders::restart_and_reload},
            kParams) {}

 private:
  base::Result<void> check(const Params& params) const override;
  PlanWith<Steps> plan(const Params& params, Context& context) const override;
  Applied apply(const Params& params, const Plan& plan, const Steps& steps,
                ApplyContext& context) const override;
  WatchRequest watch(const Params& params) const override;
  std::vector<Effect> touched(const Params& params) const override;
};

bool is_legal_name(std::string_view name) {
  return !name.starts_with('-') && !name.starts_with('.') &&
         std::ranges::none_of(name, [](char c) { return c == '/' || static_cast<unsigned char>(c) <= ' '; });
}

base::Error invalid(std::string message) {
  return base::Error(base::ErrorCode::invalid, std::move(message));
}

base::Error illegal(std::string_view param, std::string_view value) {
  return invalid("Illegal value for '" + std::string(param) + "': '" + std::string(value) + "'");
}

base::Result<void> Service::check(const Params& params) const {
  for (const Pair& service : params.name) {
    if (!is_legal_name(service.key)) return illegal("name", service.key);
    if (unit_name(service.key).find("@.") != std::string::npos)
      return invalid("'" + std::string(service.key) + "' is a template: name an instance of it, such as '" +
                     std::string(service.key.substr(0, service.key.find('@'))) + "@1'");
  }
  for (const std::string_view path : params.watch.paths)
    if (!path.starts_with('/')) return illegal("watch", path);
  const bool watches = params.watch.always || !params.watch.paths.empty();
  if (!params.running && watches)
    return invalid("'watch' is for services that run, and 'running' is false: leave one of them out");
  if (params.masked.value_or(false) && params.running)
    return invalid("A service that is masked cannot run: with 'masked: true' say 'running: false', too");
  if (params.masked.value_or(false) && params.enabled.value_or(false))
    return invalid("A service that is masked cannot start at boot: 'masked' and 'enabled' are both true");
  return {};
}

WatchRequest Service::watch(const Params& params) const {
  WatchRequest request{.paths = params.watch.paths, .first_counts = true, .always = params.watch.always};
  for (const Pair& service : params.name)
    request.parts.push_back(service.key);
  return request;
}

// The state that would write or remove a unit's definition.
const Overlay::Entry* planned_definition(std::string_view name, const Overlay& overlay) {
  if (overlay.empty()) return nullptr;
  const std::string unit = unit_name(name);
  for (const std::string_view folder : kUnitFolders)
    for (const std::string& file : {unit, template_of(unit)}) {
      if (file.empty()) continue;
      const std::string path = std::string(folder) + "/" + file;
      if (const Overlay::Entry* entry = overlay.path(path)) return entry;
      if (const Overlay::Entry* entry = overlay.below(path + ".d")) return entry;
    }
  return nullptr;
}

// The state that may bring a unit or script that is missing, or masked, now.
const Overlay::Entry* provider_of(std::string_view name, Presence presence, const Overlay& overlay) {
  if (overlay.empty()) return nullptr;
  const std::string unit = unit_name(name);
  if (const Overlay::Entry* entry = planned_definition(name, overlay)) return entry;
  if (presence == Presence::masked) return nullptr;
  if (const Overlay::Entry* entry = overlay.path(script_path(name)); entry && entry->effect.present)
    return entry;
  if (const Overlay::Entry* entry = overlay.find(EffectKind::unit, unit); entry && entry->effect.present)
    return entry;
  return overlay.provider(EffectKind::unit, name);
}

bool is_command(std::string_view wanted) {
  return !wanted.empty() && wanted != "reload" && wanted != "restart";
}

std::vector<Effect> Service::touched(const Params& params) const {
  std::vector<Effect> touched;
  for (const Pair& service : params.name)
    touched.push_back({.kind = EffectKind::unit, .name = unit_name(service.key), .certain = false});
  for (const Pair& service : params.name)
    if (is_command(service.value))
      touched.push_back({.kind = EffectKind::anything, .name = std::string(service.value)});
  return touched;
}

Action watch_action(std::string_view wanted, const ServiceStatus& status) {
  if (is_command(wanted)) return Action::command;
  if (!status.is_running()) return Action::start;
  if (wanted == "reload") return Action::reload;
  if (wanted == "restart") return Action::restart;
  // What its definition says is known only once that has been read again.
  if (status.is_outdated || !status.can_reload) return Action::reload_or_restart;
  return *status.can_reload ? Action::reload : Action::restart;
}

// What other states of the recipe order this service to do.
Action ordered_action(std::string_view name, const ServiceStatus& status, const Context& context) {
  if (!context.orders) return Action::none;
  const auto is_due = [&](const std::vector<std::string>& because, const std::vector<std::string>& done) {
    return !because.empty() && std::ranges::find(done, name) == done.end();
  };
  const Orders& orders = *context.orders;
  const bool restarts = is_due(orders.restart_for, orders.restarted);
  if (!restarts && !is_due(orders.reload_for, orders.reloaded)) return Action::none;
  if (!status.is_running()) return Action::start;
  return restarts ? Action::restart : watch_action({}, status);
}

std::string activity_text(const ServiceStatus& status) {
  if (status.activity == Activity::running) return "running";
  if (status.activity == Activity::starting) return "starting";
  return "not running" + (status.detail.empty() ? std::string() : ": " + status.detail);
}

// The plan of all services while it is put together.
struct Planning {
  const Params& params;
  Context& context;
  Services services;
  const std::string changed;
  Plan plan{};
  Steps steps{};
  std::optional<Plan> pending{};
};

void add_words(Planning& planning, std::string_view todo, std::string_view name,
               std::string_view reason = {}) {
  planning.plan.verdict = Verdict::change;
  planning.plan.message.append(planning.plan.message.empty() ? "" : "; ")
      .append(todo)
      .append(name)
      .append(reason);
}

void plan_action(Planning& planning, const Pair& service, const ServiceStatus& status, Action action,
                 Step& step) {
  static constexpr std::array<std::array<std::string_view, 2>, 7> kWords{
      {{"", ""},
       {"Start ", "running"},
       {"Reload ", "reloaded"},
       {"Restart ", "restarted"},
       {"Reload or restart ", "reloaded or restarted"},
       {"Run the action of ", "acted upon"},
       {"Stop ", "stopped"}}};
  const auto& [todo, done] = kWords[static_cast<std::size_t>(action)];
  const bool is_reaction = action != Action::start && action != Action::stop;
  const std::string reason = is_reaction ? planning.changed : std::string();
  add_words(planning, todo, service.key, reason);
  planning.plan.changes.push_back({.what = "service " + std::string(service.key),
                                   .before = activity_text(status),
                                   .after = std::string(done) + reason});
  if (action == Action::command)
    planning.plan.effects.push_back({.kind = EffectKind::anything, .name = std::string(service.value)});
  step.action = action;
  if (action == Action::command) step.command = service.value;
}

void plan_running(Planning& planning, const Pair& service, const ServiceStatus& status, Step& step) {
  if (!planning.params.running) {
    if (status.activity != Activity::stopped) plan_action(planning, service, status, Action::stop, step);
    return;
  }
  const bool has_reacted =
      std::ranges::find(planning.context.watch_reacted, service.key) != planning.context.watch_reacted.end();
  const Action ordered = ordered_action(service.key, status, planning.context);
  const bool is_triggered = planning.context.watch_triggered && !has_reacted;
  if (ordered == Action::restart)
    plan_action(planning, service, status, ordered, step);
  else if (is_triggered)
    plan_action(planning, service, status, watch_action(service.value, status), step);
  else if (ordered != Action::none)
    plan_action(planning, service, status, ordered, step);
  else if (!status.is_running())
    plan_action(planning, service, status, Action::start, step);
}

void change_boot(Planning& planning, std::string_view name, const std::string& before, std::string_view todo,
                 const char* after) {
  add_words(planning, todo, name);
  planning.plan.changes.push_back(
      {.what = "service " + std::string(name) + " at boot", .before = before, .after = after});
}

// systemctl puts a mask into /etc, and over nothing that is there. Empty: it can.
std::string why_not_masked(std::string_view name, Context& context) {
  const std::string path = "/etc/systemd/system/" + unit_name(name);
  const auto found = context.tree.look(path);
  if (!found || !*found) return {};
  return "Service " + std::string(name) + " cannot be masked: " + path +
         " is in the place of the mask; remove it first, or use 'enabled: false'";
}

// What is to be done about the next boot. The answer is why that cannot be; empty when it can.
std::string plan_boot(Planning& planning, std::string_view name, const Services::Found& found,
                      const BootStatus& boot, Step& step) {
  const Params& params = planning.params;
  const std::string service = "Service " + std::string(name);
  const bool masks = params.masked.value_or(false) && (!boot.is_masked || boot.is_masked_for_now);
  const bool unmasks = !params.masked.value_or(true) && boot.is_masked;
  if (masks || unmasks) {
    if (!planning.services.can_mask(found)) return service + " is an init script, which cannot be masked";
    if (masks && !boot.is_masked)
      if (std::string why = why_not_masked(name, planning.context); !why.empty()) return why;
    (unmasks ? step.unmask : step.mask) = true;
    change_boot(planning, name, boot.shown, unmasks ? "Unmask " : "Mask ", unmasks ? "not masked" : "masked");
  }
  // Nothing can start what is masked; what it would be without is seen then.
  if (!params.enabled || (boot.is_masked && !step.unmask)) return {};
  const bool enable = *params.enabled;
  if (!step.unmask && !boot.why_fixed.empty()) {
    // Nothing of its own starts it, which is what was asked for.
    if (!enable && (boot.shown == "static" || boot.shown == "absent")) return {};
    return service + " cannot be " + (enable ? "enabled" : "disabled") + ": " + boot.why_fixed;
  }
  if (const std::string& why = enable ? boot.why_not_enabled : boot.why_not_disabled;
      !why.empty() && !step.unmask)
    return service + " cannot be " + (enable ? "enabled" : "disabled") + ": " + why;
  if (enable == boot.is_enabled && !boot.is_leftover && !step.unmask) return {};
  step.enable = enable;
  change_boot(planning, name, boot.shown, enable ? "Enable " : "Disable ", enable ? "enabled" : "disabled");
  return {};
}

// Whether a service that was found so can be used as the recipe wants it.
bool is_usable(const Params& params, Presence presence) {
  switch (presence) {
    case Presence::available:
      return true;
    case Presence::missing:  // does not run, and can be masked for the day it comes
      return !params.running && !params.enabled.value_or(false);
    case Presence::masked:
      return params.masked == false || (!params.running && !params.enabled.value_or(false));
    case Presence::unusable:
      return !params.running && params.masked.value_or(false);
  }
  return false;
}

std::string kept_text(std::string_view name, const ServiceStatus& status, const BootStatus* boot) {
  std::string text(name);
  if (status.presence == Presence::missing) return text + " does not exist on this host, so it does not run";
  text += status.activity == Activity::stopped ? " is not running" : " is running";
  if (boot) text += ", " + boot->shown;
  return text;
}

// An error ends the plan of all services.
base::Result<void> plan_service(Planning& planning, const Pair& service) {
  const Params& params = planning.params;
  auto found =
      params.running ? planning.services.find_settled(service.key) : planning.services.find(service.key);
  if (!found && ends_everything(found.error())) return std::move(found).error();
  if (!found) {
    planning.steps.problems.push_back(found.error().message());
    return {};
  }
  const Overlay& overlay = planning.context.overlay;
  overlay.find(EffectKind::unit, unit_name(service.key));  // an earlier state may have started it by then
  ServiceStatus& status = found->status;
  // A definition that is written by then has yet to be read.
  if (planned_definition(service.key, overlay)) status.is_outdated = true;
  const bool usable = is_usable(params, status.presence);
  if (!usable || status.presence == Presence::missing) {
    std::string problem = problem_of(service.key, status);
    const Overlay::Entry* entry = provider_of(service.key, status.presence, overlay);
    if (entry)
      planning.pending = Plan::unknown(entry->state_id, problem + "; an earlier state may change that");
    else if (!usable)
      planning.steps.problems.push_back(std::move(problem));
    if (entry || !usable) return {};
  }
  Step step{.name = std::string(service.key)};
  std::optional<BootStatus> boot;
  if (params.enabled || params.masked) {
    auto looked = planning.services.look_at_boot(*found, service.key);
    if (!looked && ends_everything(looked.error())) return std::move(looked).error();
    std::string problem =
        looked ? plan_boot(planning, service.key, *found, looked->status, step) : looked.error().message();
    if (looked) boot = std::move(looked->status);
    // What its files say now is not what counts when an earlier state writes them.
    if (const Overlay::Entry* entry = planned_definition(service.key, overlay); entry && !problem.empty()) {
      planning.pending = Plan::unknown(entry->state_id, problem + "; an earlier state may change that");
      return {};
    }
    if (!problem.empty()) planning.steps.problems.push_back(std::move(problem));
  }
  plan_running(planning, service, status, step);
  if (step.is_empty())
    planning.steps.kept.push_back(kept_text(service.key, status, boot ? &*boot : nullptr));
  else
    planning.steps.steps.push_back(std::move(step));
  return {};
}

PlanWith<Steps> Service::plan(const Params& params, Context& context) const {
  Planning planning{
      .params = params, .context = context, .services = Services(context), .changed = changed_text(context)};
  for (const Pair& service : params.name)
    if (auto planned = plan_service(planning, service); !planned) return Plan::fail(planned.error());
  Plan& plan = planning.plan;
  Steps& steps = planning.steps;
  const std::string problems = base::join(steps.problems, "; ");
  // What is done for the others before the state fails is not known either.
  if (planning.pending) {
    if (!problems.empty()) planning.pending->message.insert(0, problems + "; ");
    return *std::move(planning.pending);
  }
  if (plan.verdict != Verdict::change)
    return problems.empty() ? Plan::kept(base::join(steps.kept, "; ")) : Plan::fail(problems);
  if (!problems.empty()) plan.message += "; " + problems;
  plan.fails_in_part = !problems.empty();
  // Whoever looks at one of them next finds it otherwise than it is now.
  for (const Pair& service : params.name)
    plan.effects.push_back({.kind = EffectKind::unit, .name = unit_name(service.key), .certain = false});
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

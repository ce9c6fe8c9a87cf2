#include "agent/modules/host/module_host.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/output_text.hpp"
#include "base/programs/bounded_output.hpp"
#include "base/text.hpp"

namespace agent::modules {

namespace {

using base::Result;

// Of what a module printed before it failed, the end, for its message.
constexpr std::size_t kQuotedOutput = 1024;
constexpr std::size_t kKeptOutput = 64 * 1024;  // from the start, and from the end, as of other programs

std::string with_output(std::string message, const base::BoundedOutput& output) {
  const std::string text = base::clean_output(output.text());
  const std::string_view said = base::trim(text);
  if (said.empty()) return message;
  return message + "; it printed: " + std::string(said);
}

}  // namespace

class ModuleHost::HostedState final : public ::modules::ModuleType {
 public:
  HostedState(ModuleHost& host, std::size_t index)
      : ModuleType(*host.set_.modules()[index].manifest), host_(host), index_(index) {}

  states::Plan make_plan(const states::ParamValues& params, states::Context& context) const override;
  states::Applied apply_plan(const states::ParamValues& params, const states::Plan& plan,
                             states::ApplyContext& context) const override;

 private:
  states::Plan plan_of(Planned planned, const states::Context& context) const;

  ModuleHost& host_;
  const std::size_t index_;
};

states::Plan ModuleHost::HostedState::plan_of(Planned planned, const states::Context& context) const {
  states::Plan plan{.verdict = planned.verdict,
                    .message = std::move(planned.message),
                    .changes = std::move(planned.changes)};
  if (plan.message.empty()) {
    if (plan.verdict == states::Verdict::kept) plan.message = "As wanted";
    if (plan.verdict == states::Verdict::change) plan.message = "Will change " + plan.changes.front().what;
    if (plan.verdict == states::Verdict::unknown) plan.message = "The module cannot tell yet";
  }
  if (plan.verdict == states::Verdict::change) plan.effects = {{.kind = states::EffectKind::anything}};
  // The module sees the machine as it is now, and what is missing may be what an earlier state brings.
  if (plan.verdict == states::Verdict::fail && !context.overlay.empty())
    return states::Plan::unknown(
        {}, "It cannot work yet, and may once the earlier states are applied: " + plan.message);
  return plan;
}

states::Plan ModuleHost::HostedState::make_plan(const states::ParamValues& params,
                                                states::Context& context) const {
  if (!can_plan()) {
    states::Plan plan{.verdict = states::Verdict::change, .message = "Applies " + std::string(name())};
    plan.changes.push_back({.what = std::string(name()), .before = {}, .after = "applied", .diff = {}});
    plan.effects = {{.kind = states::EffectKind::anything}};
    return plan;
  }
  // What is printed while planning is shown only with a failure.
  base::BoundedOutput printed(0, kQuotedOutput);
  const ModuleProcess::Output output = [&](base::Stream, std::string_view data) { printed.append(data); };
  auto process = host_.take(index_, Purpose::plan, context, output);
  if (!process) return states::Plan::fail(with_output(process.error().message(), printed));
  const std::string parameter = parameter_json(params);
  auto planned = (*process)->plan({.state_id = context.state_id,
                                   .parameter = parameter,
                                   .deadline = context.commands.deadline(),
                                   .interrupt = &context.interrupt,
                                   .output = output});
  host_.give_back(index_, Purpose::plan, std::move(*process));
  if (!planned) return states::Plan::fail(with_output(planned.error().message(), printed));
  return plan_of(std::move(*planned), context);
}

states::Applied ModuleHost::HostedState::apply_plan(const states::ParamValues& params,
                                                    const states::Plan& plan,
                                                    states::ApplyContext& context) const {
  context.commands.begin_other_program();
  states::ShownOutput shown = context.commands.shown_output(kKeptOutput, kKeptOutput);
  const ModuleProcess::Output output = [&](base::Stream stream, std::string_view data) {
    shown.add(stream, data);
  };
  auto process = host_.take(index_, Purpose::apply, context, output);
  if (!process) {
    shown.finish();
    return states::Applied::failed(process.error(), shown.kept().text());
  }
  base::Conversation& conversation = (*process)->conversation();
  conversation.forget_peak();
  const base::Conversation::Usage before = conversation.usage();
  const std::string parameter = parameter_json(params);
  auto done = (*process)->apply({.state_id = context.state_id,
                                 .parameter = parameter,
                                 .deadline = context.commands.deadline(),
                                 .interrupt = &context.interrupt,
                                 .output = output},
                                plan.changes);
  const base::Conversation::Usage after = conversation.usage();
  host_.give_back(index_, Purpose::apply, std::move(*process));
  shown.finish();
  context.commands.end_other_program(std::max(after.cpu - before.cpu, std::chrono::microseconds(0)),
                                     after.max_rss_kb, shown.kept().dropped() > 0);
  if (!done) return states::Applied::failed(done.error(), shown.kept().text());
  if (!done->ok) return states::Applied::failed(done->message, shown.kept().text());
  return states::Applied::done(done->message.empty() ? plan.message : done->message, shown.kept().text());
}

ModuleHost::ModuleHost(::modules::ModuleSet set, Settings settings)
    : set_(std::move(set)), settings_(settings), slots_(2 * set_.modules().size()) {
  for (std::size_t i = 0; i < set_.modules().size(); ++i) {
    types_.push_back(std::make_unique<const HostedState>(*this, i));
    entries_.push_back({.type = types_.back().get(), .page = set_.modules()[i].page});
  }
}

ModuleHost::~ModuleHost() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  changed_.notify_all();
  if (idle_thread_.joinable()) idle_thread_.join();
}

Result<std::unique_ptr<ModuleProcess>> ModuleHost::take(std::size_t module, Purpose purpose,
                                                        states::Context& context,
                                                        const ModuleProcess::Output& output) {
  {
    const std::lock_guard lock(mutex_);
    if (Slot& found = slot(module, purpose); found.process) return std::move(found.process);
  }
  const ::modules::Module& wanted = set_.modules()[module];
  ModuleProcess::Start start{.module = wanted, .purpose = purpose};
  if (const std::string& user = wanted.manifest->run_as; !user.empty()) {
    const base::User* found = context.accounts.user(user);
    if (!found)
      return base::Error(base::ErrorCode::not_found, "Module '" + wanted.manifest->name + "' runs as user '" +
                                                         user + "', who does not exist");
    start.identity = context.accounts.identity_of(*found);
    start.home = found->home;
  }
  return ModuleProcess::start(start, context.commands.deadline(), &context.interrupt, output);
}

void ModuleHost::give_back(std::size_t module, Purpose purpose, std::unique_ptr<ModuleProcess> process) {
  if (!process->is_usable()) return;
  {
    const std::lock_guard lock(mutex_);
    slot(module, purpose) = {std::move(process), Clock::now()};
    if (idle_thread_.joinable()) return;
    idle_thread_ = std::thread([this] { stop_idle_ones(); });
  }
}

std::size_t ModuleHost::running() {
  const std::lock_guard lock(mutex_);
  return static_cast<std::size_t>(
      std::ranges::count_if(slots_, [](const Slot& each) { return each.process != nullptr; }));
}

void ModuleHost::stop_idle_ones() {
  std::unique_lock lock(mutex_);
  while (!is_ending_) {
    const Clock::time_point now = Clock::now();
    Clock::time_point next = now + settings_.idle;
    std::vector<std::unique_ptr<ModuleProcess>> idle;
    for (Slot& each : slots_) {
      if (!each.process) continue;
      if (each.last_used + settings_.idle <= now)
        idle.push_back(std::move(each.process));
      else
        next = std::min(next, each.last_used + settings_.idle);
    }
    if (!idle.empty()) {
      lock.unlock();  // ending one takes as long as it likes, up to a limit
      idle.clear();
      lock.lock();
      continue;
    }
    changed_.wait_until(lock, next, [&] { return is_ending_; });
  }
}

}  // namespace agent::modules

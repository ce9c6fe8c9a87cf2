// common.timezone: the time zone of the system, and what its hardware clock keeps.
#include <unistd.h>

#include "base/text.hpp"
#include "states/common_timezone/hardware_clock.hpp"
#include "states/common_timezone/zone.hpp"
#include "states/files/marking.hpp"
#include "states/files/replacing.hpp"
#include "states/programs/tool_sequence.hpp"
#include "states/state.hpp"

namespace states::common_timezone {

namespace {

struct Params {
  std::string_view name;
  std::optional<bool> use_utc;
};

constexpr auto kParams =
    param_table(param<&Params::name>("name", "the zone, as in Europe/Berlin").required(),
                param<&Params::use_utc>("use-utc", "whether the hardware clock keeps UTC; false: local time")
                    .alias("use_utc")
                    .fallback("not managed"));

constexpr std::string_view kLocaltime = "/etc/localtime";
constexpr std::string_view kTimezone = "/etc/timezone";  // Debian's own note of the name

struct Steps {
  bool link = false;
  bool note = false;
  bool clock = false;
  base::Seen seen_link;
  base::Seen seen_note;
  std::string before;  // the zone that was set
};

class Timezone final : public State<Params, Steps> {
 public:
  constexpr Timezone()
      : State({.name = "common.timezone",
               .summary = "The time zone of the system, and what its hardware clock keeps",
               .works_below_root = true},
              kParams) {}

 private:
  base::Result<void> check(const Params& params) const override;
  PlanWith<Steps> plan(const Params& params, Context& context) const override;
  Applied apply(const Params& params, const Plan& plan, const Steps& steps,
                ApplyContext& context) const override;
  std::vector<Effect> touched(const Params& params) const override;
};

base::Result<void> Timezone::check(const Params& params) const {
  if (is_zone_name(params.name)) return {};
  return base::Error(base::ErrorCode::invalid, "Unknown time zone '" + std::string(params.name) + "'");
}

std::vector<Effect> Timezone::touched(const Params& params) const {
  std::vector<Effect> touched{{.kind = EffectKind::link, .name = std::string(kLocaltime)},
                              {.kind = EffectKind::file, .name = std::string(kTimezone)}};
  if (params.use_utc) touched.push_back({.kind = EffectKind::file, .name = std::string(kAdjtime)});
  return touched;
}

std::optional<Plan> stop_for_earlier_states(const Params& params, Context& context) {
  const auto depends = [&](std::string_view path) -> std::optional<Plan> {
    const Overlay::Entry* earlier = context.overlay.path(path);
    if (!earlier) return std::nullopt;
    return Plan::unknown(earlier->state_id,
                         std::string(path) + " depends on what an earlier state does to it");
  };
  if (auto stop = depends(kLocaltime)) return stop;
  if (auto stop = depends(kTimezone)) return stop;
  return params.use_utc ? depends(kAdjtime) : std::nullopt;
}

Plan no_such_zone(const Params& params, Context& context) {
  const std::string name(params.name);
  std::string message = "Unknown time zone '" + name + "'";
  if (const Overlay::Entry* provider = context.overlay.provider(EffectKind::file, zone_path(name)))
    return Plan::unknown(provider->state_id, message + " yet");
  const auto tree = context.tree.look(kZoneFolder);
  if (tree && !*tree) message += ": " + std::string(kZoneFolder) + " is missing (package tzdata)";
  return Plan::fail(message);
}

// What /etc/timezone says; "" when it says nothing.
base::Result<std::string> noted_zone(Context& context) {
  constexpr std::size_t kLimit = 4096;
  auto text = context.tree.read(kTimezone, kLimit);
  if (text) return std::string(base::trim(*text));
  if (text.error().code() == base::ErrorCode::not_found) return std::string();
  return std::move(text).error();
}

base::Attributes note_attributes() {
  return {.uid = ::geteuid(), .gid = ::getegid(), .mode = 0644};
}

std::string clock_text(bool utc) {
  return utc ? "UTC" : "local time";
}

PlanWith<Steps> Timezone::plan(const Params& params, Context& context) const {
  const std::string name(params.name);
  if (auto stop = stop_for_earlier_states(params, context)) return std::move(*stop);
  auto zone = read_zone(name, context.tree);
  const bool comes = !zone && zone.error().code() == base::ErrorCode::unsupported;  // perhaps, with a package
  if (!zone && !comes) return Plan::fail(zone.error());
  if (comes || !*zone) return no_such_zone(params, context);
  auto present = read_localtime(context.tree);
  if (!present) return Plan::fail(present.error());

  const bool has_note = context.host.os.family == base::OsRelease::Family::debian;
  auto noted = has_note ? noted_zone(context) : base::Result<std::string>(name);
  if (!noted) return Plan::fail(noted.error());
  Steps steps;
  steps.before = !present->name.empty() ? present->name : has_note && !noted->empty() ? *noted : "unknown";
  steps.note = *noted != name;
  // Zones with the same rules have the same bytes. A link says by which name the zone is called (timedatectl
  // shows it, programs read it), a copy of the bytes does not.
  steps.link = present->bytes != **zone || (!present->name.empty() && present->name != name);

  Plan plan{.verdict = Verdict::change, .message = "Set the time zone to " + name};
  if (steps.link) {
    if (std::string why = files::why_locked(kLocaltime, base::Changing::name, context); !why.empty())
      return Plan::fail(std::move(why));
    steps.seen_link = present->seen;
    plan.changes.push_back({.what = "time zone", .before = steps.before, .after = name});
    plan.effects.push_back({.kind = EffectKind::link, .name = std::string(kLocaltime)});
    plan.written.emplace_back(kLocaltime);
  }
  if (steps.note) {
    auto seen = context.tree.look(kTimezone);
    if (!seen) return Plan::fail(seen.error());
    if (std::string why = files::why_locked(kTimezone, base::Changing::name, context); !why.empty())
      return Plan::fail(std::move(why));
    steps.seen_note = base::Seen(*seen);
    plan.changes.push_back({.what = "content of " + std::string(kTimezone), .before = *noted, .after = name});
    if (*seen)
      if (auto shown =
              files::show_lost_by_replacing(kTimezone, **seen, note_attributes(), context, plan.changes);
          !shown)
        return Plan::fail(shown.error());
    if (*seen)
      if (auto marked = files::mark_content(kTimezone, **seen, context, plan); !marked)
        return Plan::fail(marked.error());
    plan.effects.push_back({.kind = EffectKind::file, .name = std::string(kTimezone)});
    plan.written.emplace_back(kTimezone);
  }
  if (params.use_utc) {
    auto utc = clock_keeps_utc(context.tree);
    if (!utc) return Plan::fail(utc.error());
    steps.clock = *utc != *params.use_utc;
    if (steps.clock) {
      if (std::string why = files::why_locked(kAdjtime, base::Changing::name, context); !why.empty())
        return Plan::fail(std::move(why));
      plan.changes.push_back(
          {.what = "hardware clock", .before = clock_text(*utc), .after = clock_text(*params.use_utc)});
      plan.effects.push_back({.kind = EffectKind::file, .name = std::string(kAdjtime)});
      plan.written.emplace_back(kAdjtime);
    }
  }
  if (plan.changes.empty())
    return Plan::kept(
        "Time zone " + name + " is already set" +
        (params.use_utc ? ", as is " + clock_text(*params.use_utc) + " in the hardware clock" : ""));
  return {std::move(plan), std::move(steps)};
}

Applied Timezone::apply(const Params& params, const Plan&, const Steps& steps, ApplyContext& context) const {
  const std::string name(params.name);
  std::vector<std::string> comments;
  if (steps.link)
    if (auto linked = context.files.make_link(kLocaltime, steps.seen_link, zone_path(name), {}); !linked)
      return Applied::failed(linked.error());
  if (steps.note)
    if (auto written = context.files.write_file(kTimezone, steps.seen_note, name + "\n", note_attributes());
        !written)
      return Applied::failed(written.error());
  if (steps.link || steps.note)
    comments.push_back("Time zone set to " + name + " (was " + steps.before + ")");
  programs::ToolSequence tools(context.commands, !context.sensitive);
  if (steps.clock) {
    if (auto set = set_clock(*params.use_utc, tools, context); !set)
      return Applied::failed(set.error(), tools.output());
    comments.push_back("Hardware clock set to " + clock_text(*params.use_utc));
  }
  return Applied::done(base::join(comments, "\n\n"), tools.output());
}

constexpr Timezone kType;

}  // namespace

extern const StateType& kState;
constinit const StateType& kState = kType;

}  // namespace states::common_timezone

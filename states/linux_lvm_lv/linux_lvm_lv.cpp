// linux.lvm.lv: a logical volume of LVM. One that exists is never changed, shrunk or removed.
#include <algorithm>
#include <array>
#include <optional>

#include "base/text.hpp"
#include "base/tree/seen.hpp"
#include "states/block_devices/block_device.hpp"
#include "states/block_devices/lvm.hpp"
#include "states/linux_lvm_lv/lvcreate.hpp"
#include "states/prerequisites/prerequisite.hpp"
#include "states/programs/tool_sequence.hpp"
#include "states/state.hpp"

namespace states::linux_lvm_lv {

namespace {

using block_devices::BlockDevice;
using block_devices::LogicalVolume;
using block_devices::LogicalVolumes;
using block_devices::LvmReport;

constexpr auto kParams = param_table(
    param<&Params::name>("name", "the volume").required(),
    param<&Params::vg_name>("vg-name", "its group").required(),
    param<&Params::path>("path", "physical volumes of the group to take the space from").fallback("any"),
    param<&Params::le_size>("le-size", "size, such as `10g`; a number alone is in MiB")
        .alias("lv-size")
        .fallback("none"),
    param<&Params::le_number>("le-number", "size in extents, or a share: `50%FREE`, `%VG`, `%PVS`, `%ORIGIN`")
        .fallback("none"),
    param<&Params::available>("available", "whether it is active: `y`, `ay`, `n`, `ey`, `en`, `ly`, `ln`")
        .fallback("y"),
    param<&Params::chunk_size>("chunk-size", "chunk of a snapshot or pool").fallback("LVM's"),
    param<&Params::stripe_number>("stripe-number", "number of stripes").fallback("1"),
    param<&Params::stripe_size>("stripe-size", "size of a stripe, such as `64k`").fallback("LVM's"),
    param<&Params::mirror_number>("mirror-number", "copies besides the first").fallback("none"),
    param<&Params::region_size>("region-size", "region of a mirror").fallback("LVM's"),
    param<&Params::readahead>("readahead", "sectors, `auto` or `none`").fallback("auto"),
    param<&Params::discards>("discards",
                             "of a thin pool: `ignore`, `nopassdown` or `passdown`; of others without effect")
        .fallback("passdown"),
    param<&Params::permission>("permission", "`rw` or `r`").fallback("rw"),
    param<&Params::type>("type", "`linear`, `striped`, `raid1`, `thin-pool` …").fallback("by other options"),
    param<&Params::virtual_size>("virtual-size", "size of a thin volume").fallback("none"),
    param<&Params::tag>("tag", "a tag for the volume").fallback("none"),
    param<&Params::allocation_policy>("allocation-policy",
                                      "`normal`, `contiguous`, `cling`, `anywhere` or `inherit`")
        .alias("allocation policy")
        .fallback("inherit"),
    param<&Params::pool_metadata_size>("pool-metadata-size", "room for the metadata of a pool")
        .alias("pool metadata size")
        .fallback("LVM's"),
    param<&Params::thinpool>("thinpool", "the pool of a thin volume; with a size it is made, too")
        .fallback("none"),
    param<&Params::minor_number>("minor-number", "minor number of the device; with `persistent`")
        .fallback("any"),
    param<&Params::persistent>("persistent", "keep that number; without one it has no effect")
        .fallback("false"),
    param<&Params::contiguous>("contiguous", "extents one after the other").fallback("false"),
    param<&Params::zero>("zero", "clear the beginning").fallback("true"),
    param<&Params::monitor>("monitor", "have it watched by dmeventd").fallback("LVM's"),
    param<&Params::autobackup>("autobackup", "keep a backup of the metadata below /etc/lvm")
        .fallback("LVM's"),
    param<&Params::no_udev_sync>("no-udev-sync", "do not wait for udev").fallback("false"),
    param<&Params::ignore_monitoring>("ignore-monitoring", "leave dmeventd alone").fallback("false"),
    param<&Params::snapshot>("snapshot", "a volume of the group; the new one is a snapshot of it")
        .fallback("none"));

constexpr prerequisites::Prerequisite kNeeded{"linux.lvm.lv", "lvm", {"lvm2"}, {"lvm2"}};

// A volume is tagged as unfinished until lvcreate is over. So one that a killed run has left, whose old
// content may not be cleared, is told from one that was there.
enum class Action { create, finish, look_again };  // look_again: without lvm nothing could be seen
struct Steps {
  Action action = Action::create;
  std::vector<BlockDevice> devices;
};

class LogicalVolumeState final : public State<Params, Steps> {
 public:
  constexpr LogicalVolumeState()
      : State({.name = "linux.lvm.lv", .summary = "A logical volume of LVM"}, kParams) {}

 private:
  base::Result<void> check(const Params& params) const override { return check_options(params); }
  PlanWith<Steps> plan(const Params& params, Context& context) const override;
  Applied apply(const Params& params, const Plan& plan, const Steps& steps,
                ApplyContext& context) const override;
  std::vector<Effect> touched(const Params& params) const override;
};

std::string full_name(const Params& params) {
  return std::string(params.vg_name) + "/" + std::string(params.name);
}

std::string device_path(const Params& params) {
  return "/dev/" + full_name(params);
}

// "/dev/mapper/a--b-c" of "a-b/c".
std::string mapper_path(const Params& params) {
  std::string path = "/dev/mapper/";
  const auto add = [&](std::string_view name) {
    for (const char c : name)
      path.append(c == '-' ? "--" : std::string(1, c));
  };
  add(params.vg_name);
  path += '-';
  add(params.name);
  return path;
}

std::vector<Effect> LogicalVolumeState::touched(const Params& params) const {
  std::vector<Effect> touched = prerequisites::possible_packages(kNeeded);
  for (const std::string& path : {device_path(params), mapper_path(params)})
    touched.push_back({.kind = EffectKind::file, .name = path, .certain = false});
  return touched;
}

// "8 MiB", "1.5 GiB"
std::string size_text(std::uint64_t bytes) {
  constexpr std::array<std::string_view, 7> kUnits{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  std::size_t unit = 0;
  std::uint64_t whole = bytes;
  std::uint64_t tenths = 0;
  while (whole >= 1024 && unit + 1 < kUnits.size()) {
    tenths = whole % 1024 * 10 / 1024;
    whole /= 1024;
    ++unit;
  }
  return std::to_string(whole) + (tenths == 0 ? "" : "." + std::to_string(tenths)) + " " +
         std::string(kUnits[unit]);
}

// The size that the recipe says, as LVM rounds it; nothing when it is a share of something.
std::optional<std::uint64_t> wanted_size(const Params& params, std::uint64_t extent_size) {
  if (extent_size == 0) return std::nullopt;
  std::optional<std::uint64_t> bytes;
  if (!params.virtual_size.empty())
    bytes = bytes_of(params.virtual_size);
  else if (!params.le_size.empty())
    bytes = bytes_of(params.le_size);
  else if (const auto extents = base::parse_integer(params.le_number))
    bytes = static_cast<std::uint64_t>(*extents) * extent_size;
  if (!bytes) return std::nullopt;
  const auto stripes = std::max<std::int64_t>(base::parse_integer(params.stripe_number).value_or(1), 1);
  const std::uint64_t step = extent_size * static_cast<std::uint64_t>(stripes);
  return (*bytes + step - 1) / step * step;
}

bool is_unfinished(const LogicalVolume& volume) {
  return std::ranges::find(volume.tags, kUnfinished) != volume.tags.end();
}

std::string kept_text(const Params& params, const LogicalVolume& volume) {
  std::string text = "Logical volume " + full_name(params) + " exists";
  const auto wanted = wanted_size(params, volume.extent_size);
  if (wanted && *wanted != volume.size)
    text += "; its size is " + size_text(volume.size) + ", not " + size_text(*wanted);
  if (!params.snapshot.empty() && volume.origin != origin_of(params))
    text += "; it is not a snapshot of " + std::string(params.vg_name) + "/" + std::string(origin_of(params));
  return text;
}

// Whether the new volume shows the content of another from the beginning, or none at all.
bool has_own_content(const Params& params, const LogicalVolume& volume) {
  return params.snapshot.empty() && !volume.is_pool;
}

// Why a volume that a killed run has left cannot simply be finished; "" when it can.
base::Result<std::string> why_not_finished(const Params& params, const LogicalVolume& volume,
                                           Context& context) {
  const std::string name = full_name(params);
  const std::string ways = ". Remove it with 'lvremove " + name +
                           "' if nothing in it is needed, or keep it as it is with 'lvchange --deltag " +
                           std::string(kUnfinished) + " " + name + "'";
  const std::string begun = "Logical volume " + name + " was begun by a run that was ended, and ";
  if (!params.snapshot.empty() && volume.origin != origin_of(params))
    return begun + "is no snapshot of " + std::string(origin_of(params)) + ways;
  if (!has_own_content(params, volume)) return std::string();
  auto device = block_devices::find_device(device_path(params), context);
  if (!device) return std::move(device).error();
  if (!*device) return std::string();
  const auto content = block_devices::read_content(**device);
  if (!content) return content.error();
  auto user = block_devices::user_of(**device);
  if (!user) return user;
  const std::string what = !user->empty()                      ? "is in use (" + *user + ")"
                           : content->is_ambiguous             ? "contains several file systems"
                           : !content->partition_table.empty() ? "contains a partition table"
                           : !content->type.empty()            ? "contains " + content->type
                                                               : "";
  return what.empty() ? what : begun + what + ways;
}

PlanWith<Steps> plan_finishing(const Params& params, const LogicalVolume& volume, Context& context) {
  const auto problem = why_not_finished(params, volume, context);
  if (!problem) return Plan::fail(problem.error());
  if (!problem->empty()) return Plan::fail(*problem);
  Plan plan{
      .verdict = Verdict::change,
      .message = "Finish logical volume " + full_name(params) + ", which a run that was ended has begun"};
  plan.changes.push_back(
      {.what = "logical volume " + full_name(params), .before = "unfinished", .after = "finished"});
  for (const std::string& path : {device_path(params), mapper_path(params)})
    plan.effects.push_back({.kind = EffectKind::file, .name = path, .certain = false});
  return {std::move(plan), {.action = Action::finish, .devices = {}}};
}

// The earlier state that would make the group, or a volume of it that this one needs.
const Overlay::Entry* maker_of(const Params& params, std::string_view volume, const Overlay& overlay) {
  const std::string group = "/dev/" + std::string(params.vg_name);
  if (volume.empty()) return overlay.find(EffectKind::directory, group);
  return overlay.path(group + "/" + std::string(volume));
}

Plan not_there(const Params& params, std::string_view volume, const std::string& message, Context& context) {
  if (const Overlay::Entry* earlier = maker_of(params, volume, context.overlay))
    return Plan::unknown(earlier->state_id, message);
  const std::string path =
      "/dev/" + std::string(params.vg_name) + (volume.empty() ? "" : "/" + std::string(volume));
  if (const Overlay::Entry* earlier = context.overlay.provider(EffectKind::file, path))
    return Plan::unknown(earlier->state_id, message);
  return Plan::fail(message);
}

// The volumes that this one is made of or in; a plan when it cannot be made for want of them.
std::optional<Plan> lacks_volume(const Params& params, const LogicalVolumes& volumes, Context& context) {
  const std::string group(params.vg_name);
  if (!params.snapshot.empty()) {
    const std::string origin(origin_of(params));
    const LogicalVolume* found = volumes.find(group, origin);
    if (!found) return not_there(params, origin, "Origin " + group + "/" + origin + " not found", context);
    if (is_unfinished(*found))
      return Plan::fail("Origin " + group + "/" + origin +
                        " is not finished: a run that was ended has begun it");
    if (!has_size(params) && found->pool.empty())
      return Plan::fail("Give exactly one of 'le-size' and 'le-number': " + group + "/" + origin +
                        " is no thin volume");
  }
  if (params.thinpool.empty()) return std::nullopt;
  const std::string pool(pool_of(params));
  const LogicalVolume* found = volumes.find(group, pool);
  if (is_in_old_pool(params) && !found)
    return not_there(params, pool, "Thin pool " + group + "/" + pool + " not found", context);
  if (is_in_old_pool(params) && !found->is_pool) return Plan::fail(group + "/" + pool + " is no thin pool");
  if (makes_pool_and_volume(params) && found)
    return Plan::fail(group + "/" + pool +
                      " exists: without 'le-size' and 'le-number' the volume is made in that pool");
  return std::nullopt;
}

std::optional<Plan> find_devices(const Params& params, const LvmReport& report, Context& context,
                                 std::vector<BlockDevice>& devices) {
  for (const std::string_view given : params.path) {
    const std::string path(given);
    auto device = block_devices::find_device(path, context);
    if (!device) return Plan::fail(device.error());
    if (!*device) return Plan::fail("Device " + path + " not found");
    if (block_devices::group_of(report, **device) != params.vg_name)
      return Plan::fail("Device " + path + " does not belong to " + std::string(params.vg_name));
    devices.push_back(std::move(**device));
  }
  return std::nullopt;
}

std::string too_large(const Params& params, const block_devices::VolumeGroup& group) {
  const std::uint64_t free = group.free_extents * group.extent_size;
  const auto size =
      has_size(params) && params.virtual_size.empty() ? wanted_size(params, group.extent_size) : std::nullopt;
  if (!has_size(params) || (free > 0 && (!size || *size <= free))) return {};
  return "Not enough free space in " + group.name + ": " + size_text(free) + " of it are free" +
         (size ? ", " + size_text(*size) + " are wanted" : "");
}

// Adds what creating the volume is.
void describe_creation(const Params& params, Plan& plan) {
  const std::string size(!params.virtual_size.empty() ? params.virtual_size
                         : !params.le_size.empty()    ? params.le_size
                                                      : params.le_number);
  const std::string what = params.snapshot.empty()
                               ? "Create logical volume " + full_name(params)
                               : "Create snapshot " + full_name(params) + " of " +
                                     std::string(params.vg_name) + "/" + std::string(origin_of(params));
  plan.verdict = Verdict::change;
  plan.message = what + (size.empty() ? "" : " (" + size + ")");
  plan.changes.push_back({.what = "logical volume " + full_name(params),
                          .before = "absent",
                          .after = size.empty() ? "as its origin" : size});
  for (const std::string& path : {device_path(params), mapper_path(params)})
    plan.effects.push_back({.kind = EffectKind::file, .name = path});
}

PlanWith<Steps> LogicalVolumeState::plan(const Params& params, Context& context) const {
  if (context.has_secrets(params.tag))
    return Plan::fail("'tag' must not hold a secret: everybody can read the arguments of lvcreate");
  Plan plan;
  const auto has_lvm = prerequisites::plan_program(context, kNeeded, plan);
  if (!has_lvm) return Plan::fail(has_lvm.error());
  if (!*has_lvm) {
    if (const Overlay::Entry* earlier = maker_of(params, {}, context.overlay))
      return Plan::unknown(earlier->state_id,
                           "Volume group " + std::string(params.vg_name) + " is not there yet");
    describe_creation(params, plan);
    return {std::move(plan), {.action = Action::look_again, .devices = {}}};
  }
  const auto volumes = block_devices::read_logical_volumes(context);
  if (!volumes) return Plan::fail(volumes.error());
  const LogicalVolume* found = volumes->find(params.vg_name, params.name);
  if (found && is_unfinished(*found)) return plan_finishing(params, *found, context);
  if (found) return Plan::kept(kept_text(params, *found));
  const auto report = block_devices::read_lvm(context);
  if (!report) return Plan::fail(report.error());
  const block_devices::VolumeGroup* group = report->find_group(params.vg_name);
  if (!group) {
    const std::string message = "Volume group " + std::string(params.vg_name) + " not found";
    return not_there(params, {}, message, context);
  }
  if (auto stop = lacks_volume(params, *volumes, context)) return std::move(*stop);
  Steps steps;
  if (auto stop = find_devices(params, *report, context, steps.devices)) return std::move(*stop);
  if (std::string problem = too_large(params, *group); !problem.empty())
    return Plan::fail(std::move(problem));
  describe_creation(params, plan);
  return {std::move(plan), std::move(steps)};
}

base::Error creation_error(const Params& params, base::Error error) {
  const std::string& text = error.message();
  for (const char* words :
       {"nsufficient free space", "nsufficient suitable", "is 0 extents", "No specified PVs have space"})
    if (text.find(words) != text.npos)
      return std::move(error).with_context("Not enough free space in " + std::string(params.vg_name));
  return error;
}

// The size of the volume as it is now, for people; "" when it cannot be told.
std::string size_now(const Params& params, ApplyContext& context) {
  context.facts.clear();
  const auto volumes = block_devices::read_logical_volumes(context);
  const LogicalVolume* found = volumes ? volumes->find(params.vg_name, params.name) : nullptr;
  return found ? " (" + size_text(found->size) + ")" : std::string();
}

base::Result<void> finish(const Params& params, programs::ToolSequence& tools, ApplyContext& context) {
  if (!stays_inactive(params))
    if (auto done = tools.run({"lvchange", "--activate", "y", "--", full_name(params)}); !done) return done;
  // Now there is a device, and on it may be what an older volume has left there.
  context.facts.clear();
  context.tree.forget();
  const auto volumes = block_devices::read_logical_volumes(context);
  if (!volumes) return volumes.error();
  const LogicalVolume* found = volumes->find(params.vg_name, params.name);
  if (!found) return base::changed_since_planned(device_path(params), "it is gone");
  const auto problem = why_not_finished(params, *found, context);
  if (!problem) return problem.error();
  if (!problem->empty()) return base::Error(base::ErrorCode::exists, *problem);
  return {};
}

// Makes it so. Answers what it has done.
base::Result<std::string> take(const Params& params, const Steps& steps, programs::ToolSequence& tools,
                               ApplyContext& context) {
  if (steps.action == Action::finish) {
    if (auto finished = finish(params, tools, context); !finished) return std::move(finished).error();
  } else {
    std::vector<std::string> devices;
    for (const BlockDevice& device : steps.devices)
      devices.push_back(device.path);
    if (auto made = tools.run(command_for(params, devices)); !made)
      return creation_error(params, std::move(made).error());
  }
  if (is_marked(params))
    if (auto done = tools.run({"lvchange", "--deltag", std::string(kUnfinished), "--", full_name(params)});
        !done)
      return std::move(done).error();
  return "Logical volume " + full_name(params) + (steps.action == Action::finish ? " finished" : " created") +
         size_now(params, context);
}

Applied LogicalVolumeState::apply(const Params& params, const Plan&, const Steps& steps,
                                  ApplyContext& context) const {
  auto installed = prerequisites::ensure_program(context, kNeeded);
  if (!installed) return Applied::failed(installed.error());
  std::optional<PlanWith<Steps>> again;
  if (steps.action == Action::look_again) {
    context.facts.clear();
    again = plan(params, context);
    if (again->plan.verdict == Verdict::kept)
      return Applied::done(installed->before(again->plan.message), installed->output);
    if (again->plan.verdict != Verdict::change)
      return Applied::failed(again->plan.message, installed->output);
  }
  programs::ToolSequence tools(context.commands, !context.sensitive);
  auto done = take(params, again && again->steps ? *again->steps : steps, tools, context);
  std::string output = installed->output + tools.output();
  if (!done) return Applied::failed(done.error(), std::move(output));
  return Applied::done(installed->before(std::move(*done)), std::move(output));
}

constexpr LogicalVolumeState kType;

}  // namespace

extern const StateType& kState;
constinit const StateType& kState = kType;

}  // namespace states::linux_lvm_lv

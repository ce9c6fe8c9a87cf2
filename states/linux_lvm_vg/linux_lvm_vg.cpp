// linux.lvm.vg: a volume group of LVM.
#include <algorithm>
#include <array>
#include <variant>

#include "base/text.hpp"
#include "states/block_devices/block_device.hpp"
#include "states/block_devices/lvm.hpp"
#include "states/prerequisites/prerequisite.hpp"
#include "states/programs/tool_sequence.hpp"
#include "states/state.hpp"

namespace states::linux_lvm_vg {

namespace {

using block_devices::BlockDevice;

struct Params {
  std::string_view name;
  List path;
  bool clustered = false;
  std::string_view max_lv_number;
  std::string_view max_pv_number;
  std::string_view metadata_type;
  std::string_view metadata_copies;
  std::string_view pe_size;
  std::optional<bool> autobackup;
  std::string_view tag;
  std::string_view allocation_policy;
};

constexpr auto kParams = param_table(
    param<&Params::name>("name", "the group").required(),
    param<&Params::path>("path", "its block devices; those that are no physical volumes become some")
        .required(),
    param<&Params::clustered>("clustered", "of old recipes; has no effect").fallback("false"),
    param<&Params::max_lv_number>("max-lv-number", "most logical volumes").fallback("no limit"),
    param<&Params::max_pv_number>("max-pv-number", "most physical volumes").fallback("no limit"),
    param<&Params::metadata_type>("metadata-type", "`lvm2`; there is no other any more")
        .alias("metadata type")
        .fallback("lvm2"),
    param<&Params::metadata_copies>("metadata-copies", "a number, `all` or `unmanaged`")
        .alias("metadata copies")
        .fallback("unmanaged"),
    param<&Params::pe_size>("pe-size", "size of an extent").alias("PE size").fallback("4m"),
    param<&Params::autobackup>("autobackup", "keep a backup of the metadata below /etc/lvm")
        .fallback("LVM's"),
    param<&Params::tag>("tag", "a tag for the group").fallback("none"),
    param<&Params::allocation_policy>("allocation-policy", "`normal`, `contiguous`, `cling` or `anywhere`")
        .alias("allocation policy")
        .fallback("normal"));

constexpr prerequisites::Prerequisite kNeeded{"linux.lvm.vg", "lvm", {"lvm2"}, {"lvm2"}};

struct Steps {
  std::vector<BlockDevice> devices;
};

class VolumeGroup final : public State<Params, Steps> {
 public:
  constexpr VolumeGroup() : State({.name = "linux.lvm.vg", .summary = "A volume group of LVM"}, kParams) {}

 private:
  base::Result<void> check(const Params& params) const override;
  PlanWith<Steps> plan(const Params& params, Context& context) const override;
  Applied apply(const Params& params, const Plan& plan, const Steps& steps,
                ApplyContext& context) const override;
  std::vector<Effect> touched(const Params& params) const override;
};

base::Error illegal(std::string_view param, std::string_view value) {
  return {base::ErrorCode::invalid,
          "Illegal value for '" + std::string(param) + "': '" + std::string(value) + "'"};
}

base::Result<void> VolumeGroup::check(const Params& params) const {
  if (auto fine = block_devices::check_lvm_name("name", params.name); !fine) return fine;
  for (const std::string_view path : params.path)
    if (auto fine = block_devices::check_device_path("path", path); !fine) return fine;
  const std::pair<std::string_view, std::string_view> values[] = {{"max-lv-number", params.max_lv_number},
                                                                  {"max-pv-number", params.max_pv_number},
                                                                  {"metadata-copies", params.metadata_copies},
                                                                  {"pe-size", params.pe_size},
                                                                  {"tag", params.tag}};
  for (const auto& [name, value] : values)
    if (auto fine = block_devices::check_lvm_value(name, value); !fine) return fine;
  if (params.metadata_type == "lvm1" || params.metadata_type == "1")
    return base::Error(base::ErrorCode::invalid,
                       "Illegal value for 'metadata-type': lvm1 is gone since LVM 2.03; use lvm2");
  if (!params.metadata_type.empty() && params.metadata_type != "lvm2" && params.metadata_type != "2")
    return illegal("metadata-type", params.metadata_type);
  constexpr std::array<std::string_view, 6> kPolicies{"",      "anywhere", "contiguous",
                                                      "cling", "inherit",  "normal"};
  if (std::ranges::find(kPolicies, params.allocation_policy) == kPolicies.end())
    return illegal("allocation-policy", params.allocation_policy);
  return {};
}

std::vector<Effect> VolumeGroup::touched(const Params& params) const {
  std::vector<Effect> touched = prerequisites::possible_packages(kNeeded);
  touched.push_back(
      {.kind = EffectKind::directory, .name = "/dev/" + std::string(params.name), .certain = false});
  for (const std::string_view path : params.path)
    touched.push_back({.kind = EffectKind::file, .name = std::string(path), .certain = false});
  return touched;
}

// The devices that are there; those that are not are a plan that stops here.
std::variant<std::vector<BlockDevice>, Plan> devices_of(const Params& params, Context& context) {
  std::vector<BlockDevice> devices;
  for (const std::string_view given : params.path) {
    const std::string path(given);
    if (const Overlay::Entry* earlier = context.overlay.path(path))
      return Plan::unknown(earlier->state_id, path + " depends on what an earlier state does");
    auto device = block_devices::find_device(path, context);
    if (!device) return Plan::fail(device.error());
    if (!*device) {
      if (const Overlay::Entry* earlier = context.overlay.provider(EffectKind::file, path))
        return Plan::unknown(earlier->state_id, path + " is not there yet");
      return Plan::fail("Device " + path + " not found");
    }
    devices.push_back(std::move(**device));
  }
  return devices;
}

// Why the group cannot be made of these; "" when it can.
base::Result<std::string> problem_of(const std::vector<BlockDevice>& devices,
                                     const block_devices::LvmReport& report) {
  for (const BlockDevice& device : devices) {
    if (const std::string other = block_devices::group_of(report, device); !other.empty())
      return "Device " + device.path + " already belongs to " + other;
    const auto content = block_devices::read_content(device);
    if (!content) return content.error();
    auto why = block_devices::why_not_lvm(device, *content, false);
    if (!why || !why->empty()) return why;
  }
  return std::string();
}

PlanWith<Steps> VolumeGroup::plan(const Params& params, Context& context) const {
  const std::string name(params.name);
  auto found = devices_of(params, context);
  if (auto* stop = std::get_if<Plan>(&found)) return std::move(*stop);
  Steps steps{std::move(std::get<std::vector<BlockDevice>>(found))};
  Plan plan;
  const auto has_lvm = prerequisites::plan_program(context, kNeeded, plan);
  if (!has_lvm) return Plan::fail(has_lvm.error());
  const auto report = *has_lvm ? block_devices::read_lvm(context) : block_devices::LvmReport{};
  if (!report) return Plan::fail(report.error());
  if (report->has_group(name)) {
    std::string kept = "Volume group " + name + " exists";
    for (const BlockDevice& device : steps.devices)
      if (block_devices::group_of(*report, device) != name) kept += "; not a member: " + device.path;
    return Plan::kept(kept);
  }
  const auto problem = problem_of(steps.devices, *report);
  if (!problem) return Plan::fail(problem.error());
  if (!problem->empty()) return Plan::fail(*problem);
  std::vector<std::string> paths(params.path.begin(), params.path.end());
  plan.verdict = Verdict::change;
  plan.message = "Create volume group " + name + " on " + base::join(paths, ", ");
  plan.changes.push_back(
      {.what = "volume group " + name, .before = "absent", .after = base::join(paths, ", ")});
  for (const std::string& path : paths)
    plan.effects.push_back({.kind = EffectKind::file, .name = path, .certain = false});
  plan.effects.push_back({.kind = EffectKind::directory, .name = "/dev/" + name, .certain = false});
  return {std::move(plan), std::move(steps)};
}

std::vector<std::string> command_for(const Params& params, const Steps& steps) {
  std::vector<std::string> argv{"vgcreate"};
  const auto option = [&](const char* name, std::string_view value) {
    if (!value.empty()) {
      argv.emplace_back(name);
      argv.emplace_back(value);
    }
  };
  option("--maxlogicalvolumes", params.max_lv_number);
  option("--maxphysicalvolumes", params.max_pv_number);
  if (!params.metadata_type.empty()) option("--metadatatype", "lvm2");
  option("--vgmetadatacopies", params.metadata_copies);
  option("--physicalextentsize", params.pe_size);
  if (params.autobackup) option("--autobackup", *params.autobackup ? "y" : "n");
  option("--addtag", params.tag);
  option("--alloc", params.allocation_policy);
  argv.emplace_back("--");
  argv.emplace_back(params.name);
  for (const BlockDevice& device : steps.devices)
    argv.push_back(device.path);
  return argv;
}

Applied VolumeGroup::apply(const Params& params, const Plan&, const Steps& steps,
                           ApplyContext& context) const {
  auto installed = prerequisites::ensure_program(context, kNeeded);
  if (!installed) return Applied::failed(installed.error());
  // What came to be on a device since the plan is not lost.
  const auto report = block_devices::read_lvm(context);
  if (!report) return Applied::failed(report.error());
  const auto problem = problem_of(steps.devices, *report);
  if (!problem) return Applied::failed(problem.error());
  if (!problem->empty()) return Applied::failed(*problem);
  programs::ToolSequence tools(context.commands, !context.sensitive);
  const auto done = tools.run(command_for(params, steps));
  std::string output = installed->output + tools.output();
  if (params.clustered) output += "'clustered' has no effect: LVM has no clustered groups any more\n";
  if (!done) return Applied::failed(done.error(), std::move(output));
  const std::vector<std::string> paths(params.path.begin(), params.path.end());
  return Applied::done(installed->before("Volume group " + std::string(params.name) + " created on " +
                                         base::join(paths, ", ")),
                       std::move(output));
}

constexpr VolumeGroup kType;

}  // namespace

extern const StateType& kState;
constinit const StateType& kState = kType;

}  // namespace states::linux_lvm_vg

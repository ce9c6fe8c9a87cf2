// linux.lvm.pv: block devices that are physical volumes of LVM.
#include <algorithm>

#include "base/text.hpp"
#include "states/block_devices/block_device.hpp"
#include "states/block_devices/lvm.hpp"
#include "states/prerequisites/prerequisite.hpp"
#include "states/programs/tool_sequence.hpp"
#include "states/state.hpp"

namespace states::linux_lvm_pv {

namespace {

using block_devices::BlockDevice;

struct Params {
  List path;
  bool force = false;
  std::string_view uuid;
  std::optional<bool> zero;
  std::string_view data_alignment;
  std::string_view data_alignment_offset;
  std::string_view metadata_size;
  std::string_view metadata_type;
  std::string_view metadata_copies;
  std::optional<bool> metadata_ignore;
  std::string_view restore_file;
  bool no_restore_file = false;
  std::string_view label_sector;
  std::string_view pv_size;
};

constexpr auto kParams = param_table(
    param<&Params::path>("path", "the block devices").required(),
    param<&Params::force>("force", "overwrite what is on a device").fallback("false"),
    param<&Params::uuid>("uuid", "UUID of the volume; needs `restore-file` or `no-restore-file`")
        .fallback("a new one"),
    param<&Params::zero>("zero", "clear the first sectors").fallback("true"),
    param<&Params::data_alignment>("data-alignment", "alignment of the data, such as `1m`").fallback("LVM's"),
    param<&Params::data_alignment_offset>("data-alignment-offset", "shift of that alignment")
        .alias("data-alignment offset")
        .fallback("none"),
    param<&Params::metadata_size>("metadata-size", "room for metadata, such as `4m`")
        .alias("metadata size")
        .fallback("LVM's"),
    param<&Params::metadata_type>("metadata-type", "`lvm2`; there is no other any more")
        .alias("metadata type")
        .fallback("lvm2"),
    param<&Params::metadata_copies>("metadata-copies", "0, 1 or 2").alias("metadata copies").fallback("1"),
    param<&Params::metadata_ignore>("metadata-ignore", "keep no metadata of groups on it").fallback("false"),
    param<&Params::restore_file>("restore-file", "backup of metadata that tells where the data begins")
        .fallback("none"),
    param<&Params::no_restore_file>("no-restore-file", "`uuid` without such a backup").fallback("false"),
    param<&Params::label_sector>("label-sector", "sector of the label, 0 to 3; other texts are ignored")
        .fallback("1"),
    param<&Params::pv_size>("pv-size", "use no more of the device than this")
        .alias("PV-size")
        .fallback("all of it"));

constexpr prerequisites::Prerequisite kNeeded{"linux.lvm.pv", "lvm", {"lvm2"}, {"lvm2"}};

// The devices that are none yet.
struct Steps {
  std::vector<std::pair<std::string, BlockDevice>> devices;  // as the recipe says, and what it is
};

class PhysicalVolumes final : public State<Params, Steps> {
 public:
  constexpr PhysicalVolumes()
      : State({.name = "linux.lvm.pv", .summary = "Physical volumes of LVM"}, kParams) {}

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

base::Result<void> PhysicalVolumes::check(const Params& params) const {
  for (const std::string_view path : params.path)
    if (auto fine = block_devices::check_device_path("path", path); !fine) return fine;
  const std::pair<std::string_view, std::string_view> values[] = {
      {"uuid", params.uuid},
      {"data-alignment", params.data_alignment},
      {"data-alignment-offset", params.data_alignment_offset},
      {"metadata-size", params.metadata_size},
      {"metadata-copies", params.metadata_copies},
      {"pv-size", params.pv_size}};
  for (const auto& [name, value] : values)
    if (auto fine = block_devices::check_lvm_value(name, value); !fine) return fine;
  if (!params.restore_file.empty())
    if (auto fine = block_devices::check_device_path("restore-file", params.restore_file); !fine) return fine;
  if (params.metadata_type == "lvm1" || params.metadata_type == "1")
    return invalid("Illegal value for 'metadata-type': lvm1 is gone since LVM 2.03; use lvm2");
  if (!params.metadata_type.empty() && params.metadata_type != "lvm2" && params.metadata_type != "2")
    return invalid("Illegal value for 'metadata-type': '" + std::string(params.metadata_type) + "'");
  if (params.uuid.empty()) return {};
  if (params.path.size() > 1) return invalid("'uuid' is for one device, and 'path' has several");
  if (params.restore_file.empty() && !params.no_restore_file)
    return invalid("'uuid' needs 'restore-file' or 'no-restore-file'");
  return {};
}

std::vector<Effect> PhysicalVolumes::touched(const Params& params) const {
  std::vector<Effect> touched = prerequisites::possible_packages(kNeeded);
  for (const std::string_view path : params.path)
    touched.push_back({.kind = EffectKind::file, .name = std::string(path), .certain = false});
  return touched;
}

PlanWith<Steps> PhysicalVolumes::plan(const Params& params, Context& context) const {
  Plan plan;
  Steps steps;
  std::string kept;
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
    const auto content = block_devices::read_content(**device);
    if (!content) return Plan::fail(content.error());
    if (block_devices::is_physical_volume(*content)) {
      kept.append(kept.empty() ? "" : "; ").append(path + " is already a physical volume");
      continue;
    }
    const auto why = block_devices::why_not_lvm(**device, *content, params.force);
    if (!why) return Plan::fail(why.error());
    if (!why->empty())
      return Plan::fail(*why + (why->find(" contains ") == why->npos ? "" : "; set force to overwrite"));
    plan.verdict = Verdict::change;
    plan.message.append(plan.message.empty() ? "Initialise " : ", ").append(path);
    plan.changes.push_back({.what = "device " + path,
                            .before = content->type.empty() ? "nothing that is known" : content->type,
                            .after = "physical volume"});
    plan.effects.push_back({.kind = EffectKind::file, .name = path, .certain = false});
    steps.devices.emplace_back(path, std::move(**device));
  }
  if (plan.verdict == Verdict::kept) return Plan::kept(kept);
  if (auto planned = prerequisites::plan_program(context, kNeeded, plan); !planned)
    return Plan::fail(planned.error());
  return {std::move(plan), std::move(steps)};
}

const char* yes_or_no(bool value) {
  return value ? "y" : "n";
}

std::vector<std::string> command_for(const Params& params, const BlockDevice& device) {
  std::vector<std::string> argv{"pvcreate"};
  const auto option = [&](const char* name, std::string_view value) {
    if (!value.empty()) {
      argv.emplace_back(name);
      argv.emplace_back(value);
    }
  };
  if (params.force) argv.emplace_back("--force");
  if (params.force || !params.pv_size.empty()) argv.emplace_back("--yes");
  option("--uuid", params.uuid);
  if (params.zero) option("--zero", yes_or_no(*params.zero));
  option("--dataalignment", params.data_alignment);
  option("--dataalignmentoffset", params.data_alignment_offset);
  option("--metadatasize", params.metadata_size);
  if (!params.metadata_type.empty()) option("--metadatatype", "lvm2");
  option("--pvmetadatacopies", params.metadata_copies);
  if (params.metadata_ignore) option("--metadataignore", yes_or_no(*params.metadata_ignore));
  option("--restorefile", params.restore_file);
  if (params.no_restore_file && !params.uuid.empty() && params.restore_file.empty())
    argv.emplace_back("--norestorefile");
  const auto sector = base::parse_integer(params.label_sector);
  if (sector && *sector >= 0 && *sector <= 3) option("--labelsector", params.label_sector);
  option("--setphysicalvolumesize", params.pv_size);
  argv.emplace_back("--");
  argv.push_back(device.path);
  return argv;
}

Applied PhysicalVolumes::apply(const Params& params, const Plan&, const Steps& steps,
                               ApplyContext& context) const {
  auto installed = prerequisites::ensure_program(context, kNeeded);
  if (!installed) return Applied::failed(installed.error());
  programs::ToolSequence tools(context.commands, !context.sensitive);
  std::string comment;
  for (const auto& [path, device] : steps.devices) {
    // What came to be on it since the plan is not lost.
    const auto content = block_devices::read_content(device);
    if (!content) return Applied::failed(content.error(), tools.output());
    const auto why = block_devices::why_not_lvm(device, *content, params.force);
    if (!why) return Applied::failed(why.error(), tools.output());
    if (!why->empty()) return Applied::failed(*why, tools.output());
    if (!block_devices::is_physical_volume(*content))
      if (auto done = tools.run(command_for(params, device)); !done)
        return Applied::failed(done.error(), installed->output + tools.output());
    comment.append(comment.empty() ? "" : "\n\n").append(path + " initialised");
  }
  return Applied::done(installed->before(std::move(comment)), installed->output + tools.output());
}

constexpr PhysicalVolumes kType;

}  // namespace

extern const StateType& kState;
constinit const StateType& kState = kType;

}  // namespace states::linux_lvm_pv

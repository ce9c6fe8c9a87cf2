// linux.mkfs: a file system on a block device. What has the right one is never touched.
#include <algorithm>
#include <array>

#include "base/text.hpp"
#include "states/block_devices/block_device.hpp"
#include "states/prerequisites/prerequisite.hpp"
#include "states/programs/tool_sequence.hpp"
#include "states/state.hpp"

namespace states::linux_mkfs {

namespace {

using block_devices::BlockDevice;
using block_devices::Content;

struct Params {
  std::string_view device;
  std::string_view fstype = "ext4";
  std::string_view label;
};

constexpr auto kParams = param_table(
    param<&Params::device>("device", "the block device, by an absolute path").required(),
    param<&Params::fstype>("fstype", "`ext2`, `ext3`, `ext4` or `xfs`").fallback("ext4"),
    param<&Params::label>("label", "given to a new file system: up to 16 bytes, of xfs 12").fallback("none"));

struct FileSystem {
  std::string_view name;
  std::size_t longest_label;
  prerequisites::Prerequisite tool;
};
constexpr prerequisites::Prerequisite kMke2fs{"linux.mkfs", "mke2fs", {"e2fsprogs"}, {"e2fsprogs"}};
constexpr prerequisites::Prerequisite kMkfsXfs{"linux.mkfs", "mkfs.xfs", {"xfsprogs"}, {"xfsprogs"}};
constexpr std::array<FileSystem, 4> kFileSystems{
    {{"ext2", 16, kMke2fs}, {"ext3", 16, kMke2fs}, {"ext4", 16, kMke2fs}, {"xfs", 12, kMkfsXfs}}};

const FileSystem* file_system_of(const Params& params) {
  const auto found = std::ranges::find(kFileSystems, params.fstype, &FileSystem::name);
  return found == kFileSystems.end() ? nullptr : &*found;
}

struct Steps {
  BlockDevice device;
};

class Mkfs final : public State<Params, Steps> {
 public:
  constexpr Mkfs()
      : State({.name = "linux.mkfs",
               .summary = "A file system on a block device",
               .timeout = std::chrono::hours(1)},
              kParams) {}

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

bool is_control(unsigned char c) {
  return c < ' ' || c == 0x7f;
}

base::Result<void> Mkfs::check(const Params& params) const {
  const FileSystem* wanted = file_system_of(params);
  if (!wanted)
    return invalid("Unsupported file system '" + std::string(params.fstype) +
                   "': use ext2, ext3, ext4 or xfs");
  if (!params.device.starts_with('/') || std::ranges::any_of(params.device, is_control))
    return invalid("Illegal value for 'device': '" + std::string(params.device) +
                   "': give the absolute path of a block device");
  if (params.label.size() > wanted->longest_label)
    return invalid("Label too long: " + std::string(params.fstype) + " has room for " +
                   std::to_string(wanted->longest_label) + " bytes, '" + std::string(params.label) +
                   "' has " + std::to_string(params.label.size()));
  if (std::ranges::any_of(params.label, is_control))
    return invalid("Illegal value for 'label': it contains control characters");
  return {};
}

// A file system that is ours to make also gives the device a new UUID and label.
std::vector<Effect> effects_on(std::string_view device) {
  return {{.kind = EffectKind::file, .name = std::string(device), .certain = false}};
}

std::vector<Effect> Mkfs::touched(const Params& params) const {
  std::vector<Effect> touched = effects_on(params.device);
  if (const FileSystem* wanted = file_system_of(params))
    std::ranges::move(prerequisites::possible_packages(wanted->tool), std::back_inserter(touched));
  return touched;
}

// Why a device must not be formatted, whatever is asked for; "" when it may.
base::Result<std::string> reason_to_refuse(const BlockDevice& device, const Content& content) {
  if (content.is_ambiguous)
    return std::string(
        "several file systems or volumes claim to be on it; clear it with wipefs if none is needed");
  if (!content.partition_table.empty()) return "has a partition table (" + content.partition_table + ")";
  if (content.usage == "raid" || content.usage == "crypto") return "is a " + content.type;
  return block_devices::user_of(device);
}

std::string in_use(std::string_view device, std::string_view why) {
  return std::string(device) + " is in use (" + std::string(why) + "), not formatted";
}

PlanWith<Steps> Mkfs::plan(const Params& params, Context& context) const {
  const std::string device(params.device);
  if (const Overlay::Entry* earlier = context.overlay.path(device))
    return Plan::unknown(earlier->state_id, device + " depends on what an earlier state does");
  auto found = block_devices::find_device(device, context);
  if (!found) return Plan::fail(found.error());
  if (!*found)
    if (const Overlay::Entry* earlier = context.overlay.provider(EffectKind::file, device))
      return Plan::unknown(earlier->state_id, device + " is not there yet");
  if (!*found) return Plan::fail("No such block device " + device);
  const auto content = block_devices::read_content(**found);
  if (!content) return Plan::fail(content.error());
  // Only the one who made it knows whether it is a copy that is still being written.
  if (content->type == params.fstype && content->is_unfinished)
    return Plan::fail(device +
                      " contains an xfs that is not complete: mkfs.xfs was ended before it was done, or "
                      "xfs_copy is writing to it. If nobody is, clear it with: wipefs -a " +
                      device);
  if (content->type == params.fstype)
    return Plan::kept(device + " already contains " + std::string(params.fstype));
  const auto refused = reason_to_refuse(**found, *content);
  if (!refused) return Plan::fail(refused.error());
  if (!refused->empty()) return Plan::fail(in_use(device, *refused));

  Plan plan{.verdict = Verdict::change, .message = "Format " + device + " as " + std::string(params.fstype)};
  if (auto planned = prerequisites::plan_program(context, file_system_of(params)->tool, plan); !planned)
    return Plan::fail(planned.error());
  plan.changes.push_back(
      {.what = "file system on " + device,
       .before = content->type.empty() ? "nothing that is known" : content->type,
       .after = std::string(params.fstype) +
                (params.label.empty() ? "" : " with the label '" + std::string(params.label) + "'")});
  std::ranges::move(effects_on(device), std::back_inserter(plan.effects));
  return {std::move(plan), {.device = std::move(**found)}};
}

// One --force (-F, -f) overwrites other content; a device that is in use takes more than that.
std::vector<std::string> command_for(const Params& params, const BlockDevice& device) {
  std::vector<std::string> argv;
  if (params.fstype == "xfs")
    argv = {"mkfs.xfs", "-f", "-q"};
  else
    argv = {"mke2fs", "-F", "-q", "-t", std::string(params.fstype)};
  if (!params.label.empty()) {
    argv.emplace_back("-L");
    argv.emplace_back(params.label);
  }
  argv.push_back(device.path);
  return argv;
}

// Once more, shortly before: hours may have passed since the plan.
base::Result<void> still_free(const Params& params, const BlockDevice& device) {
  const auto content = block_devices::read_content(device);
  if (!content) return content.error();
  if (content->type == params.fstype)
    return base::changed_since_planned(params.device, "it contains " + content->type + " now");
  auto refused = reason_to_refuse(device, *content);
  if (!refused) return std::move(refused).error();
  if (refused->empty() && block_devices::is_claimed(device))
    *refused = "mounted in a container, or held by another driver";
  if (!refused->empty()) return base::Error(base::ErrorCode::exists, in_use(params.device, *refused));
  return {};
}

Applied Mkfs::apply(const Params& params, const Plan&, const Steps& steps, ApplyContext& context) const {
  auto installed = prerequisites::ensure_program(context, file_system_of(params)->tool);
  if (!installed) return Applied::failed(installed.error());
  if (auto is_free = still_free(params, steps.device); !is_free)
    return Applied::failed(is_free.error(), std::move(installed->output));
  programs::ToolSequence tools(context.commands, !context.sensitive);
  const auto made = tools.run(command_for(params, steps.device));
  std::string output = std::move(installed->output) + tools.output();
  if (!made) return Applied::failed(made.error(), std::move(output));
  return Applied::done(
      installed->before(std::string(params.device) + " formatted as " + std::string(params.fstype)),
      std::move(output));
}

constexpr Mkfs kType;

}  // namespace

extern const StateType& kState;
constinit const StateType& kState = kType;

}  // namespace states::linux_mkfs

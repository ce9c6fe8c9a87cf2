// linux.raid: an array of the kernel's md driver. What is on its members is never overwritten.
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <memory>
#include <optional>

#include "base/text.hpp"
#include "base/tree/seen.hpp"
#include "states/block_devices/block_device.hpp"
#include "states/block_devices/lvm.hpp"
#include "states/block_devices/md_array.hpp"
#include "states/files/working_folder.hpp"
#include "states/linux_raid/mdadm_conf.hpp"
#include "states/prerequisites/prerequisite.hpp"
#include "states/programs/option_arguments.hpp"
#include "states/programs/standard_output.hpp"
#include "states/programs/tool_sequence.hpp"
#include "states/state.hpp"

namespace states::linux_raid {

namespace {

using block_devices::BlockDevice;
using block_devices::Content;
using block_devices::MdArray;

struct Params {
  std::string_view device_name;
  std::string_view level;
  List devices;
  Pairs arguments;
};

constexpr auto kParams = param_table(
    param<&Params::device_name>("device-name", "the array: `/dev/md0` or `/dev/md/name`").required(),
    param<&Params::level>(
        "level",
        "`linear`, `0`, `1`, `4`, `5`, `6`, `10`, also as `raid1`, `stripe` or `mirror`; `multipath`, "
        "`faulty`, `container`")
        .required(),
    param<&Params::devices>("devices", "its members; `missing` for one that is to come later").required(),
    param<&Params::arguments>("arguments", "options of `mdadm --create`, without dashes; value: the option's")
        .fallback("none"));

constexpr prerequisites::Prerequisite kNeeded{"linux.raid", "mdadm", {"mdadm"}, {"mdadm"}};
constexpr std::string_view kMissing = "missing";
constexpr std::string_view kNamesFolder = "/dev/md/";
constexpr std::size_t kLargestConf = 1024 * 1024;

// How md calls the level that a recipe means; "" for none.
std::string_view kernel_level(std::string_view level) {
  constexpr std::array<std::array<std::string_view, 4>, 10> kLevels{{{"linear"},
                                                                     {"raid0", "0", "stripe"},
                                                                     {"raid1", "1", "mirror"},
                                                                     {"raid4", "4"},
                                                                     {"raid5", "5"},
                                                                     {"raid6", "6"},
                                                                     {"raid10", "10"},
                                                                     {"multipath", "mp"},
                                                                     {"faulty"},
                                                                     {"container"}}};
  for (const auto& names : kLevels)
    if (!level.empty() && std::ranges::find(names, level) != names.end()) return names[0];
  return {};
}

// What may be said of a new array. Options that change the mode of mdadm, or what it does to others, are none
// of them.
constexpr std::array<std::string_view, 25> kCreateOptions{
    "array-size",  "assume-clean",       "auto",        "bitmap",       "bitmap-chunk",
    "chunk",       "consistency-policy", "data-offset", "failfast",     "force",
    "homecluster", "homehost",           "layout",      "metadata",     "name",
    "nodes",       "raid-devices",       "raid-disks",  "rounding",     "run",
    "size",        "spare-devices",      "uuid",        "write-behind", "write-mostly"};

// enter: it runs, and mdadm.conf does not know it. look_again: without mdadm not all could be seen.
enum class Action { create, assemble, enter, look_again };
struct Steps {
  Action action = Action::create;
  std::vector<std::string> members;  // without links, and "missing"
  std::vector<BlockDevice> devices;
  std::string uuid;  // assemble: as mdadm writes it
};

class Raid final : public State<Params, Steps> {
 public:
  constexpr Raid() : State({.name = "linux.raid", .summary = "An array of disks (md)"}, kParams) {}

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

bool is_device_name(std::string_view name) {
  const auto all = [](std::string_view text, auto&& rule) {
    return !text.empty() && text.size() < 64 && std::ranges::all_of(text, rule);
  };
  const auto is_digit = [](unsigned char c) { return std::isdigit(c) != 0; };
  const auto is_word = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.' || c == '+' || c == ':';
  };
  if (name.starts_with("/dev/md/")) return name[8] != '-' && name[8] != '.' && all(name.substr(8), is_word);
  if (name.starts_with("/dev/md_d")) return all(name.substr(9), is_digit);
  return name.starts_with("/dev/md") && all(name.substr(7), is_digit);
}

base::Result<void> Raid::check(const Params& params) const {
  if (!is_device_name(params.device_name))
    return invalid("Illegal value for 'device-name': '" + std::string(params.device_name) +
                   "': give /dev/md0 or /dev/md/name");
  if (kernel_level(params.level).empty())
    return invalid("Unknown RAID level '" + std::string(params.level) + "'");
  for (const std::string_view device : params.devices)
    if (device != kMissing)
      if (auto fine = block_devices::check_device_path("devices", device); !fine) return fine;
  if (std::ranges::count(params.devices, kMissing) == std::ssize(params.devices))
    return invalid("'devices' names no device");
  auto options = programs::option_arguments(params.arguments);
  if (!options) return std::move(options).error();
  for (const auto& [name, value] : *options)
    if (std::ranges::find(kCreateOptions, name) == kCreateOptions.end())
      return invalid("Illegal value for 'arguments': '" + name + "' is no option for a new array");
  return {};
}

std::string conf_path(const Context& context) {
  return context.host.os.family == base::OsRelease::Family::debian ? "/etc/mdadm/mdadm.conf"
                                                                   : "/etc/mdadm.conf";
}

std::vector<Effect> Raid::touched(const Params& params) const {
  std::vector<Effect> touched = prerequisites::possible_packages(kNeeded);
  for (const std::string_view path :
       {params.device_name, std::string_view("/etc/mdadm/mdadm.conf"), std::string_view("/etc/mdadm.conf")})
    touched.push_back({.kind = EffectKind::file, .name = std::string(path), .certain = false});
  for (const std::string_view device : params.devices)
    touched.push_back({.kind = EffectKind::file, .name = std::string(device), .certain = false});
  return touched;
}

base::Result<std::string> read_conf(Context& context) {
  const std::string path = conf_path(context);
  auto found = context.tree.look(path);
  if (!found) return std::move(found).error();
  if (!*found) return std::string();
  const std::string real = context.tree.real_end(path);
  return context.tree.read(real.empty() ? path : real, kLargestConf);
}

ArrayName name_of(const Params& params, const MdArray& array, dev_t number) {
  return {.device = std::string(params.device_name),
          .uuid = array.uuid,
          .is_device = [number](const std::string& path) {
            struct stat found {};
            return ::stat(path.c_str(), &found) == 0 && S_ISBLK(found.st_mode) && found.st_rdev == number;
          }};
}

// What is at the array's name now.
struct Present {
  std::optional<MdArray> array;  // that runs
  dev_t number = 0;
};

// The names in /dev/md/ are links, and mdadm may have made that folder for the group of the disks: whoever is
// in it can write to every disk anyway. Elsewhere the way to a device is root's.
base::Result<std::optional<BlockDevice>> find_named(const std::string& name, Context& context) {
  if (!name.starts_with(kNamesFolder)) return block_devices::find_device(name, context);
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(name.c_str(), nullptr), std::free);
  struct stat found {};
  if (!real || !std::string_view(real.get()).starts_with("/dev/") || ::stat(real.get(), &found) != 0 ||
      !S_ISBLK(found.st_mode))
    return std::optional<BlockDevice>();
  return std::optional(BlockDevice{real.get(), found.st_rdev});
}

base::Result<Present> find_array(const Params& params, Context& context) {
  const std::string name(params.device_name);
  auto device = find_named(name, context);
  if (!device) return std::move(device).error();
  if (!*device) {
    auto found = context.tree.look(name);
    if (!found) return std::move(found).error();
    if (*found && !S_ISLNK((*found)->st_mode))
      return base::Error(base::ErrorCode::exists, name + " is there, and it is no block device");
    return Present{};
  }
  auto array = block_devices::read_array((*device)->number);
  if (!array) return std::move(array).error();
  if (!*array) return base::Error(base::ErrorCode::exists, name + " is there, and it is no array of md");
  if ((*array)->activity == MdArray::Activity::inactive)
    return base::Error(base::ErrorCode::exists,
                       name + " has members, and does not run: start it with 'mdadm --run " + name +
                           "', or take it apart with 'mdadm --stop " + name + "'");
  if ((*array)->activity == MdArray::Activity::none) return Present{};
  return Present{std::move(**array), (*device)->number};
}

std::string present_text(const Params& params, const MdArray& array) {
  std::string text = "Array " + std::string(params.device_name) + " is present";
  if (array.degraded > 0) text += ", degraded";
  if (const std::string_view wanted = kernel_level(params.level); wanted != array.level)
    text += "; its level is " + array.level + ", not " + std::string(wanted);
  return text;
}

// An array that runs: only its entry may be missing, when a run was ended before it was written.
PlanWith<Steps> plan_present(const Params& params, const Present& present, Context& context) {
  const std::string conf = conf_path(context);
  if (const Overlay::Entry* earlier = context.overlay.path(conf))
    return Plan::unknown(earlier->state_id, conf + " depends on what an earlier state does to it");
  const auto text = read_conf(context);
  if (!text) return Plan::fail(text.error());
  if (has_array(*text, name_of(params, *present.array, present.number)))
    return Plan::kept(present_text(params, *present.array));
  Plan plan{.verdict = Verdict::change,
            .message = present_text(params, *present.array) + "; enter it into " + conf};
  if (auto planned = prerequisites::plan_program(context, kNeeded, plan); !planned)
    return Plan::fail(planned.error());
  plan.changes.push_back({.what = conf + ", entry of " + std::string(params.device_name),
                          .before = "absent",
                          .after = "its UUID"});
  plan.effects.push_back({.kind = EffectKind::file, .name = conf, .certain = false});
  plan.written = {conf};
  return {std::move(plan), {.action = Action::enter, .members = {}, .devices = {}, .uuid = {}}};
}

// The members that are there; a plan when one is not.
std::optional<Plan> find_members(const Params& params, Context& context, Steps& steps) {
  for (const std::string_view given : params.devices) {
    if (given == kMissing) {
      steps.members.emplace_back(given);
      continue;
    }
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
    if (std::ranges::find(steps.devices, (*device)->number, &BlockDevice::number) != steps.devices.end())
      return Plan::fail("Device " + path + " is named twice");
    steps.members.push_back((*device)->path);
    steps.devices.push_back(std::move(**device));
  }
  return std::nullopt;
}

bool is_member(const Content& content) {
  return content.type == "linux_raid_member";
}

// What is on a device that keeps it from becoming a member; "" when there is nothing.
std::string signature_of(const Content& content) {
  if (content.is_ambiguous) return "several file systems or volumes";
  if (!content.partition_table.empty()) return "a partition table (" + content.partition_table + ")";
  return is_member(content) ? std::string() : content.type;
}

// Whether the devices are free: an error says why one is not. Answers the UUID of the array that all of them
// are members of, "" when none is a member of any.
base::Result<std::string> look_at_members(const Steps& steps) {
  std::string uuid;
  std::string member;    // one that is a member of an array
  std::string stranger;  // one that is not, or of another
  for (const BlockDevice& device : steps.devices) {
    auto user = block_devices::user_of(device);
    if (!user) return user;
    if (!user->empty())
      return base::Error(base::ErrorCode::exists, device.path + " is in use (" + *user + ")");
    const auto content = block_devices::read_content(device);
    if (!content) return content.error();
    if (const std::string signature = signature_of(*content); !signature.empty())
      return base::Error(base::ErrorCode::exists,
                         device.path + " contains " + signature +
                             ", which is not overwritten: clear it with 'wipefs -a " + device.path +
                             "' if nothing on it is needed");
    const bool belongs = is_member(*content) && (member.empty() || content->uuid == uuid);
    if (belongs) {
      uuid = content->uuid;
      member = device.path;
    } else {
      stranger = device.path;
    }
    if (is_member(*content) && content->uuid.empty()) stranger = device.path;
    if (!member.empty() && !stranger.empty())
      return base::Error(
          base::ErrorCode::exists,
          member + " is a member of an array, and " + stranger +
              " is not one of the same: put the old array together with 'mdadm --assemble', or "
              "clear what is left of it with 'mdadm --zero-superblock' if nothing in it is needed");
  }
  return uuid;
}

std::size_t wanted_members(const Params& params) {
  const auto options = programs::option_arguments(params.arguments);
  for (const auto& [name, value] : *options)
    if (name == "raid-devices" || name == "raid-disks")
      if (const auto number = base::parse_integer(value); number && *number > 0)
        return static_cast<std::size_t>(*number);
  return params.devices.size();
}

// What `mdadm --examine --export` says under a name.
std::string exported(std::string_view text, std::string_view name) {
  for (const std::string_view line : base::split(text, '\n'))
    if (line.size() > name.size() && line.starts_with(name) && line[name.size()] == '=')
      return std::string(line.substr(name.size() + 1));
  return {};
}

// All devices are members of one array, which does not run. It is started when it is the one that the recipe
// describes; else an error.
base::Result<std::string> uuid_to_assemble(const Params& params, const Steps& steps, Context& context) {
  const std::string& device = steps.devices.front().path;
  std::string text;
  base::Command command;
  command.argv = {"mdadm", "--examine", "--export", device};
  programs::collect_standard_output(command, text);
  auto completed = context.commands.run(std::move(command));
  if (!completed) return std::move(completed).error();
  const std::string level = exported(text, "MD_LEVEL");
  const std::string count = exported(text, "MD_DEVICES");
  std::string uuid = exported(text, "MD_UUID");
  if (!completed->ok() || uuid.empty())
    return base::Error(base::ErrorCode::io, "mdadm cannot say what array " + device + " is a member of");
  if (kernel_level(level) != kernel_level(params.level) || count != std::to_string(wanted_members(params)))
    return base::Error(base::ErrorCode::exists, device + " is a member of another array (level " + level +
                                                    ", " + count + " members, UUID " + uuid +
                                                    "), which does not run: put it together with 'mdadm "
                                                    "--assemble', or clear what is left of it with "
                                                    "'mdadm --zero-superblock' if nothing in it is needed");
  return uuid;
}

std::string members_text(const Params& params) {
  const std::vector<std::string> names(params.devices.begin(), params.devices.end());
  return base::join(names, ", ");
}

PlanWith<Steps> plan_absent(const Params& params, Context& context) {
  Steps steps;
  if (auto stop = find_members(params, context, steps)) return std::move(*stop);
  const auto uuid = look_at_members(steps);
  if (!uuid) return Plan::fail(uuid.error());
  Plan plan{.verdict = Verdict::change};
  const auto has_mdadm = prerequisites::plan_program(context, kNeeded, plan);
  if (!has_mdadm) return Plan::fail(has_mdadm.error());
  const bool is_old = !uuid->empty();
  steps.action = !is_old ? Action::create : *has_mdadm ? Action::assemble : Action::look_again;
  if (steps.action == Action::assemble) {
    auto known = uuid_to_assemble(params, steps, context);
    if (!known) return Plan::fail(known.error());
    steps.uuid = std::move(*known);
  }
  const std::string name(params.device_name);
  const std::string level(kernel_level(params.level));
  plan.message = is_old ? "Start array " + name + " of its members " + members_text(params)
                        : "Create array " + name + " (level " + level + ") of " + members_text(params);
  plan.changes.push_back({.what = "array " + name,
                          .before = is_old ? "not running" : "absent",
                          .after = level + " of " + members_text(params)});
  plan.effects.push_back({.kind = EffectKind::file, .name = name});
  for (const std::string_view device : params.devices)
    plan.effects.push_back({.kind = EffectKind::file, .name = std::string(device), .certain = false});
  const std::string conf = conf_path(context);
  plan.effects.push_back({.kind = EffectKind::file, .name = conf, .certain = false});
  plan.written = {conf};
  return {std::move(plan), std::move(steps)};
}

PlanWith<Steps> Raid::plan(const Params& params, Context& context) const {
  for (const Pair& pair : params.arguments)
    if (context.has_secrets(pair.value))
      return Plan::fail("'arguments' must not hold a secret: everybody can read the arguments of mdadm");
  const std::string name(params.device_name);
  if (const Overlay::Entry* earlier = context.overlay.path(name))
    return Plan::unknown(earlier->state_id, name + " depends on what an earlier state does");
  const auto present = find_array(params, context);
  if (!present) return Plan::fail(present.error());
  return present->array ? plan_present(params, *present, context) : plan_absent(params, context);
}

std::vector<std::string> command_for(const Params& params, const Steps& steps) {
  const std::string name(params.device_name);
  if (steps.action == Action::assemble) {
    std::vector<std::string> argv{"mdadm", "--assemble", name, "--uuid=" + steps.uuid};
    for (const BlockDevice& device : steps.devices)
      argv.push_back(device.path);
    return argv;
  }
  std::vector<std::string> argv{"mdadm",
                                "--create",
                                name,
                                "--run",
                                "--force",
                                "--level=" + std::string(params.level),
                                "--raid-devices=" + std::to_string(wanted_members(params))};
  const auto options = programs::option_arguments(params.arguments);
  for (const auto& [option, value] : *options)
    if (option != "raid-devices" && option != "raid-disks" && option != "run" && option != "force")
      argv.push_back("--" + option + (value.empty() ? "" : "=" + value));
  argv.insert(argv.end(), steps.members.begin(), steps.members.end());
  return argv;
}

// The array's line in mdadm.conf. Anew from what is there now: lines that came since the plan stay.
base::Result<void> enter(const Params& params, ApplyContext& context) {
  const std::string name(params.device_name);
  context.tree.forget();
  const auto present = find_array(params, context);
  if (!present) return present.error();
  if (!present->array) return base::Error(base::ErrorCode::io, "Array " + name + " does not run");
  std::string printed;
  base::Command command;
  command.argv = {"mdadm", "--detail", "--brief", name};
  programs::collect_standard_output(command, printed);
  auto completed = context.commands.run(std::move(command));
  if (!completed) return std::move(completed).error();
  const std::string line = array_line(printed, name);
  if (line.empty()) return base::Error(base::ErrorCode::io, "mdadm does not describe " + name);
  auto before = read_conf(context);
  if (!before) return std::move(before).error();
  const std::string text = put_array(*before, name_of(params, *present->array, present->number), line);
  if (text == *before) return {};
  const std::string conf = conf_path(context);
  const std::string real = context.tree.real_end(conf);
  const std::string path = real.empty() ? conf : real;
  if (auto made =
          files::make_folders(base::split_path(path).folder, {.uid = 0, .gid = 0, .mode = 0755}, context);
      !made)
    return made;
  auto found = context.tree.look(path);
  if (!found) return std::move(found).error();
  base::Attributes attributes{.uid = 0, .gid = 0, .mode = 0644};
  if (*found)
    attributes = {.uid = (*found)->st_uid, .gid = (*found)->st_gid, .mode = (*found)->st_mode & 07777};
  return context.files.write_file(path, base::Seen(*found), text, attributes);
}

// So that the array has its name from the beginning of the next boot on. Answers a remark when that fails.
base::Result<std::string> update_initial_files(programs::ToolSequence& tools, const Context& context) {
  const bool is_debian = context.host.os.family == base::OsRelease::Family::debian;
  const std::string program = is_debian ? "update-initramfs" : "dracut";
  if (!base::find_program(program)) return std::string();
  auto done = tools.run({program, is_debian ? "-u" : "-f"});
  if (done) return std::string();
  const base::ErrorCode code = done.error().code();
  if (code == base::ErrorCode::cancelled || code == base::ErrorCode::timed_out)
    return std::move(done).error();
  return "; warning: " + done.error().message();
}

std::string done_text(const Params& params, const Steps& steps) {
  const std::string name(params.device_name);
  if (steps.action == Action::enter) return "Array " + name + " entered into mdadm's configuration";
  return "Array " + name + (steps.action == Action::assemble ? " started" : " created") + " (level " +
         std::string(params.level) + ", " + std::to_string(wanted_members(params)) + " members)";
}

Applied Raid::apply(const Params& params, const Plan&, const Steps& steps, ApplyContext& context) const {
  auto installed = prerequisites::ensure_program(context, kNeeded);
  if (!installed) return Applied::failed(installed.error());
  // Once more, shortly before: what came to be on a device since the plan is not lost.
  context.tree.forget();
  PlanWith<Steps> again = plan(params, context);
  if (again.plan.verdict == Verdict::kept)
    return Applied::done(installed->before(again.plan.message), installed->output);
  if (again.plan.verdict != Verdict::change || !again.steps)
    return Applied::failed(again.plan.message, installed->output);
  if (steps.action != Action::look_again && again.steps->action != steps.action)
    return Applied::failed(base::changed_since_planned(params.device_name, again.plan.message),
                           installed->output);
  for (const BlockDevice& device : again.steps->devices)
    if (block_devices::is_claimed(device))
      return Applied::failed(device.path + " is in use (mounted in a container, or held by another driver)",
                             installed->output);
  programs::ToolSequence tools(context.commands, !context.sensitive);
  const auto output = [&] { return installed->output + tools.output(); };
  // As udev makes it: mdadm would give it to the group of the disks.
  if (params.device_name.starts_with(kNamesFolder))
    if (auto made = files::make_folders("/dev/md", {.uid = 0, .gid = 0, .mode = 0755}, context); !made)
      return Applied::failed(made.error(), output());
  if (again.steps->action != Action::enter)
    if (auto done = tools.run(command_for(params, *again.steps)); !done)
      return Applied::failed(done.error(), output());
  const std::string text = done_text(params, *again.steps);
  if (auto entered = enter(params, context); !entered)
    return Applied::failed(
        std::move(entered).error().with_context(text + ", but not entered into " + conf_path(context)),
        output());
  const auto remark = update_initial_files(tools, context);
  if (!remark) return Applied::failed(remark.error(), output());
  return Applied::done(installed->before(text + *remark), output());
}

constexpr Raid kType;

}  // namespace

extern const StateType& kState;
constinit const StateType& kState = kType;

}  // namespace states::linux_raid

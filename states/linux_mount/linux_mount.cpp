// linux.mount: something is mounted at a path, now and, with `fstab`, after the next boot.
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "base/text.hpp"
#include "states/files/missing_folders.hpp"
#include "states/linux_mount/fstab.hpp"
#include "states/linux_mount/mount_options.hpp"
#include "states/linux_mount/mount_source.hpp"
#include "states/linux_mount/mounted.hpp"
#include "states/programs/tool_sequence.hpp"
#include "states/state.hpp"

namespace states::linux_mount {

namespace {

struct Params {
  std::string_view path;
  std::string_view device;
  std::string_view filesystem;
  bool fstab = false;
  List opts;
  std::string_view dump = "0";
  std::string_view pass = "0";
};

constexpr auto kParams = param_table(
    param<&Params::path>("path", "where: an absolute path; made (root, 0755) when it is missing").required(),
    param<&Params::device>("device",
                           "what: a device, `UUID=…`, `LABEL=…`, `PARTUUID=…`, `PARTLABEL=…`, the image of a "
                           "device, a folder (bind mount), `server:/export`, or a name such as `tmpfs`")
        .required()
        .alias("dev"),
    param<&Params::filesystem>("filesystem", "the type, as mount(8) knows it; `none` for a bind mount")
        .required(),
    param<&Params::fstab>("fstab", "also write /etc/fstab").fallback("false"),
    param<&Params::opts>("opts", "mount options, as a list or one text with commas").fallback("defaults"),
    param<&Params::dump>("dump", "fifth field of the line in /etc/fstab").fallback("0"),
    param<&Params::pass>("pass", "sixth field: when fsck looks at it").fallback("0"));

constexpr const char* kFstab = "/etc/fstab";
constexpr std::size_t kLargestFstab = 1024 * 1024;

// What is to become of the mount itself.
enum class Action { nothing, mount, mount_instead, remount };

struct Steps {
  Action action = Action::nothing;
  Source source;
  std::string mount_point;               // without links
  std::vector<std::string> new_folders;  // outermost first, the mount point itself last
  std::string shown_there;               // mount_instead: what is mounted there now
  std::string options;
  bool write_fstab = false;
};

class MountState final : public State<Params, Steps> {
 public:
  constexpr MountState()
      : State(
            {.name = "linux.mount", .summary = "A file system that is mounted, now and after the next boot"},
            kParams) {}

 private:
  base::Result<void> check(const Params& params) const override;
  PlanWith<Steps> plan(const Params& params, Context& context) const override;
  Applied apply(const Params& params, const Plan& plan, const Steps& steps,
                ApplyContext& context) const override;
  std::vector<Effect> touched(const Params& params) const override;
};

base::Error illegal(std::string_view param, std::string_view value, std::string_view why) {
  return {base::ErrorCode::invalid, "Illegal value for '" + std::string(param) + "': '" + std::string(value) +
                                        "': " + std::string(why)};
}

bool has_controls(std::string_view text) {
  return std::ranges::any_of(text, [](unsigned char c) { return c < ' ' || c == 0x7f; });
}

base::Result<void> MountState::check(const Params& params) const {
  if (const auto clean = base::clean_path(params.path); !clean || has_controls(params.path))
    return illegal("path", params.path, "give an absolute path without '.', '..' and control characters");
  if (auto fine = check_device(params.device); !fine) return fine;
  if (params.device.starts_with('-') || has_controls(params.device))
    return illegal("device", params.device, "it begins with '-' or contains control characters");
  const bool is_type = std::ranges::all_of(params.filesystem, [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '.' || c == '-' || c == '+';
  });
  if (!is_type || params.filesystem.starts_with('-'))
    return illegal("filesystem", params.filesystem, "give one type, such as ext4");
  return check_options(params.opts);
}

std::vector<Effect> MountState::touched(const Params& params) const {
  // All below the path is something else afterwards.
  std::vector<Effect> touched{
      {.kind = EffectKind::directory, .name = std::string(params.path), .certain = false}};
  if (params.fstab) touched.push_back({.kind = EffectKind::file, .name = kFstab, .certain = false});
  return touched;
}

bool wants_bind(const Params& params) {
  const std::string given = options_text(params.opts, false);
  return params.filesystem == "none" || has_option(given, "bind") || has_option(given, "rbind");
}

std::int64_t number_of(std::string_view text) {
  return std::max<std::int64_t>(base::parse_integer(base::trim(text)).value_or(0), 0);
}

FstabEntry entry_of(const Params& params, const std::string& options) {
  return {.device = std::string(params.device),
          .path = *base::clean_path(params.path),
          .type = std::string(params.filesystem),
          .options = options,
          .dump = number_of(params.dump),
          .pass = number_of(params.pass)};
}

// fstab's text; empty when there is none.
base::Result<std::string> read_fstab(Context& context) {
  auto found = context.tree.look(kFstab);
  if (!found) return std::move(found).error();
  if (!*found) return std::string();
  const std::string real = context.tree.real_end(kFstab);
  return context.tree.read(real.empty() ? kFstab : real, kLargestFstab);
}

std::string described(const block_devices::Mount& mount) {
  return without_password(mount.source) + (mount.root == "/" ? "" : mount.root) + " (" + mount.type + ")";
}

// A line of another hand may have a password in it, whatever its file system calls that.
std::string shown_line(std::string_view line) {
  const std::vector<std::string_view> words = base::split_words(line);
  const bool has_password = line.find("pass") != line.npos || line.find("secret") != line.npos ||
                            line.find("pwd") != line.npos || line.find('%') != line.npos ||
                            (!words.empty() && without_password(words[0]) != words[0]);
  return has_password ? "another line (not shown)" : std::string(line);
}

void add_words(Plan& plan, const std::string& words) {
  plan.message.append(plan.message.empty() ? "" : "; ").append(words);
}

// How the mount differs from what is asked for, into the plan and the steps.
base::Result<void> plan_mount(const Params& params, const MountPoint& point, Steps& steps, Plan& plan,
                              Context& context) {
  const std::string device(params.device);
  const std::string path(params.path);
  const bool is_right = point.mount && is_mounted(steps.source, params.filesystem, *point.mount);
  if (is_right) {
    const std::string missing = missing_options(steps.options, *point.mount);
    if (missing.empty()) return {};
    steps.action = Action::remount;
    add_words(plan, "Mount " + path + " again with " + missing);
    plan.changes.push_back({.what = "options of " + path,
                            .before = without_passwords(point.mount->options) + ";" +
                                      without_passwords(point.mount->super_options),
                            .after = missing});
    return {};
  }
  if (auto safe = check_nobody_can_move(point.real_path); !safe) return safe;
  if (point.exists && point.is_folder == steps.source.is_file)
    return base::Error(
        base::ErrorCode::exists,
        path + (steps.source.is_file ? " is a directory, and " + device + " is not" : " is not a directory"));
  if (!point.exists) {
    if (steps.source.is_file)
      return base::Error(base::ErrorCode::not_found,
                         path + " does not exist: a file can be mounted over a file only");
    auto missing = files::missing_folders(point.real_path, context);
    if (!missing) return std::move(missing).error();
    steps.new_folders = std::move(*missing);
    steps.new_folders.push_back(point.real_path);
    for (const std::string& folder : steps.new_folders)
      plan.effects.push_back({.kind = EffectKind::directory, .name = folder});
  }
  steps.action = point.mount ? Action::mount_instead : Action::mount;
  if (point.mount) steps.shown_there = described(*point.mount);
  add_words(plan, point.mount ? "Unmount " + steps.shown_there + " from " + path + ", mount " + device
                              : "Mount " + device + " on " + path);
  plan.changes.push_back(
      {.what = "mount at " + path,
       .before = point.mount ? steps.shown_there : "nothing",
       .after = device + " (" + std::string(params.filesystem) + ", " + steps.options + ")"});
  plan.effects.push_back({.kind = EffectKind::directory, .name = path, .certain = false});
  return {};
}

base::Result<void> plan_fstab(const Params& params, Steps& steps, Plan& plan, Context& context) {
  auto text = read_fstab(context);
  if (!text) return std::move(text).error().with_context("Cannot read /etc/fstab");
  const FstabPut put = put_entry(*text, entry_of(params, steps.options));
  if (put.state == FstabState::unchanged) return {};
  steps.write_fstab = true;
  const bool is_new = put.state == FstabState::added;
  add_words(plan, is_new ? "add a line to /etc/fstab" : "change its line in /etc/fstab");
  plan.changes.push_back({.what = "/etc/fstab, entry of " + std::string(params.path),
                          .before = is_new ? "absent" : shown_line(put.before),
                          .after = put.line});
  plan.effects.push_back({.kind = EffectKind::file, .name = kFstab});
  plan.written = {kFstab};
  return {};
}

// Where a thing is that a path or tag stands for, once earlier states have been applied.
const Overlay::Entry* bringer_of(std::string_view device, const Overlay& overlay) {
  if (overlay.empty()) return nullptr;
  if (!device.starts_with('/')) return overlay.below("/dev");  // a tag: any device may get it
  if (const Overlay::Entry* entry = overlay.path(device)) return entry;
  return overlay.provider(EffectKind::file, device);
}

PlanWith<Steps> MountState::plan(const Params& params, Context& context) const {
  const std::string device(params.device);
  const bool is_bind = wants_bind(params);
  if (const Overlay::Entry* earlier = context.overlay.path(kFstab); earlier && params.fstab)
    return Plan::unknown(earlier->state_id, "/etc/fstab depends on what an earlier state does to it");
  auto source =
      find_source({.device = params.device, .filesystem = params.filesystem, .is_bind = is_bind}, context);
  if (!source) return Plan::fail(source.error());
  if (!*source) {
    if (const Overlay::Entry* earlier = bringer_of(device, context.overlay))
      return Plan::unknown(earlier->state_id, "Device " + device + " is not there yet");
    return Plan::fail("Device " + device + " not found");
  }
  Steps steps{.source = std::move(**source), .options = options_text(params.opts, is_bind)};
  if (context.has_secrets(steps.options) || context.has_secrets(device))
    return Plan::fail(
        "'opts' and 'device' must not hold a secret: everybody can read them in /etc/fstab and among the "
        "arguments of mount. Put it into a file that only root may read, and use 'credentials=FILE'");
  const std::string path = *base::clean_path(params.path);
  auto point = find_mount_point(path, context);
  if (!point) return Plan::fail(point.error());
  steps.mount_point = point->real_path;
  Plan plan;
  if (auto planned = plan_mount(params, *point, steps, plan, context); !planned)
    return Plan::fail(planned.error());
  if (params.fstab)
    if (auto planned = plan_fstab(params, steps, plan, context); !planned) return Plan::fail(planned.error());
  if (plan.changes.empty())
    return Plan::kept(device + " is already mounted on " + path +
                      (params.fstab ? "; fstab entry unchanged" : ""));
  plan.verdict = Verdict::change;
  return {std::move(plan), std::move(steps)};
}

base::Result<void> unmount(const Steps& steps, programs::ToolSequence& tools) {
  auto done = tools.run({"umount", "--", steps.mount_point});
  if (done || done.error().code() == base::ErrorCode::cancelled ||
      done.error().code() == base::ErrorCode::timed_out)
    return done;
  return std::move(done).error().with_context(steps.mount_point + " is busy with " + steps.shown_there);
}

base::Result<void> do_mount(const Params& params, const Steps& steps, programs::ToolSequence& tools,
                            ApplyContext& context) {
  for (const std::string& folder : steps.new_folders)
    if (auto made = context.files.make_folder(folder, {.uid = 0, .gid = 0, .mode = 0755}); !made) return made;
  if (auto safe = check_nobody_can_move(steps.mount_point); !safe) return safe;
  if (steps.action == Action::mount_instead)
    if (auto done = unmount(steps, tools); !done) return done;
  // What was below the other mount may be just what is wanted.
  context.tree.forget();
  auto point = find_mount_point(steps.mount_point, context);
  if (!point) return std::move(point).error();
  if (point->mount && is_mounted(steps.source, params.filesystem, *point->mount)) return {};
  return tools.run({"mount", "-t", std::string(params.filesystem), "-o", steps.options, "--",
                    steps.source.argument, steps.mount_point});
}

base::Result<void> remount(const Steps& steps, programs::ToolSequence& tools) {
  const bool is_bind = steps.source.kind == Source::Kind::bind;
  std::string options = is_bind ? "remount,bind" : "remount";
  for (const std::string_view option : base::split(steps.options, ','))
    if (option != "bind" && option != "rbind" && option != "loop" && !option.starts_with("loop="))
      options.append(",").append(option);
  // With both names mount(8) takes the options from here, and none from fstab.
  return tools.run({"mount", "-o", options, "--", steps.source.argument, steps.mount_point});
}

// Anew from what is there now: lines that came since the plan stay.
base::Result<FstabState> write_fstab(const Params& params, const Steps& steps, ApplyContext& context) {
  const std::string real = context.tree.real_end(kFstab);
  const std::string path = real.empty() ? kFstab : real;
  auto found = context.tree.look(path);
  if (!found) return std::move(found).error();
  base::Attributes attributes{.uid = 0, .gid = 0, .mode = 0644};
  std::string text;
  if (*found) {
    attributes = {.uid = (*found)->st_uid, .gid = (*found)->st_gid, .mode = (*found)->st_mode & 07777};
    auto read = context.tree.read(path, kLargestFstab);
    if (!read) return std::move(read).error();
    text = std::move(*read);
  }
  FstabPut put = put_entry(text, entry_of(params, steps.options));
  if (put.state == FstabState::unchanged) return put.state;
  if (auto written = context.files.write_file(path, base::Seen(*found), put.text, attributes); !written)
    return std::move(written).error();
  return put.state;
}

// systemd makes a unit of each line, and acts upon those that it has read.
void tell_systemd(programs::ToolSequence& tools) {
  if (::access("/run/systemd/system", F_OK) == 0) (void)tools.run({"systemctl", "daemon-reload"});
}

std::string done_text(const Params& params, const Steps& steps) {
  const std::string device(params.device);
  const std::string path(params.path);
  switch (steps.action) {
    case Action::nothing:
      return device + " is already mounted on " + path;
    case Action::mount:
      return device + " mounted on " + path;
    case Action::mount_instead:
      return device + " mounted on " + path + " instead of " + steps.shown_there;
    case Action::remount:
      return device + " on " + path + " mounted again with " + steps.options;
  }
  return {};
}

Applied MountState::apply(const Params& params, const Plan&, const Steps& steps,
                          ApplyContext& context) const {
  programs::ToolSequence tools(context.commands, !context.sensitive);
  base::Result<void> done;
  if (steps.action == Action::remount)
    done = remount(steps, tools);
  else if (steps.action != Action::nothing)
    done = do_mount(params, steps, tools, context);
  context.tree.forget();  // folders that were opened before are below the mount now
  if (!done) return Applied::failed(done.error(), tools.output());
  std::string comment = done_text(params, steps);
  if (params.fstab) {
    const auto state = write_fstab(params, steps, context);
    if (!state)
      return Applied::failed(comment + ", but /etc/fstab cannot be written: " + state.error().message(),
                             tools.output());
    if (*state != FstabState::unchanged) tell_systemd(tools);
    comment += *state == FstabState::added     ? "; fstab entry added"
               : *state == FstabState::updated ? "; fstab entry updated"
                                               : "; fstab entry unchanged";
  }
  return Applied::done(std::move(comment), tools.output());
}

constexpr MountState kType;

}  // namespace

extern const StateType& kState;
constinit const StateType& kState = kType;

}  // namespace states::linux_mount

#include "states/block_devices/lvm.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <optional>
#include <span>

#include "base/output_text.hpp"
#include "base/text.hpp"
#include "states/json/json_document.hpp"

namespace states::block_devices {

namespace {

constexpr std::size_t kLargestReport = 32 * 1024 * 1024;

template <class Report>
struct Known {
  std::optional<Report> report;
};

base::Error illegal(std::string_view param, std::string_view value) {
  return {base::ErrorCode::invalid,
          "Illegal value for '" + std::string(param) + "': '" + std::string(value) + "'"};
}

base::Result<std::string> run_report(const std::string& command_name, const std::string& fields,
                                     Context& context) {
  std::string json;
  base::Command command;
  // Read-only it takes no locks, and yet makes their folder, and notes what it has seen of devices.
  command.argv = {"lvm",
                  command_name,
                  "--readonly",
                  "--nolocking",
                  "--config",
                  "devices/hints=none",
                  "--reportformat",
                  "json",
                  "--units",
                  "b",
                  "--nosuffix",
                  "-o",
                  fields};
  // Its warnings go to the other stream.
  command.on_output = [&](base::Stream stream, std::string_view text) {
    if (stream == base::Stream::out && json.size() < kLargestReport) json += text;
  };
  auto completed = context.commands.run(std::move(command));
  if (!completed) return std::move(completed).error();
  if (!completed->ok())
    return base::Error(
        base::ErrorCode::io,
        command_name + " failed (exit " + std::to_string(completed->exit_code) + ")" +
            (context.sensitive ? ""
                               : ": " + std::string(base::last_line(base::clean_output(completed->output)))));
  return json;
}

// What LVM says, asked once per round.
template <class Report>
base::Result<Report> known_report(const std::string& command_name, const std::string& fields,
                                  base::Result<Report> (*parse)(std::string), Context& context) {
  Known<Report>& known = context.facts.get<Known<Report>>();
  if (known.report) return *known.report;
  auto text = run_report(command_name, fields, context);
  if (!text) return std::move(text).error();
  auto report = parse(std::move(*text));
  if (!report) return std::move(report).error().with_context(command_name);
  known.report = *report;
  return report;
}

// Each row of {"report": [{"lv": [{…}, …]}]}.
base::Result<void> each_row(std::string text, std::string_view table,
                            const std::function<void(const base::Value& row)>& use) {
  auto document = json::JsonDocument::parse(std::move(text));
  if (!document) return std::move(document).error();
  const base::Value* reports = document->root().find("report");
  for (const base::Value& report : reports ? reports->items() : std::span<const base::Value>()) {
    const base::Value* rows = report.find(table);
    for (const base::Value& row : rows ? rows->items() : std::span<const base::Value>())
      use(row);
  }
  return {};
}

// LVM writes numbers as texts.
std::uint64_t number_in(const base::Value& row, std::string_view field) {
  const auto number = base::parse_integer(json::find_text(row, {field}));
  return number && *number > 0 ? static_cast<std::uint64_t>(*number) : 0;
}

}  // namespace

const VolumeGroup* LvmReport::find_group(std::string_view name) const {
  const auto found = std::ranges::find(groups, name, &VolumeGroup::name);
  return found == groups.end() ? nullptr : &*found;
}

const LogicalVolume* LogicalVolumes::find(std::string_view group, std::string_view name) const {
  const auto found = std::ranges::find_if(
      volumes, [&](const LogicalVolume& volume) { return volume.group == group && volume.name == name; });
  return found == volumes.end() ? nullptr : &*found;
}

base::Result<LvmReport> parse_lvm_report(std::string text) {
  LvmReport found;
  auto read = each_row(std::move(text), "vg", [&](const base::Value& row) {
    const std::string group = json::find_text(row, {"vg_name"});
    const std::string path = json::find_text(row, {"pv_name"});
    if (group.empty()) return;
    if (!found.has_group(group))
      found.groups.push_back({group, number_in(row, "vg_extent_size"), number_in(row, "vg_free_count")});
    // Of a volume that is missing LVM says "[unknown]".
    if (path.starts_with('/')) found.volumes.push_back({path, group});
  });
  if (!read) return std::move(read).error();
  return found;
}

base::Result<LogicalVolumes> parse_logical_volumes(std::string text) {
  LogicalVolumes found;
  auto read = each_row(std::move(text), "lv", [&](const base::Value& row) {
    LogicalVolume volume{.group = json::find_text(row, {"vg_name"}),
                         .name = json::find_text(row, {"lv_name"}),
                         .size = number_in(row, "lv_size"),
                         .extent_size = number_in(row, "vg_extent_size"),
                         .origin = json::find_text(row, {"origin"}),
                         .pool = json::find_text(row, {"pool_lv"})};
    if (volume.group.empty() || volume.name.empty()) return;
    const std::string layout = json::find_text(row, {"lv_layout"});
    for (const std::string_view word : base::split(layout, ','))
      volume.is_pool = volume.is_pool || word == "pool";
    const std::string tags = json::find_text(row, {"lv_tags"});
    for (const std::string_view tag : base::split(tags, ','))
      if (!tag.empty()) volume.tags.emplace_back(tag);
    found.volumes.push_back(std::move(volume));
  });
  if (!read) return std::move(read).error();
  return found;
}

base::Result<LvmReport> read_lvm(Context& context) {
  return known_report<LvmReport>("vgs", "vg_name,pv_name,vg_extent_size,vg_free_count", parse_lvm_report,
                                 context);
}

base::Result<LogicalVolumes> read_logical_volumes(Context& context) {
  return known_report<LogicalVolumes>(
      "lvs", "vg_name,lv_name,lv_size,vg_extent_size,origin,pool_lv,lv_layout,lv_tags", parse_logical_volumes,
      context);
}

std::string group_of(const LvmReport& report, const BlockDevice& device) {
  for (const PhysicalVolume& volume : report.volumes) {
    struct stat found {};
    if (volume.path == device.path || (::stat(volume.path.c_str(), &found) == 0 && S_ISBLK(found.st_mode) &&
                                       found.st_rdev == device.number))
      return volume.group;
  }
  return {};
}

base::Result<std::string> why_not_lvm(const BlockDevice& device, const Content& content, bool may_overwrite) {
  if (is_physical_volume(content)) return std::string();
  auto user = user_of(device);
  if (!user) return user;
  if (!user->empty()) return device.path + " is in use (" + *user + ")";
  if (may_overwrite) return std::string();
  const std::string signature = content.is_ambiguous ? "several file systems"
                                : !content.partition_table.empty()
                                    ? "a partition table (" + content.partition_table + ")"
                                    : content.type;
  return signature.empty() ? signature : device.path + " contains " + signature;
}

base::Result<void> check_lvm_value(std::string_view param, std::string_view value) {
  const bool fine = !value.starts_with('-') && std::ranges::all_of(value, [](unsigned char c) {
    return std::isalnum(c) != 0 ||
           std::string_view("._+%:/@=,-").find(static_cast<char>(c)) != std::string_view::npos;
  });
  if (!fine) return illegal(param, value);
  return {};
}

base::Result<void> check_lvm_name(std::string_view param, std::string_view name) {
  const bool fine = !name.empty() && name.size() < 128 && name != "." && name != ".." &&
                    !name.starts_with('-') && std::ranges::all_of(name, [](unsigned char c) {
                      return std::isalnum(c) != 0 || c == '+' || c == '_' || c == '.' || c == '-';
                    });
  if (!fine) return illegal(param, name);
  return {};
}

base::Result<void> check_device_path(std::string_view param, std::string_view path) {
  const bool fine = path.starts_with('/') &&
                    std::ranges::none_of(path, [](unsigned char c) { return c < ' ' || c == 0x7f; });
  if (!fine) return illegal(param, path);
  return {};
}

}  // namespace states::block_devices

#include "states/block_devices/lvm.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <span>

#include "base/output_text.hpp"
#include "base/text.hpp"
#include "states/json/json_document.hpp"

namespace states::block_devices {

namespace {

constexpr std::size_t kLargestReport = 32 * 1024 * 1024;

struct KnownReport {
  std::optional<LvmReport> report;
};

base::Error illegal(std::string_view param, std::string_view value) {
  return {base::ErrorCode::invalid,
          "Illegal value for '" + std::string(param) + "': '" + std::string(value) + "'"};
}

}  // namespace

bool LvmReport::has_group(std::string_view name) const {
  return std::ranges::find(groups, name) != groups.end();
}

base::Result<LvmReport> parse_lvm_report(std::string text) {
  auto document = json::JsonDocument::parse(std::move(text));
  if (!document) return std::move(document).error();
  LvmReport found;
  const base::Value* reports = document->root().find("report");
  for (const base::Value& report : reports ? reports->items() : std::span<const base::Value>()) {
    const base::Value* rows = report.find("vg");
    for (const base::Value& row : rows ? rows->items() : std::span<const base::Value>()) {
      const std::string group = json::find_text(row, {"vg_name"});
      const std::string path = json::find_text(row, {"pv_name"});
      if (group.empty()) continue;
      if (!found.has_group(group)) found.groups.push_back(group);
      // Of a volume that is missing LVM says "[unknown]".
      if (path.starts_with('/')) found.volumes.push_back({path, group});
    }
  }
  return found;
}

base::Result<LvmReport> read_lvm(Context& context) {
  KnownReport& known = context.facts.get<KnownReport>();
  if (known.report) return *known.report;
  std::string json;
  base::Command command;
  command.argv = {"lvm", "vgs", "--readonly", "--reportformat", "json", "-o", "vg_name,pv_name"};
  // Its warnings go to the other stream.
  command.on_output = [&](base::Stream stream, std::string_view text) {
    if (stream == base::Stream::out && json.size() < kLargestReport) json += text;
  };
  auto completed = context.commands.run(std::move(command));
  if (!completed) return std::move(completed).error();
  if (!completed->ok())
    return base::Error(
        base::ErrorCode::io,
        "vgs failed (exit " + std::to_string(completed->exit_code) + ")" +
            (context.sensitive ? ""
                               : ": " + std::string(base::last_line(base::clean_output(completed->output)))));
  auto report = parse_lvm_report(std::move(json));
  if (!report) return std::move(report).error().with_context("vgs");
  known.report = *report;
  return report;
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

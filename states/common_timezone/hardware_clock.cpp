#include "states/common_timezone/hardware_clock.hpp"

#include <unistd.h>

#include <vector>

#include "base/text.hpp"

namespace states::common_timezone {

namespace {

// "" when there is no file.
base::Result<std::string> read_adjtime(base::Tree& tree) {
  constexpr std::size_t kLimit = 4096;
  auto text = tree.read(kAdjtime, kLimit);
  if (!text && text.error().code() == base::ErrorCode::not_found) return std::string();
  return text;
}

bool is_there(std::string_view path, base::Tree& tree) {
  const auto found = tree.look(path);
  return found && *found;
}

bool has_timedatectl(const Context& context) {
  return context.host.is_running_system() && is_there("/run/systemd/system", context.tree) &&
         is_there("/sys/class/rtc/rtc0", context.tree) && base::find_program("timedatectl");
}

}  // namespace

base::Result<bool> clock_keeps_utc(base::Tree& tree) {
  auto text = read_adjtime(tree);
  if (!text) return std::move(text).error();
  const auto lines = base::split(*text, '\n');
  return lines.size() < 3 || base::trim(lines[2]) != "LOCAL";
}

std::string adjtime_with(std::string_view text, bool utc) {
  // As hwclock writes it: drift, time of the last adjustment; of the last calibration; what the clock keeps.
  std::vector<std::string_view> lines = base::split(text, '\n');
  if (lines.empty()) lines.emplace_back("0.0 0 0.0");
  if (lines.size() < 2 || lines[1].empty()) {
    lines.resize(1);
    lines.emplace_back("0");
  }
  return std::string(lines[0]) + "\n" + std::string(lines[1]) + "\n" + (utc ? "UTC" : "LOCAL") + "\n";
}

base::Result<void> set_clock(bool utc, programs::ToolSequence& tools, ApplyContext& context) {
  if (has_timedatectl(context)) return tools.run({"timedatectl", "set-local-rtc", utc ? "0" : "1"});
  auto found = context.tree.look(kAdjtime);
  if (!found) return std::move(found).error();
  auto text = read_adjtime(context.tree);
  if (!text) return std::move(text).error();
  return context.files.write_file(kAdjtime, base::Seen(*found), adjtime_with(*text, utc),
                                  {.uid = ::geteuid(), .gid = ::getegid(), .mode = 0644});
}

}  // namespace states::common_timezone

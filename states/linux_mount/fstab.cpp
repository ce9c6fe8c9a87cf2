#include "states/linux_mount/fstab.hpp"

#include <optional>
#include <vector>

#include "base/text.hpp"
#include "base/tree/tree.hpp"
#include "states/block_devices/mount_table.hpp"

namespace states::linux_mount {

namespace {

using block_devices::escaped;
using block_devices::unescaped;

// Nothing for comments and what has no path.
std::optional<FstabEntry> parse_line(std::string_view line) {
  const std::vector<std::string_view> fields = base::split_words(line);
  if (fields.size() < 2 || fields[0].starts_with('#')) return std::nullopt;
  const auto text = [&](std::size_t index) {
    return index < fields.size() ? unescaped(fields[index]) : std::string();
  };
  // What is no number makes an entry that differs from all that we want.
  const auto number = [&](std::size_t index) {
    return index < fields.size() ? base::parse_integer(fields[index]).value_or(-1) : 0;
  };
  return FstabEntry{text(0), text(1), text(2), text(3), number(4), number(5)};
}

std::string line_of(const FstabEntry& entry) {
  return escaped(entry.device) + " " + escaped(entry.path) + " " + escaped(entry.type) + " " +
         escaped(entry.options) + " " + std::to_string(entry.dump) + " " + std::to_string(entry.pass);
}

// "/srv/" of another hand is "/srv".
bool is_path(const std::string& found, const std::string& wanted) {
  const auto clean = base::clean_path(found);
  return clean && *clean == wanted;
}

}  // namespace

FstabPut put_entry(std::string_view fstab, const FstabEntry& wanted) {
  FstabPut put{.line = line_of(wanted), .text = std::string(fstab)};
  for (std::size_t begin = 0; begin < fstab.size();) {
    const std::size_t end = std::min(fstab.find('\n', begin), fstab.size());
    const std::string_view line = fstab.substr(begin, end - begin);
    const auto entry = parse_line(line);
    if (entry && is_path(entry->path, wanted.path)) {
      if (*entry == wanted) return put;
      put.state = FstabState::updated;
      put.before = line;
      put.text.replace(begin, line.size(), put.line);
      return put;
    }
    begin = end + 1;
  }
  put.state = FstabState::added;
  if (!put.text.empty() && !put.text.ends_with('\n')) put.text += '\n';
  put.text += put.line + "\n";
  return put;
}

}  // namespace states::linux_mount

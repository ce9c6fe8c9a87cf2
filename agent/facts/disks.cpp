// Mounted file systems that are on a device, with their size.
#include <sys/statvfs.h>

#include <map>

#include "agent/facts/facts.hpp"
#include "base/files/file_read.hpp"
#include "base/text.hpp"
#include "base/values/json_text.hpp"

namespace agent::facts {

namespace {

constexpr std::size_t kLargestMounts = 4 * 1024 * 1024;
constexpr std::size_t kMostDisks = 64;

// "\040" of /proc/mounts as a blank.
std::string unescaped(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_escape = text[i] == '\\' && i + 3 < text.size() && text[i + 1] >= '0' && text[i + 1] <= '3';
    if (!is_escape) {
      out += text[i];
      continue;
    }
    out += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
    i += 3;
  }
  return out;
}

}  // namespace

std::string disks() {
  const auto mounts = base::read_file("/proc/self/mounts", kLargestMounts);
  if (!mounts) return {};
  std::map<std::string, std::string> by_mount;
  std::map<std::string, bool> seen;  // a device that is mounted twice (bind mounts) counts once
  for (const std::string_view line : base::split(*mounts, '\n')) {
    const std::vector<std::string_view> words = base::split_words(line);
    if (words.size() < 3 || !words[0].starts_with('/') || words[2] == "squashfs") continue;
    const std::string device = unescaped(words[0]);
    const std::string mount = unescaped(words[1]);
    struct statvfs st {};
    if (by_mount.size() >= kMostDisks || seen[device] || ::statvfs(mount.c_str(), &st) != 0) continue;
    seen[device] = true;
    constexpr std::uint64_t kMib = 1024 * 1024;
    by_mount[mount] = base::JsonText()
                          .begin_object()
                          .member("device", device)
                          .member("fs", words[2])
                          .member("size_mb", static_cast<std::uint64_t>(st.f_blocks) * st.f_frsize / kMib)
                          .end_object()
                          .take();
  }
  base::JsonText json;
  json.begin_object();
  for (const auto& [mount, text] : by_mount)
    json.key(mount).json(text);
  return json.end_object().take();
}

}  // namespace agent::facts

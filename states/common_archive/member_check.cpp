#include "states/common_archive/member_check.hpp"

#include <sys/stat.h>

#include <algorithm>

#include "base/text.hpp"

namespace states::common_archive {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

constexpr std::size_t kLongestPath = 4096;
constexpr std::size_t kLongestName = 255;

// For people, on one line.
std::string shown(std::string_view path) {
  std::string text(path.substr(0, 200));
  for (char& c : text)
    if (c < ' ' || c > '~') c = '?';
  return text;
}

Error unsafe(std::string_view path) {
  return {ErrorCode::invalid, "Archive contains an unsafe path: " + shown(path)};
}

bool has_odd_bytes(std::string_view text) {
  return !base::is_utf8(text) ||
         std::ranges::any_of(text, [](unsigned char c) { return c < ' ' || c == 0x7f; });
}

// How far a link in a folder of this depth may go up.
bool leads_out(std::string_view link, std::size_t depth) {
  bool went_down = false;
  for (const std::string_view part : base::split(link, '/')) {
    if (part.empty() || part == ".") continue;
    if (part != "..") {
      went_down = true;
      continue;
    }
    // Where ".." leads after another name is not known: that name may be a link.
    if (went_down || depth == 0) return true;
    --depth;
  }
  return false;
}

}  // namespace

Result<std::string> member_path(std::string_view path) {
  if (path.starts_with('/') || path.size() > kLongestPath || has_odd_bytes(path)) return unsafe(path);
  std::string clean;
  for (const std::string_view part : base::split(path, '/')) {
    if (part.empty() || part == ".") continue;
    if (part == ".." || part.size() > kLongestName) return unsafe(path);
    clean.append(clean.empty() ? "" : "/").append(part);
  }
  return clean;
}

MemberCheck::MemberCheck(std::uint64_t archive_size, ArchiveLimits limits)
    : limits_(limits),
      most_bytes_(std::min(limits.bytes, std::max(limits.always, archive_size * limits.ratio))) {}

Result<void> MemberCheck::admit(const Member& member) {
  auto path = member_path(member.path);
  if (!path) return std::move(path).error();
  if (path->empty() && member.kind != MemberKind::folder) return unsafe(member.path);
  if (member.kind == MemberKind::other)
    return Error(ErrorCode::invalid, "Archive contains a device, FIFO or socket: " + shown(member.path));
  if (member.kind == MemberKind::file && (member.mode & (S_ISUID | S_ISGID)) != 0)
    return Error(ErrorCode::invalid,
                 "Archive contains a file with set-user-id or set-group-id bits: " + shown(member.path));
  if (leads_through_link(*path)) return unsafe(member.path);
  if (!path->empty() && ++members_ > limits_.members)
    return Error(ErrorCode::limit, "Archive has more than " + std::to_string(limits_.members) + " members");
  size_ = nullptr;
  if (member.kind == MemberKind::symlink) return admit_symlink(member, *path);
  if (member.kind == MemberKind::hard_link) return admit_second_name(member, *path);
  links_.erase(*path);
  if (member.kind == MemberKind::file) size_ = &(sizes_[*path] = 0);
  return {};
}

bool MemberCheck::leads_through_link(std::string_view path) const {
  for (std::size_t slash = path.find('/'); slash != std::string::npos; slash = path.find('/', slash + 1))
    if (links_.contains(path.substr(0, slash))) return true;
  return false;
}

Result<void> MemberCheck::admit_second_name(const Member& member, const std::string& path) {
  auto target = member_path(member.link);
  if (!target || target->empty() || links_.contains(*target) || leads_through_link(*target))
    return unsafe(member.path + " -> " + member.link);
  const auto file = sizes_.find(*target);
  if (file == sizes_.end())
    return Error(ErrorCode::invalid, "Archive contains a second name of a file that it does not have: " +
                                         shown(member.path + " -> " + member.link));
  links_.erase(path);
  const std::uint64_t bytes = file->second;
  sizes_[path] = bytes;
  return count(bytes);
}

Result<void> MemberCheck::admit_symlink(const Member& member, const std::string& path) {
  const auto depth = static_cast<std::size_t>(std::ranges::count(path, '/'));
  if (member.link.empty() || member.link.starts_with('/') || member.link.size() > kLongestPath ||
      has_odd_bytes(member.link) || leads_out(member.link, depth))
    return unsafe(member.path + " -> " + member.link);
  sizes_.erase(path);
  links_.insert(path);
  return {};
}

Result<void> MemberCheck::count(std::uint64_t bytes) {
  bytes_ += bytes;
  if (size_) *size_ += bytes;
  if (bytes_ <= most_bytes_) return {};
  return Error(ErrorCode::limit, "Archive holds more than " + std::to_string(most_bytes_) +
                                     " bytes, which is more than its size lets expect: not extracted");
}

}  // namespace states::common_archive

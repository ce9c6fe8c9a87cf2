// What an archive may hold, decided before anything of it is written. Pure.
//
// Refused: members that are not below the folder (absolute paths, ".."), or that are reached through a link
// of the archive; links that lead out of it; second names of files that the archive does not have before;
// devices and sockets; files that would run with another's rights (set-user-id, set-group-id); names with
// control characters or that are not UTF-8; more, or larger, than the limits say.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "states/common_archive/archive_reader.hpp"

namespace states::common_archive {

// Far above what people unpack by recipes, far below what fills a machine by mistake or malice.
struct ArchiveLimits {
  std::uint64_t members = 1'000'000;
  std::uint64_t bytes = std::uint64_t(256) * 1024 * 1024 * 1024;  // of all files together
  // Of all files together, for each byte of the archive; source code in xz has 10. Small ones may have more.
  std::uint64_t ratio = 200;
  std::uint64_t always = 256 * 1024 * 1024;
};

// The path of a member below the folder, "a/b", without "./" and slashes at its end; "" for the folder
// itself. "Archive contains an unsafe path: <p>" when it is none.
base::Result<std::string> member_path(std::string_view path);

class MemberCheck {
 public:
  MemberCheck(std::uint64_t archive_size, ArchiveLimits limits);

  // For each member in turn, before its bytes.
  base::Result<void> admit(const Member& member);
  // For each piece of the bytes of files. A second name of a file counts as another file of its size: it
  // becomes one.
  base::Result<void> count(std::uint64_t bytes);

  std::uint64_t members() const { return members_; }

 private:
  bool leads_through_link(std::string_view path) const;
  base::Result<void> admit_symlink(const Member& member, const std::string& path);
  base::Result<void> admit_second_name(const Member& member, const std::string& path);

  const ArchiveLimits limits_;
  const std::uint64_t most_bytes_;
  std::uint64_t members_ = 0;
  std::uint64_t bytes_ = 0;
  std::set<std::string, std::less<>> links_;
  std::map<std::string, std::uint64_t, std::less<>> sizes_;  // of files, and of their second names
  std::uint64_t* size_ = nullptr;                            // of the file that count() is about
};

}  // namespace states::common_archive

// Seen: what a plan has found at a path, so that applying it changes that and nothing else.
#pragma once

#include <sys/stat.h>

#include <optional>
#include <string_view>

#include "base/result.hpp"

namespace base {

class Seen {
 public:
  Seen() = default;  // nothing had the name
  explicit Seen(const struct stat& found)
      : what_(What::this_one),
        device_(found.st_dev),
        inode_(found.st_ino),
        type_(found.st_mode & S_IFMT),
        uid_(found.st_uid),
        gid_(found.st_gid) {}
  explicit Seen(const std::optional<struct stat>& found) {
    if (found) *this = Seen(*found);
  }
  // For whoever has not looked, because it does not matter.
  static Seen anything();

  // The same one with another owner: after we have given it away.
  Seen owned_by(std::optional<uid_t> uid, std::optional<gid_t> gid) const;

  bool is_nothing() const { return what_ == What::nothing; }
  bool allows_nothing() const { return what_ != What::this_one; }

  // `now` is what has the name now, null for nothing. ErrorCode::exists when it is something else: another
  // inode, another type, or another owner (numbers of inodes are used again).
  Result<void> check(const struct stat* now, std::string_view path) const;

 private:
  enum class What { nothing, this_one, anything };
  What what_ = What::nothing;
  dev_t device_ = 0;
  ino_t inode_ = 0;
  mode_t type_ = 0;
  uid_t uid_ = 0;
  gid_t gid_ = 0;
};

// "PATH has changed since it was planned: …"
Error changed_since_planned(std::string_view path, std::string_view how);

}  // namespace base

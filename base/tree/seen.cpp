#include "base/tree/seen.hpp"

#include <string>

namespace base {

Seen Seen::anything() {
  Seen seen;
  seen.what_ = What::anything;
  return seen;
}

Seen Seen::owned_by(std::optional<uid_t> uid, std::optional<gid_t> gid) const {
  Seen seen = *this;
  seen.uid_ = uid.value_or(uid_);
  seen.gid_ = gid.value_or(gid_);
  return seen;
}

Result<void> Seen::check(const struct stat* now, std::string_view path) const {
  if (what_ == What::anything) return {};
  if (what_ == What::nothing)
    return now ? changed_since_planned(path, "something has appeared there") : Result<void>();
  if (!now) return changed_since_planned(path, "it is gone");
  if (now->st_dev != device_ || now->st_ino != inode_ || (now->st_mode & S_IFMT) != type_)
    return changed_since_planned(path, "something else has its name");
  if (now->st_uid != uid_ || now->st_gid != gid_) return changed_since_planned(path, "it has another owner");
  return {};
}

Error changed_since_planned(std::string_view path, std::string_view how) {
  return {ErrorCode::exists, std::string(path) + " has changed since it was planned: " + std::string(how) +
                                 "; the next round plans it again"};
}

}  // namespace base

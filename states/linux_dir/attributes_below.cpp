#include "states/linux_dir/attributes_below.hpp"

namespace states::linux_dir {

namespace {

constexpr mode_t kReadWrite = 0666;
constexpr mode_t kExecute = 0111;
constexpr mode_t kSpecial = 07000;

mode_t file_mode(mode_t found, mode_t directory_mode) {
  const mode_t execute = (found & kExecute) != 0 ? directory_mode & kExecute : 0;
  return (found & kSpecial) | (directory_mode & kReadWrite) | execute;
}

}  // namespace

std::optional<base::Attributes> wanted_below(const struct stat& found, const base::Attributes& given) {
  if (S_ISLNK(found.st_mode)) return std::nullopt;
  base::Attributes wanted;
  if (given.uid && *given.uid != found.st_uid) wanted.uid = given.uid;
  if (given.gid && *given.gid != found.st_gid) wanted.gid = given.gid;
  const bool other_owner = wanted.uid || wanted.gid;
  if (given.mode && (S_ISDIR(found.st_mode) || S_ISREG(found.st_mode))) {
    mode_t mode = S_ISDIR(found.st_mode) ? *given.mode : file_mode(found.st_mode, *given.mode);
    // A program that ran as its old owner must not start to run as the new one.
    if (other_owner && S_ISREG(found.st_mode)) mode &= ~static_cast<mode_t>(S_ISUID | S_ISGID);
    if (mode != (found.st_mode & 07777) || other_owner) wanted.mode = mode;
  }
  if (!other_owner && !wanted.mode) return std::nullopt;
  return wanted;
}

std::string entries_text(std::size_t count) {
  return std::to_string(count) + (count == 1 ? " entry" : " entries");
}

}  // namespace states::linux_dir

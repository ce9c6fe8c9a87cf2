#include "base/tree/scratch_place.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/files/others.hpp"
#include "base/token.hpp"

namespace base {

namespace {

constexpr mode_t kOwnFolderMode = 0700;
constexpr std::size_t kRandomBytes = 16;
constexpr std::string_view kBefore = ".opsagent-";
constexpr std::string_view kAfter = ".tmp";

// A folder of ours, into which nobody else can put anything. Whoever can write to the folder above can put
// another one of ours in its place, which will do as well.
UniqueFd open_own_folder(int folder, const std::string& name) {
  UniqueFd own(::openat(folder, name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat st {};
  if (!own || ::fstat(own.get(), &st) != 0) return {};
  if (st.st_uid == ::geteuid() && (st.st_mode & (S_IRWXG | S_IRWXO)) == 0) return own;
  errno = EPERM;
  return {};
}

// A file or link, or an empty folder.
bool remove_one(int folder, const char* name) {
  if (::unlinkat(folder, name, 0) == 0 || errno == ENOENT) return true;
  return errno == EISDIR && (::unlinkat(folder, name, AT_REMOVEDIR) == 0 || errno == ENOENT);
}

}  // namespace

std::string new_scratch_name() {
  return std::string(kBefore) + random_hex(kRandomBytes) + std::string(kAfter);
}

bool is_scratch_name(std::string_view name) {
  return name.size() == kBefore.size() + 2 * kRandomBytes + kAfter.size() && name.starts_with(kBefore) &&
         name.ends_with(kAfter);
}

bool clear_scratch(int folder, const std::string& name) {
  if (remove_one(folder, name.c_str())) return true;
  if (errno != ENOTEMPTY && errno != EEXIST) return false;
  const UniqueFd own = open_own_folder(folder, name);
  return own && remove_one(own.get(), name.c_str()) && remove_one(folder, name.c_str());
}

Result<ScratchPlace> ScratchPlace::make(int folder, const std::string& name) {
  ScratchPlace place(folder, name);
  if (!others_can_write_to(folder)) return place;
  if (::mkdirat(folder, name.c_str(), kOwnFolderMode) != 0)
    return os_error(errno, "cannot create the temporary " + name);
  place.own_ = open_own_folder(folder, name);
  if (place.own_) return place;
  const int why = errno;
  ::unlinkat(folder, name.c_str(), AT_REMOVEDIR);
  if (why == EPERM || why == ELOOP || why == ENOTDIR || why == ENOENT)
    return Error(ErrorCode::permission, "the temporary folder " + name +
                                            " was replaced by somebody who can write to the folder it is in");
  return os_error(why, "cannot open the temporary " + name);
}

ScratchPlace::ScratchPlace(ScratchPlace&& other) noexcept
    : folder_(other.folder_),
      name_(std::move(other.name_)),
      own_(std::move(other.own_)),
      is_filled_(std::exchange(other.is_filled_, false)) {}

void ScratchPlace::emptied() {
  is_filled_ = false;
  if (own_) ::unlinkat(folder_, name(), AT_REMOVEDIR);
  own_.reset();
}

ScratchPlace::~ScratchPlace() {
  if (is_filled_) remove_one(folder(), name());
  emptied();
}

}  // namespace base

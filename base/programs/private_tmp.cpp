#include "base/programs/private_tmp.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <charconv>
#include <iterator>

namespace base {

namespace {

bool write_file(const char* path, const char* text, std::size_t size) {
  const int file = ::open(path, O_WRONLY | O_CLOEXEC);
  if (file < 0) return false;
  const bool written = ::write(file, text, size) == static_cast<ssize_t>(size);
  ::close(file);
  return written;
}

// "ID ID 1": the one that we have, and no other.
bool map_to_itself(const char* path, unsigned id) {
  char line[32];
  char* end = line;
  for (int i = 0; i < 2; ++i) {
    end = std::to_chars(end, std::end(line), id).ptr;
    *end++ = ' ';
  }
  *end++ = '1';
  return write_file(path, line, static_cast<std::size_t>(end - line));
}

constexpr char kGroupsFile[] = "/proc/self/setgroups";
constexpr char kUidMap[] = "/proc/self/uid_map";
constexpr char kGidMap[] = "/proc/self/gid_map";

}  // namespace

bool enter_user_namespace(int besides) {
  // There is no way back from a namespace in which we turn out to be nobody: first whether /proc is there and
  // takes it.
  for (const char* file : {kGroupsFile, kUidMap, kGidMap})
    if (::access(file, W_OK) != 0) return false;
  const uid_t uid = ::geteuid();
  const gid_t gid = ::getegid();
  constexpr char kDeny[] = "deny";
  return ::unshare(CLONE_NEWUSER | besides) == 0 && write_file(kGroupsFile, kDeny, sizeof kDeny - 1) &&
         map_to_itself(kUidMap, uid) && map_to_itself(kGidMap, gid);
}

bool enter_private_tmp() {
  if (::unshare(CLONE_NEWNS) != 0 && !enter_user_namespace(CLONE_NEWNS)) return false;
  return ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         ::mount("tmpfs", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=1777,size=64m") == 0;
}

}  // namespace base

#include "update/must_finish.hpp"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>

namespace update {

namespace {

std::string path_in(const std::string& state_dir) {
  return state_dir + "/must-finish.lock";
}

}  // namespace

base::UniqueFd lock_must_finish(const std::string& state_dir) {
  base::UniqueFd file(::open(path_in(state_dir).c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (file && ::flock(file.get(), LOCK_EX | LOCK_NB) != 0) file.reset();
  return file;
}

bool must_finish(const std::string& state_dir) {
  const base::UniqueFd file(::open(path_in(state_dir).c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  return file && ::flock(file.get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

}  // namespace update

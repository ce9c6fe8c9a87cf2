#include "base/programs/process_tree.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <doctest/doctest.h>

namespace base {

namespace {

bool is_open(int fd) {
  return ::fcntl(fd, F_GETFD) >= 0;
}

// Whether `close_others` closes all but what it should, tried in a process of its own.
bool closes_the_rest(bool (*close_others)(const int*, int)) {
  const pid_t child = ::fork();
  if (child == 0) {
    for (const int fd : {100, 101, 102, 103, 200, 900}) {
      ::dup2(2, fd);
    }
    const int keep[] = {101, 102, 200};
    bool right = close_others(keep, 3);
    for (const int fd : {2, 101, 102, 200}) {
      right = right && is_open(fd);
    }
    for (int fd = 3; fd < 1000; ++fd) {
      right = right && (is_open(fd) == (fd == 101 || fd == 102 || fd == 200));
    }
    ::_exit(right ? 0 : 1);
  }
  int status = -1;
  return ::waitpid(child, &status, 0) == child && status == 0;
}

}  // namespace

TEST_CASE("all descriptors are closed but stdio and those to keep") {
  CHECK(closes_the_rest(close_other_descriptors));
}

TEST_CASE("so they are on a kernel without close_range") {
  CHECK(closes_the_rest(close_listed_descriptors));
}

}  // namespace base

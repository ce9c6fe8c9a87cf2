// LD_PRELOAD: counts the calls that change what is on disk, below folders of our choice, and kills the process
// instead of the n-th, or lets that one fail. For tests/update/kill_test.
//
//   INTERPOSE_BELOW   "DIR:DIR…": calls that concern a path below one of them count
//   INTERPOSE_COUNT   a file: its size is the number of calls so far, over all processes (appended to, one byte each)
//   INTERPOSE_AT      the number of the call that is not made; 0: none
//   INTERPOSE_HOW     "kill": the process is killed instead; "fail": the call fails, the disk is full
//   INTERPOSE_LOG     a file: a line for each call
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static int is_below(const char* path) {
  const char* below = getenv("INTERPOSE_BELOW");
  while (below && *below) {
    const char* end = strchrnul(below, ':');
    const size_t length = (size_t)(end - below);
    if (length > 0 && strncmp(path, below, length) == 0 && (path[length] == '/' || path[length] == 0)) return 1;
    below = *end ? end + 1 : end;
  }
  return 0;
}

static int fd_is_below(int fd) {
  char link[64], path[PATH_MAX];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t length = readlink(link, path, sizeof path - 1);
  if (length <= 0 || path[0] != '/') return 0;
  path[length] = 0;
  return is_below(path);
}

static int at_is_below(int folder, const char* path) {
  if (path && path[0] == '/') return is_below(path);
  return folder == AT_FDCWD ? 0 : fd_is_below(folder);
}

// Called before each of the calls below. 1: it is to fail.
static int count(const char* what, const char* detail) {
  const int saved = errno;
  const char* file = getenv("INTERPOSE_COUNT");
  const char* at = getenv("INTERPOSE_AT");
  const char* how = getenv("INTERPOSE_HOW");
  int fails = 0;
  if (!file) return 0;
  const int fd = (int)syscall(SYS_openat, AT_FDCWD, file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (fd >= 0) {
    syscall(SYS_write, fd, ".", 1L);
    struct stat st;
    const long number = fstat(fd, &st) == 0 ? (long)st.st_size : 0;
    syscall(SYS_close, fd);
    const char* log = getenv("INTERPOSE_LOG");
    if (log) {
      char line[PATH_MAX + 64];
      const int size = snprintf(line, sizeof line, "%ld %d %s %s\n", number, (int)getpid(), what, detail ? detail : "");
      const int out = (int)syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
      if (out >= 0) {
        syscall(SYS_write, out, line, (long)size);
        syscall(SYS_close, out);
      }
    }
    fails = at && atol(at) == number;
    if (fails && how && strcmp(how, "kill") == 0) syscall(SYS_kill, getpid(), SIGKILL);
  }
  errno = fails ? ENOSPC : saved;
  return fails;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t write(int fd, const void* data, size_t size) {
  if (fd > 2 && fd_is_below(fd) && count("write", 0)) return -1;
  return REAL(write)(fd, data, size);
}
ssize_t pwrite64(int fd, const void* data, size_t size, off64_t at) {
  if (fd_is_below(fd) && count("pwrite", 0)) return -1;
  return REAL(pwrite64)(fd, data, size, at);
}
int fsync(int fd) {
  if (fd_is_below(fd) && count("fsync", 0)) return -1;
  return REAL(fsync)(fd);
}
int fdatasync(int fd) {
  if (fd_is_below(fd) && count("fdatasync", 0)) return -1;
  return REAL(fdatasync)(fd);
}
int ftruncate64(int fd, off64_t size) {
  if (fd_is_below(fd) && count("ftruncate", 0)) return -1;
  return REAL(ftruncate64)(fd, size);
}
int rename(const char* from, const char* to) {
  if ((is_below(to) || is_below(from)) && count("rename", to)) return -1;
  return REAL(rename)(from, to);
}
int renameat(int a, const char* from, int b, const char* to) {
  if (at_is_below(b, to) && count("renameat", to)) return -1;
  return REAL(renameat)(a, from, b, to);
}
int symlink(const char* to, const char* path) {
  if (is_below(path) && count("symlink", path)) return -1;
  return REAL(symlink)(to, path);
}
int unlink(const char* path) {
  if (is_below(path) && count("unlink", path)) return -1;
  return REAL(unlink)(path);
}
int unlinkat(int folder, const char* path, int flags) {
  if (at_is_below(folder, path) && count("unlinkat", path)) return -1;
  return REAL(unlinkat)(folder, path, flags);
}
int mkdir(const char* path, mode_t mode) {
  if (is_below(path) && count("mkdir", path)) return -1;
  return REAL(mkdir)(path, mode);
}
int mkdirat(int folder, const char* path, mode_t mode) {
  if (at_is_below(folder, path) && count("mkdirat", path)) return -1;
  return REAL(mkdirat)(folder, path, mode);
}

// LD_PRELOAD: counts the calls that change what is on disk, below folders of our choice, and does something else instead of one of
// them, or from one of them on. For the tests of tests/update/.
//
//   INTERPOSE_BELOW      "DIR:DIR…": calls that concern a path below one of them count
//   INTERPOSE_COUNT      a file: its size is the number of calls so far, over all processes (appended to, one byte each)
//   INTERPOSE_LOG        a file: a line for each call
//   INTERPOSE_AT         the number of the call where it happens; 0: nowhere
//   INTERPOSE_STEP       instead of a number: the first call after the update journal has this phase, once; "cleaned": the first
//                        version that leaves versions/
//   INTERPOSE_STEP_FILE  a file, for the memory of that
//   INTERPOSE_HOW        kill: the process is killed instead
//                        hang: the process stops there, and does nothing more
//                        fail: that call fails, the disk is full
//                        full, no_inodes, read_only: so is the disk from then on, for as long as the file INTERPOSE_CONDITION, which
//                        is made then, is there
//   INTERPOSE_REACH      "DIR:DIR…": what that condition holds for; may be more than what counts
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

// What a call needs of the disk.
enum need { ROOM, NAME, SYNC, GONE };

static const char* option(const char* name) {
  const char* value = getenv(name);
  return value ? value : "";
}

static int is_in(const char* folders, const char* path) {
  while (*folders) {
    const char* end = strchrnul(folders, ':');
    const size_t length = (size_t)(end - folders);
    if (length > 0 && strncmp(path, folders, length) == 0 && (path[length] == '/' || path[length] == 0)) return 1;
    folders = *end ? end + 1 : end;
  }
  return 0;
}

static int exists(const char* path) {
  struct stat st;
  return *path && fstatat(AT_FDCWD, path, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

// True: we have made it; it was not there.
static int make(const char* path) {
  const int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd >= 0) syscall(SYS_close, fd);
  return fd >= 0;
}

static void append(const char* file, const char* text, size_t size, long* total) {
  const int fd = (int)syscall(SYS_openat, AT_FDCWD, file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return;
  syscall(SYS_write, fd, text, (long)size);
  struct stat st;
  if (total && fstat(fd, &st) == 0) *total = (long)st.st_size;
  syscall(SYS_close, fd);
}

// ---- when

// The journal was replaced: is this the phase? Then the next call is the one, the sync of its folder aside.
static void look_at_journal(const char* path) {
  const char* step = option("INTERPOSE_STEP");
  const size_t length = strlen(path);
  static const char kJournal[] = "/update/journal";
  if (!*step || length < sizeof kJournal || strcmp(path + length - (sizeof kJournal - 1), kJournal) != 0) return;
  char text[4096], wanted[64], file[PATH_MAX];
  const int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
  if (fd < 0) return;
  const long size = syscall(SYS_read, fd, text, (long)sizeof text - 1);
  syscall(SYS_close, fd);
  if (size <= 0) return;
  text[size] = 0;
  snprintf(wanted, sizeof wanted, "\nphase %s\n", step);
  snprintf(file, sizeof file, "%s.seen", option("INTERPOSE_STEP_FILE"));
  if (strstr(text, wanted) && make(file)) make(option("INTERPOSE_STEP_FILE"));
}

static int is_step(const char* what, const char* path) {
  const char* file = option("INTERPOSE_STEP_FILE");
  if (!*file) return 0;
  if (strcmp(option("INTERPOSE_STEP"), "cleaned") == 0) return strcmp(what, "rename out of versions") == 0 && make(file);
  const char* last = strrchr(path, '/');
  if (strcmp(what, "fsync") == 0 && last && strcmp(last, "/update") == 0) return 0;
  return syscall(SYS_unlinkat, AT_FDCWD, file, 0) == 0;
}

// ---- what

static int condition_fails(enum need need, const char* path) {
  if (!exists(option("INTERPOSE_CONDITION")) || !is_in(option("INTERPOSE_REACH"), path)) return 0;
  const char* how = option("INTERPOSE_HOW");
  if (strcmp(how, "full") == 0 && (need == ROOM || need == NAME)) return ENOSPC;
  if (strcmp(how, "no_inodes") == 0 && need == NAME) return ENOSPC;
  if (strcmp(how, "read_only") == 0 && need != SYNC) return EROFS;
  return 0;
}

// Called before each of the calls below. 1: it is to fail, and errno says why.
static int fails(enum need need, const char* what, const char* path) {
  const int saved = errno;
  const char* how = option("INTERPOSE_HOW");
  int why = 0;
  if (is_in(option("INTERPOSE_BELOW"), path) && *option("INTERPOSE_COUNT")) {
    long number = 0;
    char line[PATH_MAX + 64];
    append(option("INTERPOSE_COUNT"), ".", 1, &number);
    const int size = snprintf(line, sizeof line, "%ld %d %s %s\n", number, (int)getpid(), what, path);
    if (*option("INTERPOSE_LOG")) append(option("INTERPOSE_LOG"), line, (size_t)size, NULL);
    if (number == atol(option("INTERPOSE_AT")) || is_step(what, path)) {
      if (strcmp(how, "kill") == 0) syscall(SYS_kill, getpid(), SIGKILL);
      if (strcmp(how, "hang") == 0) syscall(SYS_kill, getpid(), SIGSTOP);
      if (strcmp(how, "fail") == 0) why = ENOSPC;
      if (*option("INTERPOSE_CONDITION")) make(option("INTERPOSE_CONDITION"));
    }
  }
  if (!why) why = condition_fails(need, path);
  errno = why ? why : saved;
  return why != 0;
}

static int fd_fails(enum need need, const char* what, int fd) {
  char link[64], path[PATH_MAX];
  const int saved = errno;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t length = readlink(link, path, sizeof path - 1);
  errno = saved;
  if (length <= 0 || path[0] != '/') return 0;
  path[length] = 0;
  return fails(need, what, path);
}

static int at_fails(enum need need, const char* what, int folder, const char* name) {
  if (name[0] == '/') return fails(need, what, name);
  if (folder == AT_FDCWD) return 0;
  char link[64], path[2 * PATH_MAX];
  const int saved = errno;
  snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
  const ssize_t length = readlink(link, path, PATH_MAX - 1);
  errno = saved;
  if (length <= 0 || path[0] != '/') return 0;
  snprintf(path + length, PATH_MAX, "/%s", name);
  return fails(need, what, path);
}

// ---- the calls

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t write(int fd, const void* data, size_t size) {
  return fd > 2 && fd_fails(ROOM, "write", fd) ? -1 : REAL(write)(fd, data, size);
}
ssize_t pwrite64(int fd, const void* data, size_t size, off64_t at) {
  return fd_fails(ROOM, "pwrite", fd) ? -1 : REAL(pwrite64)(fd, data, size, at);
}
int fsync(int fd) {
  return fd_fails(SYNC, "fsync", fd) ? -1 : REAL(fsync)(fd);
}
int fdatasync(int fd) {
  return fd_fails(SYNC, "fdatasync", fd) ? -1 : REAL(fdatasync)(fd);
}
int ftruncate64(int fd, off64_t size) {
  return fd_fails(ROOM, "ftruncate", fd) ? -1 : REAL(ftruncate64)(fd, size);
}
static const char* rename_kind(const char* from) {
  return strstr(from, "/versions/") ? "rename out of versions" : "rename";
}
int rename(const char* from, const char* to) {
  if (fails(GONE, rename_kind(from), to)) return -1;
  const int done = REAL(rename)(from, to);
  if (done == 0) look_at_journal(to);
  return done;
}
int renameat(int a, const char* from, int b, const char* to) {
  return at_fails(GONE, "renameat", b, to) ? -1 : REAL(renameat)(a, from, b, to);
}
int symlink(const char* to, const char* path) {
  return fails(NAME, "symlink", path) ? -1 : REAL(symlink)(to, path);
}
// What is not there cannot be removed, and what is there cannot be made: such calls change nothing.
static int is_there(int folder, const char* path) {
  struct stat st;
  const int saved = errno;
  const int found = fstatat(folder, path, &st, AT_SYMLINK_NOFOLLOW) == 0;
  errno = saved;
  return found;
}
int unlink(const char* path) {
  return is_there(AT_FDCWD, path) && fails(GONE, "unlink", path) ? -1 : REAL(unlink)(path);
}
int unlinkat(int folder, const char* path, int flags) {
  return is_there(folder, path) && at_fails(GONE, "unlinkat", folder, path) ? -1 : REAL(unlinkat)(folder, path, flags);
}
int rmdir(const char* path) {
  return is_there(AT_FDCWD, path) && fails(GONE, "rmdir", path) ? -1 : REAL(rmdir)(path);
}
int mkdir(const char* path, mode_t mode) {
  return !is_there(AT_FDCWD, path) && fails(NAME, "mkdir", path) ? -1 : REAL(mkdir)(path, mode);
}
int mkdirat(int folder, const char* path, mode_t mode) {
  return !is_there(folder, path) && at_fails(NAME, "mkdirat", folder, path) ? -1 : REAL(mkdirat)(folder, path, mode);
}

// A file that is made counts; one that is opened to be written to does not, but a disk that is read-only forbids it.
static int open_fails(int folder, const char* path, int flags) {
  const int writes = (flags & O_ACCMODE) != O_RDONLY;
  if (!writes && !(flags & O_CREAT)) return 0;
  const int is_new = (flags & O_CREAT) && !is_there(folder, path);
  if (is_new) return at_fails(NAME, "open", folder, path);
  if (strcmp(option("INTERPOSE_HOW"), "read_only") != 0 || path[0] != '/' || !condition_fails(GONE, path)) return 0;
  errno = EROFS;
  return 1;
}
#define OPEN_MODE                    \
  mode_t mode = 0;                   \
  if (flags & (O_CREAT | O_TMPFILE)) { \
    va_list rest;                    \
    va_start(rest, flags);           \
    mode = va_arg(rest, mode_t);     \
    va_end(rest);                    \
  }
int open(const char* path, int flags, ...) {
  OPEN_MODE
  return open_fails(AT_FDCWD, path, flags) ? -1 : REAL(open)(path, flags, mode);
}
int open64(const char* path, int flags, ...) {
  OPEN_MODE
  return open_fails(AT_FDCWD, path, flags) ? -1 : REAL(open64)(path, flags, mode);
}
int openat(int folder, const char* path, int flags, ...) {
  OPEN_MODE
  return open_fails(folder, path, flags) ? -1 : REAL(openat)(folder, path, flags, mode);
}
int openat64(int folder, const char* path, int flags, ...) {
  OPEN_MODE
  return open_fails(folder, path, flags) ? -1 : REAL(openat64)(folder, path, flags, mode);
}

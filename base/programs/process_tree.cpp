#include "base/programs/process_tree.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include <climits>

namespace base {

namespace {

constexpr int kMostPids = 4 * 1024 * 1024;  // the kernel's own limit, PID_MAX_LIMIT
constexpr int kMostPasses = 8;

// Pids as bits. Half a MiB that only a process which walks the tree touches, and there only the pages it
// needs.
class PidSet {
 public:
  void clear() { std::memset(words_, 0, sizeof words_); }
  bool has(int pid) const { return in_range(pid) && (words_[pid / 64] & bit(pid)) != 0; }
  void add(int pid) {
    if (in_range(pid)) words_[pid / 64] |= bit(pid);
  }

 private:
  static bool in_range(int pid) { return 0 < pid && pid < kMostPids; }
  static std::uint64_t bit(int pid) { return std::uint64_t{1} << (pid % 64); }

  std::uint64_t words_[kMostPids / 64] = {};
};

// The number that `text` consists of, or -1.
int parse_number(const char* text) {
  if (*text == '\0') return -1;
  int number = 0;
  for (; *text != '\0'; ++text) {
    if (*text < '0' || *text > '9' || number > INT_MAX / 10 - 1) return -1;
    number = number * 10 + (*text - '0');
  }
  return number;
}

// Calls visit(number) for the entries of an open folder whose names are numbers.
template <class Visit>
bool visit_numbers(int folder, Visit visit) {
  alignas(dirent64) char buffer[8 * 1024];
  for (;;) {
    const ssize_t length = ::getdents64(folder, buffer, sizeof buffer);
    if (length == 0) return true;
    if (length < 0) return false;
    for (ssize_t at = 0; at < length;) {
      const auto* entry = reinterpret_cast<const dirent64*>(buffer + at);
      const int number = parse_number(entry->d_name);
      if (number >= 0) visit(number);
      at += entry->d_reclen;
    }
  }
}

// The parent of a process that is alive, or -1 if it is gone or a zombie.
int living_parent(int proc, int pid) {
  char path[32] = {};
  char* end = path + sizeof path - sizeof "/stat";
  char* at = end;
  for (int rest = pid; rest > 0; rest /= 10) {
    *--at = static_cast<char>('0' + rest % 10);
  }
  std::memcpy(end, "/stat", sizeof "/stat");

  const int fd = ::openat(proc, at, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return -1;
  char text[256];
  ssize_t length = 0;
  do {
    length = ::read(fd, text, sizeof text - 1);
  } while (length < 0 && errno == EINTR);
  ::close(fd);
  if (length <= 0) return -1;
  text[length] = '\0';

  // "pid (name) state parent …"; the name may contain anything, parentheses too.
  const char* name_end = std::strrchr(text, ')');
  if (name_end == nullptr || name_end + 4 >= text + length) return -1;
  const char state = name_end[2];
  if (state == 'Z' || state == 'X') return -1;
  int parent = 0;
  for (const char* digit = name_end + 4; '0' <= *digit && *digit <= '9'; ++digit) {
    parent = parent * 10 + (*digit - '0');
  }
  return parent;
}

// Signals `pid` if it is still the child of `parent`. The pidfd pins the process, so that a pid which the
// kernel has given away in the meantime is not hit.
void signal_child(int proc, int pid, int parent, std::initializer_list<int> signals) {
  const int process = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
  if (process < 0 && errno != ENOSYS) return;
  if (living_parent(proc, pid) == parent) {
    for (const int signal : signals) {
      if (process >= 0) {
        ::syscall(SYS_pidfd_send_signal, process, signal, nullptr, 0);
      } else {
        ::kill(pid, signal);  // kernels before 5.3
      }
    }
  }
  if (process >= 0) ::close(process);
}

}  // namespace

bool signal_descendants(std::initializer_list<int> signals) {
  static PidSet found;  // static for its size; the caller is a process with one thread
  found.clear();
  const int self = ::getpid();
  const int proc = ::open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (proc < 0) return false;

  // Pids come in ascending order and parents mostly have the smaller ones. After the pids have wrapped around
  // that is not so: then it takes another pass to find the children. A tree that grows as we look must not
  // keep us here.
  bool found_more = true;
  bool readable = true;
  for (int pass = 0; pass < kMostPasses && found_more && readable; ++pass) {
    found_more = false;
    ::lseek(proc, 0, SEEK_SET);
    readable = visit_numbers(proc, [&](int pid) {
      if (pid == self || found.has(pid)) return;
      const int parent = living_parent(proc, pid);
      if (parent != self && !found.has(parent)) return;
      found.add(pid);
      found_more = true;
      signal_child(proc, pid, parent, signals);
    });
  }
  ::close(proc);
  return readable;
}

std::vector<pid_t> living_descendants(pid_t ancestor) {
  const int proc = ::open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (proc < 0) return {};
  std::vector<std::pair<pid_t, pid_t>> alive;  // with their parents
  visit_numbers(proc, [&](int pid) {
    if (const int parent = living_parent(proc, pid); parent > 0) alive.emplace_back(pid, parent);
  });
  ::close(proc);
  std::vector<pid_t> found{ancestor};
  for (std::size_t i = 0; i < found.size(); ++i)
    for (const auto& [pid, parent] : alive)
      if (parent == found[i]) found.push_back(pid);
  found.erase(found.begin());
  return found;
}

bool close_listed_descriptors(const int* keep, int count) {
  const int folder = ::open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return false;
  const bool listed = visit_numbers(folder, [&](int fd) {
    if (fd > 2 && fd != folder && !std::binary_search(keep, keep + count, fd)) ::close(fd);
  });
  ::close(folder);
  return listed;
}

bool close_other_descriptors(const int* keep, int count) {
  unsigned int from = 3;
  for (int i = 0; i <= count; ++i) {
    const unsigned int to = i < count ? static_cast<unsigned int>(keep[i]) : UINT_MAX;
    const unsigned int last = i < count ? to - 1 : to;
    if (from <= last && ::syscall(SYS_close_range, from, last, 0) != 0) {
      return errno == ENOSYS && close_listed_descriptors(keep, count);
    }
    from = to + 1;
  }
  return true;
}

}  // namespace base

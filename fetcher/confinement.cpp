#include "fetcher/confinement.hpp"

#include <fcntl.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/mount.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>

namespace fetcher {

namespace {

// <sys/mount.h> has these too, and does not go together with <linux/mount.h>.
extern "C" int mount(const char*, const char*, const char*, unsigned long, const void*) noexcept;
constexpr unsigned long kBind = 4096, kRemount = 32, kReadOnly = 1, kRecursive = 16384, kPrivate = 1UL << 18;

bool set_attributes(const char* path, bool recursive, std::uint64_t set, std::uint64_t clear) {
  mount_attr attributes{};
  attributes.attr_set = set;
  attributes.attr_clr = clear;
  return ::syscall(SYS_mount_setattr, AT_FDCWD, path, recursive ? AT_RECURSIVE : 0, &attributes,
                   sizeof attributes) == 0;
}

bool set_limit(int resource, std::uint64_t value) {
  rlimit limit{};
  if (::getrlimit(static_cast<__rlimit_resource_t>(resource), &limit) != 0) return false;
  const rlim_t wanted = limit.rlim_max == RLIM_INFINITY || value < limit.rlim_max ? value : limit.rlim_max;
  limit.rlim_cur = limit.rlim_max = wanted;
  return ::setrlimit(static_cast<__rlimit_resource_t>(resource), &limit) == 0;
}

// Newer headers have more; by their numbers, so that the program uses what the kernel has.
constexpr std::uint64_t kWritesOfFirstLandlock = (1ULL << 1) | (0x1FFULL << 4);  // write; remove … make links
constexpr std::uint64_t kRefer = 1ULL << 13, kTruncate = 1ULL << 14, kDeviceControl = 1ULL << 15;

bool allow_below(int rules, const char* path, std::uint64_t access) {
  const int folder = ::open(path, O_PATH | O_CLOEXEC);
  if (folder < 0) return false;
  landlock_path_beneath_attr beneath{};
  beneath.allowed_access = access;
  beneath.parent_fd = folder;
  const bool added = ::syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &beneath, 0) == 0;
  ::close(folder);
  return added;
}

// True also when the kernel has no Landlock.
bool restrict_writing_to(const char* folder) {
  const long version = ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  if (version < 1) return true;
  std::uint64_t writes = kWritesOfFirstLandlock;
  if (version >= 2) writes |= kRefer;
  if (version >= 3) writes |= kTruncate;
  if (version >= 5) writes |= kDeviceControl;
  landlock_ruleset_attr attributes{};
  attributes.handled_access_fs = writes;
  const long rules =
      ::syscall(SYS_landlock_create_ruleset, &attributes, sizeof attributes.handled_access_fs, 0);
  if (rules < 0) return false;
  const std::uint64_t to_devices = LANDLOCK_ACCESS_FS_WRITE_FILE | (version >= 3 ? kTruncate : 0);
  // Without /dev/null a program does without.
  allow_below(static_cast<int>(rules), "/dev/null", to_devices);
  const bool restricted = allow_below(static_cast<int>(rules), folder, writes & ~kDeviceControl) &&
                          ::syscall(SYS_landlock_restrict_self, rules, 0) == 0;
  ::close(static_cast<int>(rules));
  return restricted;
}

#if defined(__x86_64__) || defined(__aarch64__)

constexpr sock_filter statement(std::uint16_t code, std::uint32_t k) {
  return {code, 0, 0, k};
}
constexpr sock_filter jump(std::uint16_t code, std::uint32_t k, std::uint8_t yes, std::uint8_t no) {
  return {code, yes, no, k};
}

constexpr std::uint32_t kNative =
#  if defined(__x86_64__)
    AUDIT_ARCH_X86_64;
#  else
    AUDIT_ARCH_AARCH64;
#  endif

constexpr std::uint32_t kRefused = SECCOMP_RET_ERRNO | EPERM;
constexpr std::uint32_t kUnknownCall = SECCOMP_RET_ERRNO | ENOSYS;

// Calls that a program which fetches never makes, and that have served to break out of sandboxes.
constexpr std::uint32_t kForbidden[] = {
    SYS_ptrace,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_mount,
    SYS_umount2,
    SYS_pivot_root,
    SYS_chroot,
    SYS_unshare,
    SYS_setns,
    SYS_bpf,
    SYS_perf_event_open,
    SYS_userfaultfd,
    SYS_keyctl,
    SYS_add_key,
    SYS_request_key,
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_kexec_load,
    SYS_kexec_file_load,
    SYS_open_by_handle_at,
    SYS_name_to_handle_at,
    SYS_reboot,
    SYS_swapon,
    SYS_swapoff,
    SYS_settimeofday,
    SYS_clock_settime,
    SYS_adjtimex,
    SYS_clock_adjtime,
    SYS_sethostname,
    SYS_setdomainname,
    SYS_acct,
    SYS_quotactl,
    SYS_syslog,
    SYS_personality,
    SYS_io_uring_setup,
    SYS_io_uring_enter,
    SYS_io_uring_register,
    SYS_move_mount,
    SYS_open_tree,
    SYS_fsopen,
    SYS_fsmount,
    SYS_fsconfig,
    SYS_fspick,
    SYS_mount_setattr,
    SYS_memfd_secret,
    SYS_pidfd_getfd,
    SYS_mknodat,
    SYS_fanotify_init,
    SYS_kcmp,
    SYS_process_madvise,
    SYS_vhangup,
#  if defined(__x86_64__)
    SYS_mknod,
    SYS_iopl,
    SYS_ioperm,
    SYS_modify_ldt,
    SYS_uselib,
#  endif
};
constexpr std::uint32_t kNewNamespaces =
    CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;
constexpr std::uint32_t kSockets[] = {AF_UNIX, AF_INET, AF_INET6, AF_NETLINK};

constexpr std::size_t kFilterSize = 8 + 2 * std::size(kForbidden) + 2 + 4 + 4 + std::size(kSockets) + 2;

struct Filter {
  sock_filter code[kFilterSize]{};
  std::size_t size = 0;

  constexpr void add(sock_filter one) { code[size++] = one; }
};

// Accumulator: the architecture, then the call's number, then its first argument.
constexpr Filter make_filter() {
  constexpr std::uint16_t kLoad = BPF_LD | BPF_W | BPF_ABS;
  constexpr std::uint16_t kEqual = BPF_JMP | BPF_JEQ | BPF_K;
  constexpr std::uint16_t kReturn = BPF_RET | BPF_K;
  Filter filter;
  filter.add(statement(kLoad, offsetof(seccomp_data, arch)));
  filter.add(jump(kEqual, kNative, 1, 0));
  filter.add(statement(kReturn, SECCOMP_RET_KILL_PROCESS));
  filter.add(statement(kLoad, offsetof(seccomp_data, nr)));
  // x32, where the same calls have other numbers.
  filter.add(jump(BPF_JMP | BPF_JGE | BPF_K, 0x40000000U, 0, 1));
  filter.add(statement(kReturn, SECCOMP_RET_KILL_PROCESS));
  for (const std::uint32_t call : kForbidden) {
    filter.add(jump(kEqual, call, 0, 1));
    filter.add(statement(kReturn, kRefused));
  }
  // Its flags are in memory, which a filter cannot read; the C library uses clone() then.
  filter.add(jump(kEqual, SYS_clone3, 0, 1));
  filter.add(statement(kReturn, kUnknownCall));
  filter.add(jump(kEqual, SYS_clone, 0, 3));
  filter.add(statement(kLoad, offsetof(seccomp_data, args)));
  filter.add(jump(BPF_JMP | BPF_JSET | BPF_K, kNewNamespaces, std::size(kSockets) + 3, 0));
  filter.add(statement(kReturn, SECCOMP_RET_ALLOW));
  filter.add(jump(kEqual, SYS_socket, 0, std::size(kSockets) + 2));
  filter.add(statement(kLoad, offsetof(seccomp_data, args)));
  for (std::size_t i = 0; i < std::size(kSockets); ++i)
    filter.add(jump(kEqual, kSockets[i], static_cast<std::uint8_t>(std::size(kSockets) - i), 0));
  filter.add(statement(kReturn, kRefused));
  filter.add(statement(kReturn, SECCOMP_RET_ALLOW));
  return filter;
}

bool forbid_calls() {
  static constexpr Filter kFilter = make_filter();
  static_assert(kFilter.size <= kFilterSize);
  const sock_fprog program{static_cast<unsigned short>(kFilter.size), const_cast<sock_filter*>(kFilter.code)};
  // A kernel without filters says EINVAL.
  return ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0 || errno == EINVAL;
}

#else

bool forbid_calls() {
  return true;
}

#endif

[[noreturn]] void give_up(const char* what) {
  std::fprintf(stderr, "error confine %s: %s\n", what, std::strerror(errno));
  std::_Exit(1);
}

// Mounts of its own: the folder at the mount point, everything else read-only.
bool enter_own_mounts(const Confinement& to) {
  if (mount("none", "/", nullptr, kRecursive | kPrivate, nullptr) != 0) return false;
  // A bind is a mount with attributes of its own, wherever it came from.
  if (mount(to.folder.c_str(), to.mount_point.c_str(), nullptr, kBind, nullptr) != 0) return false;
  if (set_attributes("/", true, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID, 0))
    return set_attributes(to.mount_point.c_str(), false, MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC,
                          MOUNT_ATTR_RDONLY);
  // Before Linux 5.12: the root alone; what else is mounted stays as it is for a user without privileges.
  return errno == ENOSYS && mount("none", "/", nullptr, kBind | kRemount | kReadOnly, nullptr) == 0;
}

// Waits for the first process of the namespace, and ends as it did: all others in there are gone by then.
[[noreturn]] void wait_for(pid_t first) {
  int status = 0;
  while (::waitpid(first, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status)) {
    // Not a core of ours for what was done to it.
    std::fprintf(stderr, "error killed the fetcher was ended by signal %d\n", WTERMSIG(status));
    std::_Exit(128 + WTERMSIG(status));
  }
  std::_Exit(WEXITSTATUS(status));
}

bool take_limits(const Confinement& to) {
  return set_limit(RLIMIT_CORE, 0) && set_limit(RLIMIT_AS, to.memory) &&
         set_limit(RLIMIT_FSIZE, to.file_size) && set_limit(RLIMIT_NPROC, to.processes) &&
         set_limit(RLIMIT_NOFILE, to.descriptors) && set_limit(RLIMIT_CPU, to.cpu_seconds) &&
         set_limit(RLIMIT_MEMLOCK, 1 << 20) && set_limit(RLIMIT_MSGQUEUE, 0);
}

}  // namespace

void run_confined(const Confinement& to, char* const* argv, char* const* environment) {
  const bool is_root = !to.mount_point.empty();
  if (is_root) {
    if (::unshare(CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWPID) != 0) give_up("making namespaces");
    const pid_t first = ::fork();
    if (first < 0) give_up("starting a process");
    if (first > 0) wait_for(first);
    // The descriptors of the waiting process end with it; so does this one.
    if (!enter_own_mounts(to)) give_up("making read-only mounts");
    if (::setgroups(0, nullptr) != 0 || ::setresgid(to.uid, to.uid, to.uid) != 0 ||
        ::setresuid(to.uid, to.uid, to.uid) != 0)
      give_up("becoming a user without privileges");
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != 0) give_up("losing the process that waits");
  }
  const std::string& folder = is_root ? to.mount_point : to.folder;
  if (::chdir(folder.c_str()) != 0) give_up("entering the folder");
  if (!take_limits(to)) give_up("setting limits");
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || !restrict_writing_to(folder.c_str()) ||
      !forbid_calls())
    give_up("giving up rights");
  ::execve(argv[0], argv, environment);
  give_up("executing the fetcher");
}

}  // namespace fetcher

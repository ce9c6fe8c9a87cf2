#include "base/programs/process_start.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <optional>
#include <vector>

#include "base/programs/pipe_write.hpp"
#include "base/programs/process_environment.hpp"

namespace base {

namespace {

constexpr std::chrono::milliseconds kLongestGrace =
    std::chrono::hours(24);  // keeps sums of times from overflowing

struct Pipe {
  UniqueFd read;
  UniqueFd write;
};

// Descriptors 0 to 4 become the program's own, so nothing else may be there.
constexpr int kFirstFree = kHearDescriptor + 1;

Result<UniqueFd> above_own(UniqueFd fd) {
  if (fd.get() >= kFirstFree) return fd;
  UniqueFd moved(::fcntl(fd.get(), F_DUPFD_CLOEXEC, kFirstFree));
  if (!moved) return os_error(errno, "moving a descriptor");
  return moved;
}

Result<Pipe> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return os_error(errno, "making a pipe");
  UniqueFd first(ends[0]);
  UniqueFd second(ends[1]);
  auto read = above_own(std::move(first));
  if (!read) return std::move(read).error();
  auto write = above_own(std::move(second));
  if (!write) return std::move(write).error();
  return Pipe{std::move(*read), std::move(*write)};
}

Result<UniqueFd> open_null() {
  UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!null) return os_error(errno, "opening /dev/null");
  return above_own(std::move(null));
}

// Sealed: nobody who has it can change it. Its mode lets any identity open it anew; only who has the
// descriptor can.
Result<UniqueFd> make_script(std::string_view text) {
  unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
#ifdef MFD_NOEXEC_SEAL
  flags |= MFD_NOEXEC_SEAL;
#else
  flags |= 0x0008U;  // the same, by its number in newer kernels
#endif
  UniqueFd made(::memfd_create("script", flags));
  if (!made && errno == EINVAL) made = UniqueFd(::memfd_create("script", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!made) return os_error(errno, "making a file in memory");
  while (!text.empty()) {
    const ssize_t written = ::write(made.get(), text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return os_error(errno, "writing to a file in memory");
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  if (::fcntl(made.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) != 0 ||
      ::lseek(made.get(), 0, SEEK_SET) != 0)
    return os_error(errno, "sealing a file in memory");
  return above_own(std::move(made));
}

bool set_nonblocking(const UniqueFd& fd) {
  return ::fcntl(fd.get(), F_SETFL, O_NONBLOCK) == 0;
}

bool has_nul(const std::string& text) {
  return text.find('\0') != std::string::npos;
}

Result<std::string> resolve_program(const Command& command) {
  if (command.argv.empty() || command.argv[0].empty()) return Error(ErrorCode::invalid, "no program given");
  if (std::ranges::any_of(command.argv, has_nul) || std::ranges::any_of(command.env, has_nul) ||
      has_nul(command.cwd)) {
    return Error(ErrorCode::invalid, "a NUL byte in an argument, the environment or the working directory");
  }
  const std::string& name = command.argv[0];
  if (name.find('/') != std::string::npos) return name;

  std::string_view path = kSystemPath;
  for (const std::string& variable : command.env) {
    if (variable.starts_with("PATH=")) path = std::string_view(variable).substr(5);
  }
  std::optional<std::string> found = search_path(name, path);
  if (!found) return Error(ErrorCode::not_found, "program '" + name + "' not found");
  return std::move(*found);
}

// execve() takes pointers to non-const for historical reasons and changes nothing.
std::vector<char*> pointers_to(const std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  pointers.reserve(strings.size() + 1);
  for (const std::string& string : strings) {
    pointers.push_back(const_cast<char*>(string.c_str()));
  }
  pointers.push_back(nullptr);
  return pointers;
}

// Signals are blocked across the fork, so that no handler of ours runs in the child.
pid_t fork_supervisor(const SupervisorPlan& plan) {
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t pid = ::fork();
  if (pid == 0) supervise(plan);
  const int fork_errno = errno;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = fork_errno;
  return pid;
}

std::string person(const Command& command) {
  return command.identity ? "user " + std::to_string(command.identity->uid) : std::string("the agent's user");
}

Error cwd_error(const Command& command, int error_number) {
  const std::string where = "working directory '" + command.cwd + "'";
  if (error_number == ENOENT) return Error(ErrorCode::not_found, where + " does not exist");
  if (error_number == ENOTDIR) return Error(ErrorCode::invalid, where + " is not a directory");
  if (error_number == EACCES) {
    return Error(ErrorCode::permission, where + " is not accessible to " + person(command));
  }
  if (error_number == ESTALE)
    return Error(ErrorCode::permission, where + " is another folder for " + person(command) +
                                            " than it was just now: somebody moves it about");
  return os_error(error_number, where);
}

Error exec_error(const Command& command, const std::string& path, int error_number) {
  const std::string what = "program '" + path + "'";
  if (error_number == ENOENT) {
    const bool is_there = path.starts_with('/') && ::access(path.c_str(), F_OK) == 0;
    return Error(ErrorCode::not_found,
                 what + (is_there ? " needs an interpreter that does not exist" : " not found"));
  }
  if (error_number == EACCES) {
    return Error(ErrorCode::permission, what + " is not executable for " + person(command));
  }
  return os_error(error_number, what);
}

}  // namespace

SupervisorHandle::~SupervisorHandle() {
  control_.reset();
  if (pid_ < 0) return;
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void SupervisorHandle::end_tree() {
  // Fails only if the supervisor is gone already.
  while (write_to_pipe(control_.get(), "x") < 0 && errno == EINTR) {
  }
}

Result<StartedProgram> start(const Command& command) {
  auto program = resolve_program(command);
  if (!program) return std::move(program).error();

  auto null = open_null();
  if (!null) return std::move(null).error();
  const UniqueFd cwd_folder(
      command.cwd_folder < 0 ? -1 : ::fcntl(command.cwd_folder, F_DUPFD_CLOEXEC, kFirstFree));
  if (command.cwd_folder >= 0 && !cwd_folder) return os_error(errno, "moving a descriptor");
  auto script = command.script.empty() ? Result<UniqueFd>(UniqueFd()) : make_script(command.script);
  if (!script) return std::move(script).error();
  Pipe pipes[7];
  auto& [input, output, error, control, report, tell, hear] = pipes;
  for (Pipe& pipe : pipes) {
    if (&pipe == &input && command.input.empty()) continue;
    if ((&pipe == &tell || &pipe == &hear) && !command.talks) continue;
    auto made = make_pipe();
    if (!made) return std::move(made).error();
    pipe = std::move(*made);
  }
  if (!set_nonblocking(output.read) || !set_nonblocking(error.read) ||
      (input.write && !set_nonblocking(input.write)) || (tell.write && !set_nonblocking(tell.write)) ||
      (hear.read && !set_nonblocking(hear.read))) {
    return os_error(errno, "preparing a pipe");
  }

  const std::vector<char*> argv = pointers_to(command.argv);
  const std::vector<char*> envp = pointers_to(command.env);
  SupervisorPlan plan;
  plan.program = program->c_str();
  plan.argv = argv.data();
  plan.envp = envp.data();
  plan.cwd = command.cwd.c_str();
  plan.cwd_folder = cwd_folder.get();
  if (command.identity) {
    plan.change_identity = true;
    plan.uid = command.identity->uid;
    plan.gid = command.identity->gid;
    plan.groups = command.identity->groups.data();
    plan.group_count = command.identity->groups.size();
  }
  plan.private_tmp = command.private_tmp;
  plan.view = command.view;
  plan.limits = command.limits ? &*command.limits : nullptr;
  plan.null = null->get();
  plan.input = input.read.get();
  plan.output = output.write.get();
  plan.error = error.write.get();
  plan.script = command.talks ? tell.read.get() : script->get();
  plan.answers = hear.write.get();
  plan.output_end = output.read.get();
  plan.error_end = error.read.get();
  plan.control = control.read.get();
  plan.report = report.write.get();
  plan.term_grace_ms = std::min(command.term_grace, kLongestGrace).count();

  const pid_t supervisor = fork_supervisor(plan);
  if (supervisor < 0) return os_error(errno, "starting program '" + *program + "'");
  return StartedProgram{.path = std::move(*program),
                        .input = std::move(input.write),
                        .output = std::move(output.read),
                        .error = std::move(error.read),
                        .tell = std::move(tell.write),
                        .hear = std::move(hear.read),
                        .report = std::move(report.read),
                        .supervisor = SupervisorHandle(supervisor, std::move(control.write))};
}

Error start_error(const Command& command, const StartedProgram& started, const Report& report) {
  switch (report.what) {
    case Report::What::cwd_failed:
      return cwd_error(command, report.error_number);
    case Report::What::exec_failed:
      return exec_error(command, started.path, report.error_number);
    case Report::What::view_failed:
      return os_error(report.error_number,
                      "a read-only view of the machine for '" + started.path +
                          "' (it needs Linux 5.12 and the right to make mount namespaces)");
    case Report::What::identity_failed:
      return os_error(report.error_number, "becoming " + person(command));
    default:
      return os_error(report.error_number, "starting program '" + started.path + "'");
  }
}

}  // namespace base

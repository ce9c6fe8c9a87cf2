// Running external programs: argv in, bounded output and exit status out.
//
// Every program runs below a small supervisor process of ours (a fork that only makes async-signal-safe
// calls). The supervisor is the "child subreaper" of everything the program starts, so grandchildren that
// fork twice or change their session are still found and ended with it; and when this process dies, however
// it dies, the supervisor ends the tree too. A program that ends normally may leave children running (a
// daemon that it started): those are left alone. Should they still have its output open, a process of ours
// goes on reading it, and throws it away: else their next line would be their end.
// Should somebody kill -9 the supervisor, the program dies with it and counts as killed; its children may
// stay.
//
// The program gets stdin, stdout and stderr and no other descriptor (but for a script), a session of its own,
// default signal handling, umask 022 and exactly the environment given.
//
// run() blocks the calling thread. It may be called from several threads at once.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/interrupt.hpp"
#include "base/result.hpp"

namespace base {

// Whom to run as. Looked up by the caller (base/host/accounts.hpp); nothing is looked up between fork and
// exec.
struct Identity {
  uid_t uid = 0;
  gid_t gid = 0;
  std::vector<gid_t> groups;  // supplementary groups
};

enum class Stream { out, err };

// What a program may use at most; see setrlimit().
struct ProcessLimits {
  std::uint64_t memory_bytes = 0;  // private memory of each of its processes (RLIMIT_DATA)
  std::uint64_t processes = 0;     // of its user, unless that is root (RLIMIT_NPROC)
};

// What a program sees of the machine. Besides all: read_only_view.hpp.
enum class View { all, read_only, read_only_offline };

struct Command {
  std::vector<std::string> argv;  // argv[0] is searched in PATH of `env` unless it has a slash
  std::vector<std::string> env;   // complete, "NAME=value"; see clean_environment()
  std::string cwd = "/";          // entered as the identity, so it must be open to it
  // `cwd`, opened before and known to be right (Tree::follow): the program starts there and nowhere else,
  // whatever the name leads to by then. Borrowed until run() returns; -1: what the name leads to.
  int cwd_folder = -1;
  std::optional<Identity> identity;  // absent: as we are
  std::string input;                 // written to stdin; empty: stdin is /dev/null
  // A text that the program can read at kScriptPath, for what must not be among its arguments, which
  // everybody on the machine can see. In memory, without a name, read-only; empty: none.
  std::string script;
  bool private_tmp = false;  // with an empty /tmp in memory, where that can be had, also in a read-only view
  View view = View::all;     // not had where it cannot be had: the program is not started then
  std::optional<ProcessLimits> limits;
  // It reads descriptor 3 and writes descriptor 4, besides its other three: only with a Conversation, and
  // without a script.
  bool talks = false;
  std::chrono::milliseconds timeout{600'000};
  std::chrono::milliseconds term_grace{5'000};   // from TERM to KILL
  std::chrono::milliseconds drain_grace{2'000};  // how long to read on after the program itself has exited
  std::size_t keep_head = 64 * 1024;             // bytes of output kept from the start …
  std::size_t keep_tail = 64 * 1024;             // … and from the end
  Interrupt* interrupt = nullptr;
  // Called on the calling thread when the program has ended by itself and left others running, with their ids
  // and that of the process which will read their output. May be empty.
  std::function<void(const std::vector<pid_t>&)> on_left_behind;
  // Called with all output as it comes (what is later dropped included), on the calling thread; may be empty.
  std::function<void(Stream, std::string_view)> on_output;
};

// Where a program finds its script: descriptor 3, which what it starts inherits unless it is closed.
inline constexpr int kScriptDescriptor = 3;
inline constexpr const char* kScriptPath = "/proc/self/fd/3";

// Where a program that talks is told something, and where it answers.
inline constexpr int kTellDescriptor = 3;
inline constexpr int kHearDescriptor = 4;

// After timed_out and cancelled nothing of the tree is left running; after exited and signalled, children
// that the program left behind are.
enum class Ending { exited, signalled, timed_out, cancelled };

struct Completed {
  Ending ending = Ending::exited;
  int exit_code = 0;   // when exited
  int signal = 0;      // when signalled
  std::string output;  // stdout and stderr in order of arrival; head, a note with the bytes dropped, tail
  std::uint64_t dropped_bytes = 0;
  std::chrono::microseconds cpu{};  // user and system time of the program and of the children it waited for
  // Peak memory of the largest of them. Never less than our own at the time: between fork and exec the
  // program is a copy of us, and the kernel counts that.
  std::uint64_t max_rss_kb = 0;
  std::size_t left_behind = 0;  // how many processes the program has left running

  bool ok() const { return ending == Ending::exited && exit_code == 0; }
};

// Runs the program to its end. An Error means that it could not be started (no such program, no such
// directory, no more processes); everything that happens after the start is in Completed.
Result<Completed> run(const Command& command);

// The environment that programs get: PATH with the system folders, LC_ALL=C.UTF-8, TERM=dumb, HOME, and of
// ours only what is wanted (proxy settings, TZ), so never a token of the agent's. A proxy address is handed
// on as it is, with the password that it may contain: programs could not get out without it.
std::vector<std::string> clean_environment(std::string_view home = "/root");

// The absolute path of a program in the system's PATH folders, if it is there and executable. An absolute
// `name` is only checked; any other name with a slash is not found.
std::optional<std::string> find_program(std::string_view name);

}  // namespace base

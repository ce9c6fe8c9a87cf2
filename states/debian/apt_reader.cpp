#include "states/debian/apt_reader.hpp"

#include <unistd.h>

#include <algorithm>
#include <iterator>

#include "base/files/below_root.hpp"
#include "states/debian/apt_get.hpp"

namespace states::debian {

namespace {

using base::Command;
using base::Completed;
using base::ErrorCode;
using base::Result;

constexpr std::size_t kMostOutput = 16 * 1024 * 1024;  // thousands of packages
constexpr base::Identity kNobody{.uid = 65534, .gid = 65534, .groups = {}};

// Options cannot take away what a configuration file lists; another such file, which is read last, can.
constexpr const char* kWithoutHooks = "#clear AptCli::Hooks;\n";

// Whether a file that apt reads, and the folders it is in, may be read: tried by who is to read them. Of what
// apt cannot read it leaves out some with a warning, and some without a word.
constexpr const char* kMayRead = R"(for each; do [ -r "$each" ] || exit 1; done)";

std::vector<std::string> what_apt_reads() {
  std::vector<std::string> paths{"/var/lib/apt/lists/.", "/var/lib/dpkg/status"};
  for (const char* folder :
       {"/etc/apt", "/etc/apt/apt.conf.d", "/etc/apt/preferences.d", "/etc/apt/sources.list.d"})
    for (const std::string& name : base::names_below("/", folder)) {
      // Passwords for repositories, which is all that these hold, are wanted only where something is fetched.
      if (!name.starts_with("auth.conf")) paths.push_back(std::string(folder) + "/" + name);
    }
  return paths;
}

bool nobody_may_read_it(Context& context) {
  Command command;
  command.argv = {"/bin/sh", "-c", kMayRead, "sh"};
  std::ranges::move(what_apt_reads(), std::back_inserter(command.argv));
  command.identity = kNobody;
  command.on_output = [](base::Stream, std::string_view) {};
  const auto done = context.commands.run(std::move(command));
  return done && done->ok();
}

// A package file, or what apt itself says.
bool needs_root(const Completed& done) {
  return done.output.find("Permission denied") != std::string::npos ||
         (!done.ok() && done.output.find("E: Unsupported file ") != std::string::npos);
}

Result<Completed> ask_without_view(Context& context, Command command) {
  if (nobody_may_read_it(context)) {
    command.identity = kNobody;
    auto done = context.commands.run(command);
    if (!done || !needs_root(*done)) return done;
    command.identity.reset();
  }
  // As root it keeps its cache in memory when it is told of no file for it.
  command.argv.insert(command.argv.begin() + 1,
                      {"-o", "Dir::Cache::pkgcache=", "-o", "Dir::Cache::srcpkgcache="});
  return context.commands.run(std::move(command));
}

}  // namespace

Result<Completed> ask_apt(Context& context, std::vector<std::string> argv, AptAccess access) {
  Command command;
  command.argv = std::move(argv);
  command.env = apt_environment();
  command.keep_head = kMostOutput;
  command.on_output = [](base::Stream, std::string_view) {};
  if (access == AptAccess::writable) return context.commands.run(std::move(command));
  command.private_tmp = true;
  command.script = kWithoutHooks;
  command.argv.insert(command.argv.begin() + 1, {"-c", base::kScriptPath});
  if (::geteuid() != 0) return context.commands.run(std::move(command));
  command.view = base::View::read_only_offline;
  auto done = context.commands.run(command);
  if (done || done.error().code() == ErrorCode::cancelled || done.error().code() == ErrorCode::timed_out)
    return done;
  command.view = base::View::all;
  return ask_without_view(context, std::move(command));
}

}  // namespace states::debian

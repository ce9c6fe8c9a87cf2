#include "states/debian/apt_reader.hpp"

#include <unistd.h>

#include <algorithm>

#include "states/debian/apt_get.hpp"

namespace states::debian {

namespace {

constexpr std::size_t kMostOutput = 16 * 1024 * 1024;  // thousands of packages
constexpr base::Identity kNobody{.uid = 65534, .gid = 65534, .groups = {}};

// Sources that only root may read, which apt leaves out with no more than a warning, or a package file.
bool needs_root(const base::Completed& done) {
  return done.output.find("Permission denied") != std::string::npos ||
         (!done.ok() && done.output.find("E: Unsupported file ") != std::string::npos);
}

}  // namespace

base::Result<base::Completed> ask_apt(Context& context, std::vector<std::string> argv, AptAccess access) {
  base::Command command;
  command.argv = std::move(argv);
  command.env = apt_environment();
  command.keep_head = kMostOutput;
  command.on_output = [](base::Stream, std::string_view) {};
  const bool as_nobody = access == AptAccess::read_only && ::geteuid() == 0;
  if (as_nobody) command.identity = kNobody;
  // Without a current cache apt unpacks the signed lists of each source into a temporary file.
  command.private_tmp = access == AptAccess::read_only;
  auto done = context.commands.run(command);
  if (!as_nobody || !done || !needs_root(*done)) return done;
  // Asked again as root, it keeps its cache in memory when it is told of no file for it.
  command.identity.reset();
  command.argv.insert(command.argv.begin() + 1,
                      {"-o", "Dir::Cache::pkgcache=", "-o", "Dir::Cache::srcpkgcache="});
  return context.commands.run(command);
}

}  // namespace states::debian

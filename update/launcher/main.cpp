// opsagent-launch [--prefix DIR] [--state-dir DIR] [--watchdog SECONDS] [-- ARGUMENTS OF THE AGENT]
#include <unistd.h>

#include <array>
#include <cstdio>
#include <string_view>

#include "base/text.hpp"
#include "update/launcher/launcher_process.hpp"

namespace {

constexpr int kUsage = 2;

// The folder that this program lies in.
std::string own_folder() {
  std::array<char, 4096> path{};
  const ssize_t length = ::readlink("/proc/self/exe", path.data(), path.size() - 1);
  std::string text(path.data(), length > 0 ? static_cast<std::size_t>(length) : 0);
  const std::size_t slash = text.rfind('/');
  return slash == std::string::npos || slash == 0 ? update::kDefaultPrefix : text.substr(0, slash);
}

int usage() {
  std::fputs(
      "usage: opsagent-launch [--prefix DIR] [--state-dir DIR] [--watchdog SECONDS] [-- ARGUMENT...]\n"
      "Starts DIR/current/bin/opsagent run ARGUMENT..., and starts it again whenever it ends or, where no "
      "service\n"
      "manager watches, is silent for SECONDS (default 60; 0: never).\n",
      stderr);
  return kUsage;
}

}  // namespace

int main(int argc, char** argv) {
  update::launcher::LaunchOptions options{.prefix = own_folder()};
  int at = 1;
  for (; at < argc; ++at) {
    const std::string_view word = argv[at];
    if (word == "--") {
      ++at;
      break;
    }
    if (word == "--watchdog") {
      constexpr std::int64_t kLongest = 86'400;
      const auto seconds = at + 1 < argc ? base::parse_integer(argv[++at]) : std::nullopt;
      if (!seconds || *seconds < 0 || *seconds > kLongest) return usage();
      options.watchdog = std::chrono::seconds(*seconds);
      continue;
    }
    std::string* const value = word == "--prefix"      ? &options.prefix
                               : word == "--state-dir" ? &options.state_dir
                                                       : nullptr;
    if (!value || at + 1 == argc || argv[at + 1][0] != '/') return usage();
    *value = argv[++at];
  }
  options.arguments.assign(argv + at, argv + argc);
  return update::launcher::Launch(std::move(options)).run();
}

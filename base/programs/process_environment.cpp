#include "base/programs/process_environment.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "base/programs/process.hpp"

namespace base {

namespace {

// Programs look for these in either case.
constexpr const char* kHandedOn[] = {"http_proxy", "https_proxy", "ftp_proxy",   "all_proxy",
                                     "no_proxy",   "HTTP_PROXY",  "HTTPS_PROXY", "FTP_PROXY",
                                     "ALL_PROXY",  "NO_PROXY",    "TZ"};

bool is_executable_file(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && ::access(path.c_str(), X_OK) == 0;
}

}  // namespace

std::optional<std::string> search_path(std::string_view name, std::string_view path) {
  while (!path.empty() && !name.empty()) {
    const std::string_view folder = path.substr(0, path.find(':'));
    path.remove_prefix(std::min(folder.size() + 1, path.size()));
    if (!folder.starts_with('/')) continue;
    std::string candidate = std::string(folder) + "/" + std::string(name);
    if (is_executable_file(candidate)) return candidate;
  }
  return std::nullopt;
}

std::optional<std::string> find_program(std::string_view name) {
  if (name.find('/') == std::string_view::npos) return search_path(name, kSystemPath);
  if (name.starts_with('/') && is_executable_file(std::string(name))) return std::string(name);
  return std::nullopt;
}

std::vector<std::string> clean_environment(std::string_view home) {
  std::vector<std::string> environment = {
      "PATH=" + std::string(kSystemPath),
      "LC_ALL=C.UTF-8",
      "TERM=dumb",
      "HOME=" + std::string(home),
  };
  for (const char* name : kHandedOn) {
    const char* value = std::getenv(name);
    if (value != nullptr) environment.push_back(std::string(name) + "=" + value);
  }
  return environment;
}

}  // namespace base

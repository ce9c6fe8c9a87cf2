#include "agent/inputs/machine_secrets.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <chrono>

#include "base/files/file_read.hpp"
#include "base/files/way.hpp"
#include "base/programs/process.hpp"
#include "base/unique_fd.hpp"

namespace agent::inputs {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

constexpr std::size_t kLargest = 64 * 1024;
constexpr std::chrono::seconds kTimeout{10};

bool is_ours(const struct stat& st) {
  return st.st_uid == 0 || st.st_uid == ::geteuid();
}

// Files end with a newline that is no part of the secret.
std::string without_newline(std::string text) {
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

// not_found: there is no such file.
Result<std::string> read_secret_file(const std::string& folder, std::string_view name) {
  const std::string path = folder + "/" + std::string(name);
  const auto refuse = [&](std::string_view why) {
    return Error(ErrorCode::permission, path + " " + std::string(why));
  };
  auto way = base::walk_way(folder);
  if (!way) return std::move(way).error();
  struct stat st {};
  if (::fstat(way->end.get(), &st) != 0) return base::os_error(errno, folder);
  if (!S_ISDIR(st.st_mode)) return Error(ErrorCode::not_found, folder + " is no folder");
  if (!is_ours(st) || (st.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return Error(ErrorCode::permission, folder + " must belong to root, and only root may write to it");
  const base::UniqueFd file(::openat(way->end.get(), std::string(name).c_str(),
                                     O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!file && errno == ELOOP) return refuse("is a link; a secret is a file");
  if (!file) return base::os_error(errno, path);
  if (::fstat(file.get(), &st) != 0) return base::os_error(errno, path);
  if (!S_ISREG(st.st_mode)) return refuse("is not a regular file");
  if (!is_ours(st)) return refuse("must belong to root");
  if ((st.st_mode & (S_IRWXG | S_IRWXO)) != 0)
    return refuse("can be read by others: chmod 600, and take the secret for known");
  auto text = base::read_all(file.get(), kLargest, path);
  if (!text) return std::move(text).error();
  return without_newline(std::move(*text));
}

}  // namespace

Result<std::string> MachineSecrets::secret(std::string_view name) {
  for (const std::string& folder : {settings_.folder, settings_.credentials}) {
    if (folder.empty()) continue;
    auto found = read_secret_file(folder, name);
    if (found || found.error().code() != ErrorCode::not_found) return found;
  }
  if (!settings_.program.empty()) return printed(name);
  return Error(ErrorCode::not_found,
               "there is none: neither " + settings_.folder + "/" + std::string(name) + " nor a credential");
}

Result<std::string> MachineSecrets::printed(std::string_view name) const {
  std::string text;
  bool is_too_large = false;
  base::Command command{
      .argv = {settings_.program, std::string(name)}, .env = base::clean_environment(), .timeout = kTimeout};
  command.on_output = [&](base::Stream stream, std::string_view piece) {
    if (stream != base::Stream::out) return;
    is_too_large = is_too_large || text.size() + piece.size() > kLargest;
    if (!is_too_large) text += piece;
  };
  const auto completed = base::run(command);
  if (!completed) return completed.error();
  const std::string program = "the program " + settings_.program;
  if (completed->ending == base::Ending::timed_out)
    return Error(ErrorCode::timed_out, program + " did not end within 10 s");
  if (!completed->ok())  // what it printed may be the secret
    return Error(ErrorCode::not_found,
                 program + " has failed, with the exit status " + std::to_string(completed->exit_code));
  if (is_too_large) return Error(ErrorCode::limit, program + " has printed more than 64 KiB");
  return without_newline(std::move(text));
}

}  // namespace agent::inputs

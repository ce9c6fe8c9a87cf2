#include "backend/server/data_folder.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "backend/domain/access/operator_token.hpp"
#include "base/files/durable_file.hpp"
#include "base/files/file_read.hpp"
#include "base/files/private_folder.hpp"
#include "base/text.hpp"

namespace backend::server {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

constexpr std::size_t kShortestToken = 32;
constexpr std::size_t kLongestToken = 4096;

// By whatever way others cannot change, so that the name stays the folder that is looked at here.
Result<void> make_folder(const std::string& path) {
  auto way = base::make_private_folder(path);
  if (!way) return std::move(way).error().with_context("the data folder (--data)");
  struct stat st {};
  if (::fstat(way->end.get(), &st) != 0) return base::os_error(errno, path);
  // It holds tokens and everything about the fleet. By descriptor: that folder and no other.
  const std::string by_descriptor = "/proc/self/fd/" + std::to_string(way->end.get());
  if ((st.st_mode & 077) != 0 && ::chmod(by_descriptor.c_str(), 0700) != 0)
    return base::os_error(errno, "chmod " + path);
  return {};
}

}  // namespace

Result<DataFolder> DataFolder::open(std::string path) {
  while (path.size() > 1 && path.ends_with('/'))
    path.pop_back();
  if (auto made = make_folder(path); !made) return std::move(made).error();

  const std::string lock_path = path + "/lock";
  base::UniqueFd lock(::open(lock_path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!lock) return base::os_error(errno, "opening " + lock_path);
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return base::os_error(errno, "locking " + lock_path);
    const auto holder = base::read_file(lock_path, kLongestToken);
    return Error(ErrorCode::exists,
                 path + " is in use by another opsbackend" +
                     (holder && !holder->empty() ? " (pid " + std::string(base::trim(*holder)) + ")" : ""));
  }
  const std::string pid = std::to_string(::getpid()) + "\n";
  if (::ftruncate(lock.get(), 0) != 0 || ::pwrite(lock.get(), pid.data(), pid.size(), 0) < 0)
    return base::os_error(errno, "writing " + lock_path);
  return DataFolder(std::move(path), std::move(lock));
}

Result<void> DataFolder::write_private(const std::string& name, std::string_view content) const {
  return base::write_durable_file(path_ + "/" + name, content);
}

Result<std::string> DataFolder::admin_token() const {
  auto there = base::read_file(token_file(), kLongestToken);
  if (there) {
    std::string token(base::trim(*there));
    if (token.size() < kShortestToken)
      return Error(ErrorCode::invalid, token_file() + " holds no token; remove it and a new one is made");
    return token;
  }
  if (there.error().code() != ErrorCode::not_found) return std::move(there).error();
  std::string token = domain::format_operator_token(domain::make_operator_token());
  if (auto written = base::write_durable_file(token_file(), token + "\n"); !written)
    return std::move(written).error();
  return token;
}

}  // namespace backend::server

#include "backend/server/passphrase.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>

#include "base/files/file_read.hpp"
#include "base/unique_fd.hpp"

namespace backend::server {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

constexpr std::size_t kLongestPassphraseFile = 4096;
constexpr std::size_t kLongestPassphrase = 1024;

Result<std::string> read_first_line(const base::UniqueFd& fd, const std::string& file, mode_t forbidden) {
  struct stat st {};
  if (::fstat(fd.get(), &st) != 0) return base::os_error(errno, file);
  if ((st.st_mode & forbidden) != 0)
    return Error(ErrorCode::permission,
                 file + ": others can read the passphrase in it; 'chmod 600 " + file + "'");
  auto text = base::read_all(fd.get(), kLongestPassphraseFile, file);
  if (!text) return text;
  std::string line = text->substr(0, text->find('\n'));
  if (line.ends_with('\r')) line.pop_back();
  if (line.empty()) return Error(ErrorCode::invalid, file + " has no passphrase in its first line");
  if (line.size() > kLongestPassphrase)
    return Error(ErrorCode::limit,
                 file + ": a passphrase has " + std::to_string(kLongestPassphrase) + " bytes at most");
  return line;
}

}  // namespace

Result<std::string> read_passphrase(const std::string& file, const std::string& credential) {
  std::string path = file;
  if (path.empty()) {
    const char* folder = std::getenv("CREDENTIALS_DIRECTORY");
    if (!folder || *folder != '/') return std::string();
    path = std::string(folder) + "/" + credential;
  }
  const base::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd && errno == ENOENT && file.empty()) return std::string();
  if (!fd) return base::os_error(errno, "the passphrase of the authority's key: " + path);
  // systemd lets a service's user in by an access list, whose mask shows as the group's bits.
  constexpr mode_t kNobodyElse = 077, kNotOthers = 07;
  return read_first_line(fd, path, file.empty() ? kNotOthers : kNobodyElse);
}

}  // namespace backend::server

#include "recipe/file_source.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

#include "base/files/file_read.hpp"
#include "base/text.hpp"
#include "base/unique_fd.hpp"

namespace recipe {

using base::Error;
using base::ErrorCode;
using base::Result;

Result<std::string> file_name_in(std::string_view folder, std::string_view name) {
  constexpr std::size_t kLongest = 1024;
  const auto refuse = [&](std::string_view why) {
    return Error(ErrorCode::invalid, "the file '" + std::string(name) + "' " + std::string(why));
  };
  if (name.empty()) return Error(ErrorCode::invalid, "the name of a file is empty");
  if (name.size() + folder.size() > kLongest)
    return Error(ErrorCode::invalid, "the name of a file is too long");
  if (name.starts_with('/')) return refuse("must be named relative to the recipe's folder");
  for (const char c : name)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      return Error(ErrorCode::invalid, "the name of a file has a control character in it");
  std::string clean(folder);
  for (const std::string_view part : base::split(name, '/')) {
    if (part.empty() || part == ".") continue;
    if (part == "..") return refuse("must be in the folder of the file that names it, or below");
    if (!clean.empty()) clean += '/';
    clean += part;
  }
  if (clean.size() == folder.size()) return refuse("is a folder");
  return clean;
}

std::string_view folder_of(std::string_view name) {
  const std::size_t slash = name.rfind('/');
  return slash == std::string_view::npos ? std::string_view() : name.substr(0, slash);
}

Result<std::string> FolderFiles::file(std::string_view name) {
  auto clean = file_name_in("", name);
  if (!clean) return std::move(clean).error();
  const std::string shown = "the file '" + *clean + "'";
  base::UniqueFd at(::open(folder_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!at) return base::os_error(errno, folder_);
  const auto parts = base::split(*clean, '/');
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const bool is_last = i + 1 == parts.size();
    const int flags = is_last ? O_RDONLY | O_NONBLOCK | O_NOCTTY : O_PATH | O_DIRECTORY;
    base::UniqueFd next(::openat(at.get(), std::string(parts[i]).c_str(), flags | O_NOFOLLOW | O_CLOEXEC));
    if (!next && errno == ELOOP)
      return Error(ErrorCode::invalid, shown + " is a link, or lies behind one; links are not followed");
    if (!next && errno == ENOTDIR) return Error(ErrorCode::not_found, shown + " is not below a plain folder");
    if (!next) return base::os_error(errno, shown);
    at = std::move(next);
  }
  struct stat st {};
  if (::fstat(at.get(), &st) != 0) return base::os_error(errno, shown);
  if (!S_ISREG(st.st_mode)) return Error(ErrorCode::invalid, shown + " is not a regular file");
  return base::read_all(at.get(), kLargestFile, shown);
}

std::shared_ptr<FileSource> files_beside(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (path == "-" || slash == std::string::npos) return std::make_shared<FolderFiles>(".");
  return std::make_shared<FolderFiles>(slash == 0 ? "/" : path.substr(0, slash));
}

}  // namespace recipe

#include "base/tree.hpp"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>

#include <climits>

#include "base/file_read.hpp"
#include "base/others.hpp"
#include "base/text.hpp"

namespace base {

namespace {

constexpr int kFolderFlags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
constexpr int kMostLinks = 40;  // as the kernel

int open_without_links(int at, const char* path) {
  open_how how{};
  how.flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
  how.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  return static_cast<int>(::syscall(SYS_openat2, at, path, &how, sizeof how));
}

// With an empty name: of the link that is open as `folder` itself.
Result<std::string> read_link_at(int folder, const std::string& name, std::string_view path) {
  std::string target(PATH_MAX, '\0');
  const ssize_t size = ::readlinkat(folder, name.c_str(), target.data(), target.size());
  if (size < 0) return os_error(errno, "cannot read the link " + std::string(path));
  target.resize(static_cast<std::size_t>(size));
  return target;
}

Error missing(std::string_view path) {
  return os_error(ENOENT, std::string(path));
}

}  // namespace

SplitPath split_path(std::string_view clean_path) {
  const std::size_t slash = clean_path.rfind('/');
  if (clean_path == "/" || slash == std::string_view::npos) return {"/", {}};
  return {slash == 0 ? std::string_view("/") : clean_path.substr(0, slash), clean_path.substr(slash + 1)};
}

Result<std::string> clean_path(std::string_view path) {
  if (!path.starts_with('/'))
    return Error(ErrorCode::invalid, "'" + std::string(path) + "' is not an absolute path");
  if (path.find('\0') != std::string_view::npos || path.size() >= PATH_MAX)
    return Error(ErrorCode::invalid, "a path must not contain NUL and must be shorter than 4096 bytes");
  std::string clean;
  clean.reserve(path.size());
  while (!path.empty()) {
    path.remove_prefix(1);  // the slash
    const std::size_t end = std::min(path.find('/'), path.size());
    const std::string_view component = path.substr(0, end);
    path.remove_prefix(end);
    if (component.empty()) continue;
    if (component == "." || component == "..")
      return Error(ErrorCode::invalid, "a path must not contain '.' or '..' as a component");
    if (component.size() > NAME_MAX)
      return Error(ErrorCode::invalid, "a component of a path must not be longer than 255 bytes");
    clean.append("/").append(component);
  }
  if (clean.empty()) clean = "/";
  return clean;
}

Tree::Tree(std::string root) : root_(std::move(root)) {
  root_fd_.reset(::open(root_.empty() ? "/" : root_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
}

void Tree::forget() {
  known_.clear();
}

Result<int> Tree::folder(std::string_view path) {
  if (!root_fd_) return missing(root_);
  if (path == "/") return root_fd_.get();
  for (std::size_t i = known_.size(); i-- > 0;) {
    if (known_[i].path != path) continue;
    std::rotate(known_.begin() + static_cast<std::ptrdiff_t>(i),
                known_.begin() + static_cast<std::ptrdiff_t>(i) + 1, known_.end());
    return known_.back().fd.get();
  }
  auto opened = open_folder(path);
  if (!opened) return std::move(opened).error();
  if (known_.size() == kKeptFolders) known_.erase(known_.begin());
  known_.push_back({std::string(path), std::move(*opened)});
  return known_.back().fd.get();
}

Result<UniqueFd> Tree::open_folder(std::string_view path) {
  const std::string relative(path.substr(1));
  UniqueFd fd(open_without_links(root_fd_.get(), relative.c_str()));
  if (fd) return fd;
  if (errno == ENOENT) return missing(path);
  // A link on the way, something that is not a folder, or a kernel without openat2: look at each component.
  return walk(path);
}

Result<UniqueFd> Tree::walk(std::string_view path) {
  std::deque<std::string> rest;
  for (std::string_view component : split(path.substr(1), '/'))
    rest.emplace_back(component);
  std::vector<UniqueFd> way;  // the folders from the root down, for ".." in links
  std::string at;
  int links = 0;
  const auto current = [&] { return way.empty() ? root_fd_.get() : way.back().get(); };
  while (!rest.empty()) {
    const std::string name = std::move(rest.front());
    rest.pop_front();
    if (name.empty() || name == ".") continue;
    if (name == "..") {
      if (!way.empty()) way.pop_back();
      at.resize(std::min(at.rfind('/'), at.size()));
      continue;
    }
    const std::string here = at + "/" + name;
    UniqueFd next(::openat(current(), name.c_str(), kFolderFlags));
    if (next) {
      way.push_back(std::move(next));
      at = here;
      continue;
    }
    if (errno != ELOOP && errno != ENOTDIR) return os_error(errno, here);
    // The link is opened, so that the one that is judged is the one that is read, however fast it is swapped.
    const UniqueFd link(::openat(current(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    struct stat st {};
    if (!link || ::fstat(link.get(), &st) != 0) return os_error(errno, here);
    if (S_ISDIR(st.st_mode)) {  // swapped just now: look again, but not forever
      if (++links > kMostLinks) return os_error(ELOOP, here);
      rest.push_front(name);
      continue;
    }
    if (!S_ISLNK(st.st_mode)) return Error(ErrorCode::exists, here + " is not a directory");
    if (st.st_uid != 0 && st.st_uid != ::geteuid())
      return Error(ErrorCode::permission, "not following the symlink " + here + ": it belongs to uid " +
                                              std::to_string(st.st_uid) + ", who could point it anywhere");
    struct stat in {};
    if (::fstat(current(), &in) != 0) return os_error(errno, here);
    if (const std::string how = how_others_write_to(current(), in); !how.empty())
      return Error(ErrorCode::permission, "not following the symlink " + here + ": the folder it is in " +
                                              how +
                                              ", so that others could put another in its place; give the "
                                              "path without it");
    if (++links > kMostLinks) return os_error(ELOOP, here);
    auto target = read_link_at(link.get(), {}, here);
    if (!target) return std::move(target).error();
    if (target->starts_with('/')) {
      way.clear();
      at.clear();
    }
    const auto parts = split(*target, '/');
    for (auto part = parts.rbegin(); part != parts.rend(); ++part)
      rest.emplace_front(*part);
  }
  if (!way.empty()) return std::move(way.back());
  UniqueFd copy(::fcntl(root_fd_.get(), F_DUPFD_CLOEXEC, 0));
  if (!copy) return os_error(errno, std::string(path));
  return copy;
}

Result<std::optional<struct stat>> Tree::look(std::string_view path) {
  const SplitPath parts = split_path(path);
  auto in = folder(parts.folder);
  if (!in) {
    if (in.error().code() == ErrorCode::not_found) return std::optional<struct stat>();
    return std::move(in).error();
  }
  struct stat st {};
  const std::string name(parts.name);
  if (::fstatat(*in, name.c_str(), &st, AT_SYMLINK_NOFOLLOW | (name.empty() ? AT_EMPTY_PATH : 0)) == 0)
    return std::optional(st);
  if (errno == ENOENT) return std::optional<struct stat>();
  return os_error(errno, std::string(path));
}

Result<UniqueFd> Tree::open_file(std::string_view path) {
  const SplitPath parts = split_path(path);
  auto in = folder(parts.folder);
  if (!in) return std::move(in).error();
  UniqueFd fd(::openat(*in, std::string(parts.name).c_str(),
                       O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!fd) return os_error(errno, std::string(path));
  return fd;
}

Result<bool> Tree::has_content(std::string_view path, std::string_view content) {
  constexpr std::size_t kBuffer = 64 * 1024;
  auto file = open_file(path);
  if (!file) return std::move(file).error();
  buffer_.resize(kBuffer);
  while (true) {
    const ssize_t got = ::read(file->get(), buffer_.data(), kBuffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return os_error(errno, std::string(path));
    const auto size = static_cast<std::size_t>(got);
    if (size > content.size() || std::memcmp(buffer_.data(), content.data(), size) != 0) return false;
    content.remove_prefix(size);
    if (size < kBuffer) return content.empty();  // the end of a regular file
  }
}

Result<std::string> Tree::read(std::string_view path, std::size_t limit) {
  auto file = open_file(path);
  if (!file) return std::move(file).error();
  return read_all(file->get(), limit, std::string(path));
}

Result<std::string> Tree::read_link(std::string_view path) {
  const SplitPath parts = split_path(path);
  auto in = folder(parts.folder);
  if (!in) return std::move(in).error();
  return read_link_at(*in, std::string(parts.name), path);
}

}  // namespace base

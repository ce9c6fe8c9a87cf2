#include "base/tree/tree.hpp"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include <climits>

#include "base/files/file_read.hpp"
#include "base/text.hpp"

namespace base {

namespace {

constexpr std::size_t kBuffer = 64 * 1024;

int open_without_links(int root, std::string_view path, int flags) {
  open_how how{};
  how.flags = static_cast<std::uint64_t>(flags | O_CLOEXEC);
  how.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  const std::string relative(path.substr(1));
  return static_cast<int>(::syscall(SYS_openat2, root, relative.c_str(), &how, sizeof how));
}

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

Error not_known(std::string_view path) {
  return {ErrorCode::unsupported, std::string(path) + " depends on what an earlier state does"};
}

Error not_read_to_its_end(std::string_view path) {
  return {ErrorCode::cancelled, "stopped while reading " + std::string(path)};
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

Tree::Tree(std::string root) : root_(std::move(root)), no_root_(missing(root_)) {
  auto way = walk_way(root_.empty() ? "/" : root_);
  if (way)
    root_fd_ = std::move(way->end);
  else
    no_root_ = std::move(way).error();
}

void Tree::forget() {
  known_.clear();
}

void Tree::foresee(PlannedPaths* planned) {
  planned_ = planned;
  forget();
}

// What is planned for a path comes before what is there.
Result<void> Tree::check(std::string_view path, PlannedPaths::Use use) {
  if (!planned_) return {};
  switch (planned_->answer(path, use)) {
    case PlannedPaths::Answer::as_it_is:
      return {};
    case PlannedPaths::Answer::missing:
      return missing(path);
    case PlannedPaths::Answer::not_known:
      break;
  }
  return not_known(path);
}

// What is missing now.
Result<void> Tree::check_missing(std::string_view path, bool has_folder) {
  if (!planned_ || !planned_->may_appear(real_path(path), has_folder)) return {};
  return not_known(path);
}

// Links lead to other paths, for which something may be planned: a folder that is not there yet, too.
WayRules Tree::rules(PlannedPaths::Use use) {
  if (!planned_) return {};
  return {.foresee = [this, at_least = std::max(use, PlannedPaths::Use::content)](const std::string& path,
                                                                                  bool) -> Result<void> {
    if (auto fine = check(path, at_least); !fine) return fine;
    // Whether a link is followed depends on who may write to the folder that it is in.
    char first = 0;
    const bool is_link = ::readlinkat(root_fd_.get(), path.c_str() + 1, &first, 1) >= 0;
    return is_link ? check(split_path(path).folder, PlannedPaths::Use::all) : Result<void>();
  }};
}

Result<int> Tree::folder(std::string_view path) {
  if (!root_fd_) return no_root_;
  if (path == "/") return root_fd_.get();
  if (auto fine = check(path, PlannedPaths::Use::way); !fine) return std::move(fine).error();
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
  UniqueFd fd(open_without_links(root_fd_.get(), path, O_PATH | O_DIRECTORY));
  if (fd) return fd;
  if (errno == ENOENT) return missing(path);
  // A link on the way, something that is not a folder, or a kernel without openat2: look at each component.
  auto way = walk_way(root_fd_.get(), path, rules(PlannedPaths::Use::way));
  if (!way) return std::move(way).error();
  return std::move(way->end);
}

std::string Tree::real_path(std::string_view path) {
  const SplitPath parts = split_path(path);
  if (!root_fd_ || parts.name.empty()) return std::string(path);
  std::string folder(parts.folder);
  if (folder != "/" && !UniqueFd(open_without_links(root_fd_.get(), folder, O_PATH | O_DIRECTORY))) {
    // No link comes before what is missing.
    auto way = errno == ENOENT ? Result<Way>(missing(folder))
                               : walk_way(root_fd_.get(), folder, rules(PlannedPaths::Use::way));
    folder = way ? way->path : real_path(folder);
  }
  return (folder == "/" ? "" : folder) + "/" + std::string(parts.name);
}

bool Tree::leads_through_itself(std::string_view path) {
  const std::string real = real_path(path);
  if (!root_fd_ || real == path) return false;
  bool passes = false;
  WayRules rules;
  rules.foresee = [&](const std::string& at, bool) {
    passes = passes || at == real;
    return Result<void>();
  };
  (void)walk_way(root_fd_.get(), split_path(path).folder, rules);
  return passes;
}

Result<std::string> Tree::link_destination(std::string_view link) {
  auto target = read_link(link);
  if (!target) return target;
  std::vector<std::string_view> parts;
  const std::string real = real_path(link);
  const std::string folder(target->starts_with('/') ? "/" : split_path(real).folder);
  for (const std::string_view text : {std::string_view(folder), std::string_view(*target)})
    for (const std::string_view part : split(text, '/')) {
      if (part.empty() || part == ".") continue;
      if (part != "..")
        parts.push_back(part);
      else if (!parts.empty())
        parts.pop_back();
    }
  std::string path;
  for (const std::string_view part : parts)
    path.append("/").append(part);
  return path.empty() ? "/" : path;
}

std::string Tree::real_end(std::string_view path) {
  if (!root_fd_) return {};
  const auto way = walk_way(root_fd_.get(), path, {.may_end_in_file = true});
  return way ? way->path : std::string();
}

Result<UniqueFd> Tree::follow(std::string_view path, std::optional<uid_t> also) {
  if (!root_fd_) return no_root_;
  const auto clean = clean_path(path);
  const auto not_there = [&]() -> Error {
    const bool has_folder = planned_ && clean && folder(split_path(*clean).folder);
    auto fine = clean ? check_missing(*clean, has_folder) : Result<void>();
    return fine ? missing(path) : std::move(fine).error();
  };
  if (clean && *clean != "/") {
    if (auto fine = check(*clean, PlannedPaths::Use::content); !fine) return std::move(fine).error();
    UniqueFd fd(open_without_links(root_fd_.get(), *clean, O_PATH));
    if (fd) return fd;
    if (errno == ENOENT) return not_there();
  }
  WayRules rules = this->rules(PlannedPaths::Use::content);
  rules.also = also;
  rules.may_end_in_file = true;
  auto way = walk_way(root_fd_.get(), path, rules);
  if (!way && planned_ && way.error().code() == ErrorCode::not_found) return not_there();
  if (!way) return std::move(way).error();
  return std::move(way->end);
}

Result<std::string> Tree::followed_path(std::string_view path) {
  if (!root_fd_) return no_root_;
  auto way = walk_way(root_fd_.get(), path, {.may_end_in_file = true});
  if (!way) return std::move(way).error();
  return std::move(way->path);
}

// The same for what is at the end of a path. Only a plan asks, so it may cost a look at the folder.
Result<void> Tree::check_end(std::string_view path) {
  return planned_ ? check(real_path(path), PlannedPaths::Use::all) : Result<void>();
}

Result<std::optional<struct stat>> Tree::look(std::string_view path) {
  const SplitPath parts = split_path(path);
  auto planned = check_end(path);
  auto in = planned ? folder(parts.folder) : Result<int>(std::move(planned).error());
  const auto without_folder = [&]() -> Result<std::optional<struct stat>> {
    if (in.error().code() != ErrorCode::not_found) return std::move(in).error();
    if (auto fine = check_missing(path, false); !fine) return std::move(fine).error();
    return std::optional<struct stat>();
  };
  if (!in) return without_folder();
  struct stat st {};
  const std::string name(parts.name);
  const auto found = [&] {
    return ::fstatat(*in, name.c_str(), &st, AT_SYMLINK_NOFOLLOW | (name.empty() ? AT_EMPTY_PATH : 0)) == 0;
  };
  if (found()) return std::optional(st);
  // The folder that we kept open is another one on its server by now.
  if (errno == ESTALE && parts.folder != "/") {
    forget();
    in = folder(parts.folder);
    if (!in) return without_folder();
    if (found()) return std::optional(st);
  }
  if (errno != ENOENT) return os_error(errno, std::string(path));
  if (auto fine = check_missing(path, true); !fine) return std::move(fine).error();
  return std::optional<struct stat>();
}

Result<UniqueFd> Tree::open_file(std::string_view path) {
  const SplitPath parts = split_path(path);
  if (auto fine = check_end(path); !fine) return std::move(fine).error();
  auto in = folder(parts.folder);
  if (!in) return std::move(in).error();
  UniqueFd fd(::openat(*in, std::string(parts.name).c_str(),
                       O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!fd) return os_error(errno, std::string(path));
  return fd;
}

Result<bool> Tree::has_content(std::string_view path, std::string_view content) {
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
    // Less than was asked for is the end of a regular file; network file systems may give less before it.
    if (size == 0 || (size < kBuffer && content.empty())) return content.empty();
    if (is_to_stop()) return not_read_to_its_end(path);
  }
}

Result<std::string> Tree::read(std::string_view path, std::size_t limit) {
  auto file = open_file(path);
  if (!file) return std::move(file).error();
  return read_all(file->get(), limit, std::string(path));
}

Result<void> Tree::read_pieces(std::string_view path, const std::function<void(std::string_view)>& each) {
  auto file = open_file(path);
  if (!file) return std::move(file).error();
  struct stat st {};
  if (::fstat(file->get(), &st) != 0) return os_error(errno, std::string(path));
  if (!S_ISREG(st.st_mode)) return Error(ErrorCode::exists, std::string(path) + " is not a regular file");
  buffer_.resize(kBuffer);
  // Whoever writes to it faster than we read must not keep us for ever.
  constexpr std::uint64_t kGrowth = 64UL * 1024 * 1024;
  const std::uint64_t most = 2 * static_cast<std::uint64_t>(st.st_size) + kGrowth;
  for (std::uint64_t total = 0;;) {
    const ssize_t got = ::read(file->get(), buffer_.data(), kBuffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return os_error(errno, std::string(path));
    if (got == 0) return {};
    total += static_cast<std::uint64_t>(got);
    if (total > most) return Error(ErrorCode::limit, std::string(path) + " grows while it is read");
    each({buffer_.data(), static_cast<std::size_t>(got)});
    if (static_cast<std::size_t>(got) == kBuffer && is_to_stop()) return not_read_to_its_end(path);
  }
}

Result<std::string> Tree::read_link(std::string_view path) {
  const SplitPath parts = split_path(path);
  if (auto fine = check_end(path); !fine) return std::move(fine).error();
  auto in = folder(parts.folder);
  if (!in) return std::move(in).error();
  return read_link_at(*in, std::string(parts.name), path);
}

}  // namespace base

#include "base/files/way.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <deque>
#include <vector>

#include <climits>

#include "base/files/others.hpp"
#include "base/text.hpp"

namespace base {

namespace {

constexpr int kMostLinks = 40;  // as the kernel

std::string shown(const std::string& path) {
  return path.empty() ? "/" : path;
}

class Walk {
 public:
  Walk(int root, std::string_view path, const WayRules& rules) : root_(root), rules_(rules) { prepend(path); }

  Result<Way> run() {
    while (!rest_.empty()) {
      const std::string name = std::move(rest_.front());
      rest_.pop_front();
      if (name == "..") {
        if (!folders_.empty()) folders_.pop_back();
        at_.resize(std::min(at_.rfind('/'), at_.size()));
        continue;
      }
      auto file = step(name);
      if (!file) return std::move(file).error();
      if (*file) return Way{std::move(*file), at_ + "/" + name};
    }
    UniqueFd end =
        folders_.empty() ? UniqueFd(::fcntl(root_, F_DUPFD_CLOEXEC, 0)) : std::move(folders_.back());
    if (!end) return os_error(errno, shown(at_));
    return Way{std::move(end), shown(at_)};
  }

 private:
  int current() const { return folders_.empty() ? root_ : folders_.back().get(); }

  void prepend(std::string_view path) {
    const auto parts = split(path, '/');
    for (auto part = parts.rbegin(); part != parts.rend(); ++part)
      if (!part->empty() && *part != ".") rest_.emplace_front(*part);
  }

  Result<UniqueFd> open(const std::string& name, const std::string& here) {
    constexpr int kFlags = O_PATH | O_NOFOLLOW | O_CLOEXEC;
    UniqueFd fd(::openat(current(), name.c_str(), kFlags));
    if (!fd && errno == ENOENT && rules_.make) {
      if (auto made = rules_.make(current(), name, rest_.empty()); !made)
        return std::move(made).error().with_context("creating " + here);
      fd.reset(::openat(current(), name.c_str(), kFlags));
    }
    if (!fd) return os_error(errno, here);
    return fd;
  }

  // One component further. A descriptor when that is the end, and no folder.
  Result<UniqueFd> step(const std::string& name) {
    const std::string here = at_ + "/" + name;
    if (rules_.judge)
      if (auto fine = rules_.judge(current(), shown(at_)); !fine) return std::move(fine).error();
    if (rules_.foresee)
      if (auto fine = rules_.foresee(here, rest_.empty()); !fine) return std::move(fine).error();
    auto next = open(name, here);
    if (!next) return next;
    struct stat st {};
    if (::fstat(next->get(), &st) != 0) return os_error(errno, here);
    if (S_ISDIR(st.st_mode)) {
      folders_.push_back(std::move(*next));
      at_ = here;
      return UniqueFd();
    }
    if (!S_ISLNK(st.st_mode)) {
      if (rules_.may_end_in_file && rest_.empty()) return next;
      return Error(ErrorCode::exists, here + " is not a directory");
    }
    if (auto followed = follow(next->get(), st, here); !followed) return std::move(followed).error();
    return UniqueFd();
  }

  Result<void> follow(int link, const struct stat& st, const std::string& here) {
    if (st.st_uid != 0 && st.st_uid != ::geteuid() && st.st_uid != rules_.also)
      return Error(ErrorCode::permission, "not following the symlink " + here + ": it belongs to uid " +
                                              std::to_string(st.st_uid) + ", who could point it anywhere");
    struct stat in {};
    if (::fstat(current(), &in) != 0) return os_error(errno, here);
    if (const std::string how = how_others_write_to(current(), in, rules_.also); !how.empty())
      return Error(ErrorCode::permission, "not following the symlink " + here + ": the folder it is in " +
                                              how +
                                              ", so that others could put another in its place; give the "
                                              "path without it");
    if (++links_ > kMostLinks) return os_error(ELOOP, here);
    std::string target(PATH_MAX, '\0');
    const ssize_t size = ::readlinkat(link, "", target.data(), target.size());
    if (size < 0) return os_error(errno, "cannot read the link " + here);
    target.resize(static_cast<std::size_t>(size));
    if (target.starts_with('/')) {
      folders_.clear();
      at_.clear();
    }
    prepend(target);
    return {};
  }

  const int root_;
  const WayRules& rules_;
  std::deque<std::string> rest_;
  std::vector<UniqueFd> folders_;  // from the root down, for ".."
  std::string at_;                 // the path of the last of them; "" is the root
  int links_ = 0;
};

}  // namespace

Result<Way> walk_way(int root, std::string_view path, const WayRules& rules) {
  return Walk(root, path, rules).run();
}

Result<Way> walk_way(std::string_view path, const WayRules& rules) {
  std::string absolute(path);
  if (!path.starts_with('/')) {
    std::string here(PATH_MAX, '\0');
    if (!::getcwd(here.data(), here.size()) || here[0] != '/')
      return os_error(errno, "the working folder, for " + std::string(path));
    absolute = std::string(here.c_str()) + "/" + absolute;
  }
  const UniqueFd root(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!root) return os_error(errno, "/");
  return walk_way(root.get(), absolute, rules);
}

}  // namespace base

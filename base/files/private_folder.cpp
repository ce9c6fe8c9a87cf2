#include "base/files/private_folder.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/files/others.hpp"

namespace base {

namespace {

Error distrust(const std::string& folder, const std::string& how, const std::string& path) {
  return Error(ErrorCode::permission,
               folder + " " + how + ", so what is in " + path +
                   " cannot be trusted; choose a folder that only its user can write to");
}

Result<struct stat> look_at(int folder, const std::string& path) {
  struct stat st {};
  if (::fstat(folder, &st) != 0) return os_error(errno, path);
  return st;
}

}  // namespace

Result<Way> open_guarded_folder(const std::string& path, std::optional<mode_t> make) {
  WayRules rules;
  rules.judge = [&](int folder, const std::string& at) -> Result<void> {
    const auto st = look_at(folder, at);
    if (!st) return st.error();
    const std::string how = how_others_write_to(folder, *st);
    // In a sticky folder such as /tmp nobody can rename what is not his, unless the folder is.
    const bool is_sticky = (st->st_mode & S_ISVTX) != 0 && (st->st_uid == 0 || st->st_uid == ::geteuid());
    if (how.empty() || is_sticky) return {};
    return distrust(at, how, path);
  };
  if (make)
    rules.make = [&](int folder, const std::string& name, bool is_last) -> Result<void> {
      if (::mkdirat(folder, name.c_str(), is_last ? *make : 0755) == 0 || errno == EEXIST) return {};
      return os_error(errno, name);
    };
  auto way = walk_way(path, rules);
  if (!way) return way;
  const auto st = look_at(way->end.get(), way->path);
  if (!st) return st.error();
  if (const std::string how = how_others_write_to(way->end.get(), *st); !how.empty())
    return distrust(way->path, how, path);
  return way;
}

Result<Way> make_private_folder(const std::string& path, mode_t mode) {
  auto way = open_guarded_folder(path, mode);
  if (!way) return way;
  const auto st = look_at(way->end.get(), way->path);
  if (!st) return st.error();
  if (st->st_uid != ::geteuid())
    return distrust(way->path, "belongs to uid " + std::to_string(st->st_uid), path);
  return way;
}

}  // namespace base

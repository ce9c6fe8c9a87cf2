#include "states/language_packages/runner.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/files/others.hpp"
#include "base/files/way.hpp"
#include "base/tree/tree.hpp"

namespace states::language_packages {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

// The folder, or the nearest one above it that is there.
Result<std::string> nearest_present(std::string_view folder, Context& context) {
  std::string path(folder);
  while (true) {
    auto found = context.tree.look(path);
    if (!found) return std::move(found).error();
    if (*found) return path;
    path = base::split_path(path).folder;
  }
}

}  // namespace

void Runner::prepare(base::Command& command) const {
  command.identity = identity;
  command.env = base::clean_environment(home);
}

Result<Runner> runner_in(std::string_view folder, Context& context) {
  auto present = nearest_present(folder, context);
  if (!present) return std::move(present).error();
  auto found = context.tree.follow(*present);
  if (!found) return std::move(found).error();
  struct stat st {};
  if (::fstat(found->get(), &st) != 0) return base::os_error(errno, *present);
  if (!S_ISDIR(st.st_mode)) return Error(ErrorCode::exists, *present + " is not a folder");
  // What is made in /tmp is ours.
  const bool is_sticky = (st.st_mode & S_ISVTX) != 0 && st.st_uid == 0 && *present != folder;
  const uid_t owner = is_sticky ? ::geteuid() : st.st_uid;
  const std::string way(is_sticky ? base::split_path(*present).folder : std::string_view(*present));
  if (auto checked = check_owned_way(way, owner, context); !checked) return std::move(checked).error();
  Runner runner{.uid = owner, .gid = is_sticky ? ::getegid() : st.st_gid};
  const base::User* user = context.accounts.user_by_id(owner);
  if (user && !user->home.empty()) runner.home = user->home;
  if (owner == ::geteuid()) return runner;
  if (!user)
    return Error(ErrorCode::permission,
                 *present + " belongs to uid " + std::to_string(owner) +
                     ", which is no account of this machine, so no program is run there");
  runner.identity = context.accounts.identity_of(*user);
  runner.gid = user->gid;
  return runner;
}

Result<void> check_owned_way(const std::string& path, uid_t owner, const Context& context) {
  if (!context.host.is_running_system()) return {};
  const auto judge = [&](int folder, const std::string& at, bool is_end) -> Result<void> {
    struct stat st {};
    if (::fstat(folder, &st) != 0) return base::os_error(errno, at);
    const std::string how = base::how_others_write_to(folder, st, owner);
    // In a sticky folder such as /tmp nobody can rename what is not his.
    const bool is_sticky = (st.st_mode & S_ISVTX) != 0 && st.st_uid == 0;
    if (how.empty() || (is_sticky && !is_end)) return {};
    return Error(ErrorCode::permission, at + " " + how + ", so nothing is run in or from " + path +
                                            ": only its owner, and root, may be able to write there");
  };
  base::WayRules rules{.also = owner, .may_end_in_file = true};
  rules.judge = [&](int folder, const std::string& at) { return judge(folder, at, false); };
  auto way = base::walk_way(path, rules);
  if (!way) return std::move(way).error();
  return judge(way->end.get(), way->path, true);
}

}  // namespace states::language_packages

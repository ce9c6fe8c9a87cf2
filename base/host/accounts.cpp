#include "base/host/accounts.hpp"

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <functional>
#include <memory>

#include "base/files/below_root.hpp"
#include "base/text.hpp"

namespace base {

namespace {

// Not every source of accounts fills every field.
std::string text_of(const char* field) {
  return field ? field : "";
}

User user_from(const passwd& entry) {
  return {text_of(entry.pw_name),  entry.pw_uid,          entry.pw_gid,
          text_of(entry.pw_gecos), text_of(entry.pw_dir), text_of(entry.pw_shell)};
}

Group group_from(const group& entry) {
  Group found{text_of(entry.gr_name), entry.gr_gid, {}};
  for (char** member = entry.gr_mem; member && *member; ++member)
    found.members.emplace_back(*member);
  return found;
}

// Calls one of the getXXX_r functions with a buffer that is large enough.
template <class Record, class Entry, class Call>
std::optional<Record> look_up(Call call, Record (*convert)(const Entry&)) {
  constexpr std::size_t kLargest = 4 * 1024 * 1024;  // groups with very many members
  for (std::size_t size = 4096; size <= kLargest; size *= 4) {
    std::vector<char> buffer(size);
    Entry entry{};
    Entry* found = nullptr;
    const int error = call(&entry, buffer.data(), buffer.size(), &found);
    if (error == ERANGE) continue;
    return found ? std::optional<Record>(convert(*found)) : std::nullopt;
  }
  return std::nullopt;
}

using File = std::unique_ptr<FILE, int (*)(FILE*)>;

// <root>/etc/passwd or group; null when it cannot be read. Another root may be somebody's who puts a pipe
// there, or a file without an end.
File open_accounts(const std::string& root, std::string_view path) {
  constexpr off_t kLargest = 256 * 1024 * 1024;  // millions of accounts
  UniqueFd fd = open_below(root, path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
  struct stat st {};
  if (!fd || ::fstat(fd.get(), &st) != 0 || !S_ISREG(st.st_mode) || st.st_size > kLargest)
    return {nullptr, std::fclose};
  File file(::fdopen(fd.get(), "r"), std::fclose);
  if (file) [[maybe_unused]]
    const int given = fd.release();
  return file;
}

// The first entry of <root>/etc/passwd or group that `is_it`.
template <class Record, class Entry>
std::optional<Record> scan(const std::string& root, std::string_view path, Entry* (*next)(FILE*),
                           Record (*convert)(const Entry&), const std::function<bool(const Entry&)>& is_it) {
  const File file = open_accounts(root, path);
  if (!file) return std::nullopt;
  while (const Entry* entry = next(file.get()))
    if (is_it(*entry)) return convert(*entry);
  return std::nullopt;
}

// The largest id is reserved: chown takes it as "leave it".
template <class Id>
std::optional<Id> parse_id(std::string_view text) {
  const auto number = parse_integer(text);
  if (!number || *number < 0 || *number >= static_cast<Id>(-1)) return std::nullopt;
  return static_cast<Id>(*number);
}

}  // namespace

const User* Accounts::user(std::string_view name) {
  auto found = users_.find(name);
  if (found == users_.end()) {
    const std::string key(name);
    auto looked_up =
        root_.empty()
            ? look_up<User, passwd>([&](auto... rest) { return getpwnam_r(key.c_str(), rest...); }, user_from)
            : scan<User, passwd>(root_, "/etc/passwd", fgetpwent, user_from,
                                 [&](const passwd& entry) { return key == entry.pw_name; });
    found = users_.emplace(key, std::move(looked_up)).first;
  }
  return found->second ? &*found->second : nullptr;
}

const Group* Accounts::group(std::string_view name) {
  auto found = groups_.find(name);
  if (found == groups_.end()) {
    const std::string key(name);
    auto looked_up = root_.empty()
                         ? look_up<Group, ::group>(
                               [&](auto... rest) { return getgrnam_r(key.c_str(), rest...); }, group_from)
                         : scan<Group, ::group>(root_, "/etc/group", fgetgrent, group_from,
                                                [&](const ::group& entry) { return key == entry.gr_name; });
    found = groups_.emplace(key, std::move(looked_up)).first;
  }
  return found->second ? &*found->second : nullptr;
}

const User* Accounts::user_by_id(uid_t uid) {
  auto found = users_by_id_.find(uid);
  if (found == users_by_id_.end()) {
    auto looked_up =
        root_.empty()
            ? look_up<User, passwd>([&](auto... rest) { return getpwuid_r(uid, rest...); }, user_from)
            : scan<User, passwd>(root_, "/etc/passwd", fgetpwent, user_from,
                                 [&](const passwd& entry) { return uid == entry.pw_uid; });
    found = users_by_id_.emplace(uid, std::move(looked_up)).first;
  }
  return found->second ? &*found->second : nullptr;
}

const Group* Accounts::group_by_id(gid_t gid) {
  auto found = groups_by_id_.find(gid);
  if (found == groups_by_id_.end()) {
    auto looked_up =
        root_.empty()
            ? look_up<Group, ::group>([&](auto... rest) { return getgrgid_r(gid, rest...); }, group_from)
            : scan<Group, ::group>(root_, "/etc/group", fgetgrent, group_from,
                                   [&](const ::group& entry) { return gid == entry.gr_gid; });
    found = groups_by_id_.emplace(gid, std::move(looked_up)).first;
  }
  return found->second ? &*found->second : nullptr;
}

std::optional<uid_t> Accounts::uid_of(std::string_view name_or_number) {
  if (const User* found = user(name_or_number)) return found->uid;
  return parse_id<uid_t>(name_or_number);
}

std::optional<gid_t> Accounts::gid_of(std::string_view name_or_number) {
  if (const Group* found = group(name_or_number)) return found->gid;
  return parse_id<gid_t>(name_or_number);
}

std::string Accounts::user_name(uid_t uid) {
  const User* found = user_by_id(uid);
  return found ? found->name : std::to_string(uid);
}

std::string Accounts::group_name(gid_t gid) {
  const Group* found = group_by_id(gid);
  return found ? found->name : std::to_string(gid);
}

std::vector<Group> Accounts::groups_of(std::string_view user) {
  std::vector<Group> found;
  const auto is_member = [&](const Group& candidate) {
    for (const std::string& member : candidate.members)
      if (member == user) return true;
    return false;
  };
  // The files are the truth for what useradd and usermod change; NSS sources beside them cannot be changed by
  // us.
  const File file = open_accounts(root_, "/etc/group");
  while (const ::group* entry = file ? fgetgrent(file.get()) : nullptr) {
    Group candidate = group_from(*entry);
    if (is_member(candidate)) found.push_back(std::move(candidate));
  }
  return found;
}

Identity Accounts::identity_of(const User& user) {
  Identity identity{user.uid, user.gid, {}};
  int count = 32;
  identity.groups.resize(static_cast<std::size_t>(count));
  if (getgrouplist(user.name.c_str(), user.gid, identity.groups.data(), &count) < 0) {
    identity.groups.resize(static_cast<std::size_t>(count));
    getgrouplist(user.name.c_str(), user.gid, identity.groups.data(), &count);
  }
  identity.groups.resize(static_cast<std::size_t>(count));
  return identity;
}

void Accounts::forget() {
  users_.clear();
  groups_.clear();
  users_by_id_.clear();
  groups_by_id_.clear();
}

}  // namespace base

#include "base/host/accounts.hpp"

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>

#include <algorithm>
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

template <class Record>
using Found = Result<std::optional<Record>>;

// What the manual names besides 0 for "there is none". Sources that are not installed answer so, too.
bool says_none(int error) {
  return error == 0 || error == ENOENT || error == ESRCH || error == EBADF || error == EPERM;
}

// Calls one of the getXXX_r functions with a buffer that is large enough.
template <class Record, class Entry, class Call>
Found<Record> look_up(Call call, Record (*convert)(const Entry&)) {
  constexpr std::size_t kLargest = 4 * 1024 * 1024;  // groups with very many members
  constexpr int kMostInterruptions = 100;
  int interruptions = 0;
  for (std::size_t size = 4096; size <= kLargest;) {
    std::vector<char> buffer(size);
    Entry entry{};
    Entry* found = nullptr;
    const int error = call(&entry, buffer.data(), buffer.size(), &found);
    if (found) return std::optional<Record>(convert(*found));
    if (error == EINTR && ++interruptions < kMostInterruptions) continue;
    if (error != ERANGE && says_none(error)) return std::optional<Record>();
    if (error != ERANGE) return os_error(error, "accounts cannot be looked up");
    size *= 4;
  }
  return Error(ErrorCode::limit, "accounts cannot be looked up: an entry has more than 4 MiB");
}

using File = std::unique_ptr<FILE, int (*)(FILE*)>;

// <root>/etc/passwd or group; null when there is none. Another root may be somebody's who puts a pipe there,
// or a file without an end: those count as none.
Result<File> open_accounts(const std::string& root, std::string_view path) {
  constexpr off_t kLargest = 256 * 1024 * 1024;  // millions of accounts
  errno = 0;
  UniqueFd fd = open_below(root, path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
  if (!fd && errno != 0 && errno != ENOENT && errno != ENOTDIR && errno != ELOOP)
    return os_error(errno, "accounts cannot be looked up in " + root + std::string(path));
  struct stat st {};
  if (!fd || ::fstat(fd.get(), &st) != 0 || !S_ISREG(st.st_mode) || st.st_size > kLargest)
    return File(nullptr, std::fclose);
  File file(::fdopen(fd.get(), "r"), std::fclose);
  if (file) [[maybe_unused]]
    const int given = fd.release();
  return file;
}

// Every entry of <root>/etc/passwd or group, until `visit` says that it has what it wants.
template <class Entry, class Visit>
Result<void> for_each_entry(const std::string& root, std::string_view path, Entry* (*next)(FILE*),
                            Visit visit) {
  const auto file = open_accounts(root, path);
  if (!file) return file.error();
  if (!*file) return {};
  while (const Entry* entry = next(file->get()))
    if (visit(*entry)) return {};
  if (std::ferror(file->get()) != 0)
    return os_error(EIO, "accounts cannot be looked up in " + root + std::string(path));
  return {};
}

// The first entry that `is_it`.
template <class Record, class Entry>
Found<Record> scan(const std::string& root, std::string_view path, Entry* (*next)(FILE*),
                   Record (*convert)(const Entry&), const std::function<bool(const Entry&)>& is_it) {
  std::optional<Record> found;
  auto read = for_each_entry<Entry>(root, path, next, [&](const Entry& entry) {
    if (is_it(entry)) found = convert(entry);
    return found.has_value();
  });
  if (!read) return std::move(read).error();
  return found;
}

// The largest id is reserved: chown takes it as "leave it".
template <class Id>
std::optional<Id> parse_id(std::string_view text) {
  const auto number = parse_integer(text);
  if (!number || *number < 0 || *number >= static_cast<Id>(-1)) return std::nullopt;
  return static_cast<Id>(*number);
}

}  // namespace

template <class Key, class Record, class Find>
const Record* Accounts::known(Known<Key, Record>& records, const Key& key, Find find) {
  auto at = records.find(key);
  if (at == records.end()) {
    Found<Record> looked_up = find();
    if (!looked_up) {
      if (!problem_) problem_ = std::move(looked_up).error();
      return nullptr;
    }
    at = records.emplace(key, std::move(*looked_up)).first;
  }
  return at->second ? &*at->second : nullptr;
}

const User* Accounts::user(std::string_view name) {
  const std::string key(name);
  return known(users_, key, [&] {
    return root_.empty() ? look_up<User, passwd>(
                               [&](auto... rest) { return getpwnam_r(key.c_str(), rest...); }, user_from)
                         : scan<User, passwd>(root_, "/etc/passwd", fgetpwent, user_from,
                                              [&](const passwd& entry) { return key == entry.pw_name; });
  });
}

const Group* Accounts::group(std::string_view name) {
  const std::string key(name);
  return known(groups_, key, [&] {
    return root_.empty() ? look_up<Group, ::group>(
                               [&](auto... rest) { return getgrnam_r(key.c_str(), rest...); }, group_from)
                         : scan<Group, ::group>(root_, "/etc/group", fgetgrent, group_from,
                                                [&](const ::group& entry) { return key == entry.gr_name; });
  });
}

const User* Accounts::user_by_id(uid_t uid) {
  return known(users_by_id_, uid, [&] {
    return root_.empty()
               ? look_up<User, passwd>([&](auto... rest) { return getpwuid_r(uid, rest...); }, user_from)
               : scan<User, passwd>(root_, "/etc/passwd", fgetpwent, user_from,
                                    [&](const passwd& entry) { return uid == entry.pw_uid; });
  });
}

const Group* Accounts::group_by_id(gid_t gid) {
  return known(groups_by_id_, gid, [&] {
    return root_.empty()
               ? look_up<Group, ::group>([&](auto... rest) { return getgrgid_r(gid, rest...); }, group_from)
               : scan<Group, ::group>(root_, "/etc/group", fgetgrent, group_from,
                                      [&](const ::group& entry) { return gid == entry.gr_gid; });
  });
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
  auto read = for_each_entry<::group>(root_, "/etc/group", fgetgrent, [&](const ::group& entry) {
    Group candidate = group_from(entry);
    if (is_member(candidate)) found.push_back(std::move(candidate));
    return false;
  });
  if (!read && !problem_) problem_ = std::move(read).error();
  return found;
}

Identity Accounts::identity_of(const User& user) {
  Identity identity{user.uid, user.gid, {}};
  // Says how many there are when there is no room for them; meanwhile there may be more.
  constexpr int kMostTries = 10;
  int count = 32;
  for (int tries = 0; tries < kMostTries; ++tries) {
    identity.groups.resize(static_cast<std::size_t>(count));
    if (getgrouplist(user.name.c_str(), user.gid, identity.groups.data(), &count) >= 0) break;
  }
  identity.groups.resize(std::min(identity.groups.size(), static_cast<std::size_t>(count)));
  return identity;
}

void Accounts::forget() {
  users_.clear();
  groups_.clear();
  users_by_id_.clear();
  groups_by_id_.clear();
}

}  // namespace base

// Users and groups, looked up once and remembered.
//
// Of the running system through NSS, of another root from its etc/passwd and etc/group. A look-up that fails
// (a directory service that does not answer, no descriptor left) is not an account that is not there: it
// answers nothing, is not remembered, and leaves a problem. One thread.
#pragma once

#include <sys/types.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/programs/process.hpp"
#include "base/result.hpp"

namespace base {

struct User {
  std::string name;
  uid_t uid = 0;
  gid_t gid = 0;
  std::string gecos;
  std::string home;
  std::string shell;
};

struct Group {
  std::string name;
  gid_t gid = 0;
  std::vector<std::string> members;
};

class Accounts {
 public:
  explicit Accounts(std::string root = {}) : root_(std::move(root)) {}

  // By name only; nothing when there is none.
  const User* user(std::string_view name);
  const Group* group(std::string_view name);
  const User* user_by_id(uid_t uid);
  const Group* group_by_id(gid_t gid);

  // A name, or a number as text (which need not belong to anybody).
  std::optional<uid_t> uid_of(std::string_view name_or_number);
  std::optional<gid_t> gid_of(std::string_view name_or_number);

  // The name of an id, or its number.
  std::string user_name(uid_t uid);
  std::string group_name(gid_t gid);

  // All groups that list the user as a member (not its primary group).
  std::vector<Group> groups_of(std::string_view user);

  // To run a program as this user, with its groups.
  Identity identity_of(const User& user);

  // After accounts have been changed.
  void forget();

  // The first look-up since the last call that failed: what was answered "nothing" may be there.
  std::optional<Error> take_problem() { return std::exchange(problem_, std::nullopt); }

 private:
  template <class Key, class Record>
  using Known = std::map<Key, std::optional<Record>, std::less<>>;
  // The record of this key, looked up when it is not known.
  template <class Key, class Record, class Find>
  const Record* known(Known<Key, Record>& records, const Key& key, Find find);

  std::string root_;
  Known<std::string, User> users_;
  Known<std::string, Group> groups_;
  Known<uid_t, User> users_by_id_;
  Known<gid_t, Group> groups_by_id_;
  std::optional<Error> problem_;
};

}  // namespace base

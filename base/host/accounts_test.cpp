#include "base/host/accounts.hpp"

#include <grp.h>
#include <nss.h>
#include <pwd.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "base/unique_fd.hpp"

namespace base {

namespace {

namespace fs = std::filesystem;

struct OtherRoot {
  OtherRoot() {
    std::string pattern = (fs::temp_directory_path() / "opsagent-accounts-XXXXXX").string();
    REQUIRE(::mkdtemp(pattern.data()));
    path = pattern;
    fs::create_directories(path + "/etc");
  }
  ~OtherRoot() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  void write(const std::string& name, const std::string& text) const { std::ofstream(path + name) << text; }
  std::string path;
};

constexpr auto kPasswd =
    "root:x:0:0:root:/root:/bin/bash\n"
    "this line is broken\n"
    "zoe:x:70001:70002:Zoe Q.,Room 1,,:/home/zoe:/bin/zsh\n"
    "1234:x:70003:70002::/:\n"
    "twin:x:70001:70002::/:\n";
constexpr auto kGroup =
    "root:x:0:\n"
    "zoes:x:70002:\n"
    "video:x:70044:zoe,root\n"
    "audio:x:70029:root,zoey\n"
    "staff:x:70050:zoe\n";

}  // namespace

TEST_CASE("accounts of the running system are those that NSS knows") {
  Accounts accounts;
  const User* root = accounts.user("root");
  REQUIRE(root);
  CHECK(root->uid == 0);
  CHECK(root->name == "root");
  CHECK(root->home == ::getpwuid(0)->pw_dir);
  REQUIRE(accounts.user_by_id(0));
  CHECK(accounts.user_by_id(0)->name == "root");
  REQUIRE(accounts.group("root"));
  CHECK(accounts.group("root")->gid == 0);
  REQUIRE(accounts.group_by_id(0));
  CHECK(accounts.user_name(0) == "root");
  CHECK(accounts.group_name(0) == "root");
  CHECK_FALSE(accounts.user("no-such-user-here"));
  CHECK_FALSE(accounts.group("no-such-group-here"));
  CHECK_FALSE(accounts.user(""));
}

TEST_CASE("an account is looked up once, and an answer stays where it is") {
  Accounts accounts;
  const User* first = accounts.user("root");
  for (int i = 0; i < 100; ++i)
    (void)accounts.user("nobody-" + std::to_string(i));
  CHECK(accounts.user("root") == first);
}

TEST_CASE("the identity of a user has the primary group among its groups") {
  Accounts accounts;
  const User* root = accounts.user("root");
  REQUIRE(root);
  const Identity identity = accounts.identity_of(*root);
  CHECK(identity.uid == 0);
  CHECK(identity.gid == root->gid);
  CHECK(std::ranges::count(identity.groups, root->gid) == 1);
}

TEST_CASE("names and numbers are both accepted where an id is wanted") {
  Accounts accounts;
  CHECK(accounts.uid_of("root") == 0u);
  CHECK(accounts.uid_of("0") == 0u);
  CHECK(accounts.uid_of("4000000000") == 4000000000u);
  CHECK(accounts.gid_of("12345678") == 12345678u);
  for (const char* text : {"", "-1", "+1", " 1", "4294967295", "4294967296", "no-such-user-here", "1x"}) {
    CHECK_FALSE(accounts.uid_of(text));
    CHECK_FALSE(accounts.gid_of(text));
  }
}

TEST_CASE("ids that nobody has are shown as numbers") {
  Accounts accounts;
  CHECK(accounts.user_name(3999999999u) == "3999999999");
  CHECK(accounts.group_name(3999999999u) == "3999999999");
}

TEST_CASE("accounts of another root come from its files and from nowhere else") {
  const OtherRoot root;
  root.write("/etc/passwd", kPasswd);
  root.write("/etc/group", kGroup);
  Accounts accounts(root.path);
  const User* zoe = accounts.user("zoe");
  REQUIRE(zoe);
  CHECK(zoe->uid == 70001);
  CHECK(zoe->gid == 70002);
  CHECK(zoe->gecos == "Zoe Q.,Room 1,,");
  CHECK(zoe->home == "/home/zoe");
  CHECK(zoe->shell == "/bin/zsh");
  REQUIRE(accounts.user_by_id(70001));
  CHECK(accounts.user_by_id(70001)->name == "zoe");
  CHECK(accounts.group_name(70002) == "zoes");
  REQUIRE(accounts.group("video"));
  CHECK(accounts.group("video")->members == std::vector<std::string>{"zoe", "root"});
  CHECK_FALSE(accounts.user("nobody"));
  CHECK_FALSE(accounts.group("daemon"));
}

TEST_CASE("a name that looks like a number is still a name") {
  const OtherRoot root;
  root.write("/etc/passwd", kPasswd);
  Accounts accounts(root.path);
  CHECK(accounts.uid_of("1234") == 70003u);
  CHECK(accounts.uid_of("1235") == 1235u);
}

TEST_CASE("the groups of a user are those that list it") {
  const OtherRoot root;
  root.write("/etc/group", kGroup);
  Accounts accounts(root.path);
  std::vector<std::string> names;
  for (const Group& group : accounts.groups_of("zoe"))
    names.push_back(group.name);
  CHECK(names == std::vector<std::string>{"video", "staff"});
  CHECK(accounts.groups_of("nobody").empty());
}

TEST_CASE("a root without account files has no accounts") {
  const OtherRoot root;
  Accounts accounts(root.path);
  CHECK_FALSE(accounts.user("root"));
  CHECK_FALSE(accounts.group("root"));
  CHECK_FALSE(accounts.user_by_id(0));
  CHECK(accounts.groups_of("root").empty());
  CHECK(accounts.uid_of("5") == 5u);
}

TEST_CASE("changed accounts are seen after forget, and not before") {
  const OtherRoot root;
  root.write("/etc/passwd", kPasswd);
  root.write("/etc/group", kGroup);
  Accounts accounts(root.path);
  CHECK_FALSE(accounts.user("new"));
  CHECK(accounts.group_name(70002) == "zoes");
  root.write("/etc/passwd", "new:x:1:1::/:/bin/sh\n");
  root.write("/etc/group", "other:x:70002:\n");
  CHECK_FALSE(accounts.user("new"));
  CHECK(accounts.group_name(70002) == "zoes");
  accounts.forget();
  REQUIRE(accounts.user("new"));
  CHECK(accounts.group_name(70002) == "other");
  CHECK_FALSE(accounts.user("zoe"));
}

TEST_CASE("a group with very many members is read whole") {
  const OtherRoot root;
  std::string line = "many:x:70100:u0";
  for (int i = 1; i < 20'000; ++i)
    line += ",u" + std::to_string(i);
  root.write("/etc/group", line + "\nafter:x:70101:u7\n");
  Accounts accounts(root.path);
  REQUIRE(accounts.group("many"));
  CHECK(accounts.group("many")->members.size() == 20'000);
  CHECK(accounts.groups_of("u7").size() == 2);
}

// No descriptor is left: nothing can be looked up.
class NoDescriptors {
 public:
  NoDescriptors() {
    for (int fd = ::dup(0); fd >= 0; fd = ::dup(0))
      taken_.emplace_back(fd);
    if (errno != EMFILE) ::abort();
  }

 private:
  std::vector<UniqueFd> taken_;
};

// A failure comes through where no other source answers after it, so this needs a process with one source
// only.
bool is_a_failure(Accounts& accounts, const char* there) {
  {
    const NoDescriptors none;
    if (accounts.user(there) || accounts.group_by_id(4242)) return false;
  }
  const auto problem = accounts.take_problem();
  return problem && problem->message().find("accounts cannot be looked up") != std::string::npos &&
         accounts.user(there) && !accounts.user("opsagent-none") && !accounts.take_problem();
}

TEST_CASE("a look-up that fails is not an account that is missing, and is made again") {
  OtherRoot other;
  other.write("/etc/passwd", kPasswd);
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit few{.rlim_cur = 256, .rlim_max = 256};
    Accounts here;
    Accounts there(other.path);
    const bool is_ready = ::setrlimit(RLIMIT_NOFILE, &few) == 0 &&
                          __nss_configure_lookup("passwd", "files") == 0 &&
                          __nss_configure_lookup("group", "files") == 0;
    ::_exit(!is_ready ? 3 : !is_a_failure(here, "daemon") ? 1 : !is_a_failure(there, "zoe") ? 2 : 0);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}

}  // namespace base

#include <grp.h>
#include <pwd.h>
#include <shadow.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include <doctest/doctest.h>

#include "states/linux_user/password.hpp"
#include "states/linux_user/user_home.hpp"
#include "states/programs/tool_sequence.hpp"
#include "states/state.hpp"
#include "tests/support/state_harness.hpp"

namespace states::linux_user {
extern const StateType& kState;
}

namespace {

namespace fs = std::filesystem;
using states::EffectKind;
using states::Verdict;
using states::linux_user::kState;
using tests::StateHarness;

// {"username": NAME, "password": "", MORE}
std::string user(const std::string& name, const std::string& more = {}) {
  return R"({"username": ")" + name + R"(", "password": "")" + (more.empty() ? "" : ", " + more) + "}";
}

std::string shown(const states::Plan& plan) {
  std::string text = plan.message;
  for (const states::Change& change : plan.changes)
    text += "\n" + change.what + " " + change.before + " " + change.after;
  return text;
}

}  // namespace

// These only plan, so they may look at the machine they run on.

TEST_CASE("linux.user keeps root as it is when nothing but its name is given") {
  StateHarness machine{StateHarness::RunningSystem{}};
  const auto plan = machine.plan(kState, user("root"));
  CHECK(plan.verdict == Verdict::kept);
  CHECK(plan.message == "User root is as wanted");
}

TEST_CASE("linux.user keeps an account whose given attributes match, in every form that recipes use") {
  StateHarness machine{StateHarness::RunningSystem{}};
  const std::string home = ::getpwnam("root")->pw_dir;
  for (const std::string& more :
       {std::string(R"("uid": "0", "gid": "0")"), std::string(R"("uid": 0, "gid": 0)"),
        std::string(R"("gid": "root")"),
        std::string(R"("uid": "", "gid": null, "home": "", "shell": null, "groups": null, "fullname": "")"),
        std::string(R"("no-login": "False", "system-account": "y")"), std::string(R"("groups": "")"),
        std::string(R"("groups": [""])"), R"("home": ")" + home + R"(/")"}) {
    CAPTURE(more);
    CHECK(machine.plan(kState, user("root", more)).verdict == Verdict::kept);
  }
}

TEST_CASE("linux.user plans a new account with its home, and tells later states of both") {
  StateHarness machine{StateHarness::RunningSystem{}};
  const auto plan =
      machine.plan(kState, R"({"username": "opsagent-none", "password": "very secret", "uid": "64321",
                               "home": "/opsagent-none/homes/$username", "shell": "/bin/sh", "fullname": "No One"})");
  CHECK(plan.verdict == Verdict::change);
  CHECK(plan.message == "Create user opsagent-none");
  REQUIRE(plan.changes.size() == 2);
  CHECK(plan.changes[0].after ==
        "home /opsagent-none/homes/opsagent-none, uid 64321, shell /bin/sh, name No One");
  CHECK(plan.changes[1].what == "password of opsagent-none");
  CHECK(shown(plan).find("secret") == std::string::npos);
  std::set<std::string> names;
  for (const states::Effect& effect : plan.effects)
    if (effect.certain) names.insert(effect.name);  // others are what it finds in /etc/skel
  CHECK(names == std::set<std::string>{"opsagent-none", "64321", "/opsagent-none", "/opsagent-none/homes",
                                       "/opsagent-none/homes/opsagent-none"});
  CHECK_FALSE(::getpwnam("opsagent-none"));
  CHECK_FALSE(fs::exists("/opsagent-none"));
}

TEST_CASE("linux.user replaces the name in the home wherever it stands") {
  StateHarness machine{StateHarness::RunningSystem{}};
  const auto plan = machine.plan(kState, R"({"username": "opsagent-none", "password": "",
                                             "home": "/opsagent-none/${username}/$username/$username"})");
  REQUIRE(plan.changes.size() == 1);
  CHECK(plan.changes[0].after == "home /opsagent-none/opsagent-none/opsagent-none/opsagent-none");
}

TEST_CASE("linux.user does not promise an account whose home is a link that leads nowhere") {
  StateHarness machine{StateHarness::RunningSystem{}};
  std::string folder = (fs::temp_directory_path() / "opsagent-user-XXXXXX").string();
  REQUIRE(::mkdtemp(folder.data()));
  const fs::path link = folder + "/link";
  fs::create_symlink("nowhere", link);
  const auto plan = machine.plan(kState, user("opsagent-none", R"("home": ")" + link.string() + R"(")"));
  fs::remove_all(folder);
  CHECK(plan.verdict == Verdict::fail);
  CHECK(plan.message ==
        "User opsagent-none cannot be created: " + link.string() + " is a symlink that leads nowhere");
}

TEST_CASE("linux.user tells later states of the folders that it makes on the way to another home") {
  StateHarness machine{StateHarness::RunningSystem{}};
  const auto plan = machine.plan(kState, user("root", R"("home": "/opsagent-none/homes/root")"));
  CHECK(plan.verdict == Verdict::change);
  std::set<std::string> folders;
  for (const states::Effect& effect : plan.effects)
    if (effect.kind == EffectKind::directory && effect.certain) folders.insert(effect.name);
  CHECK(folders ==
        std::set<std::string>{"/opsagent-none", "/opsagent-none/homes", "/opsagent-none/homes/root"});
  CHECK_FALSE(fs::exists("/opsagent-none"));
}

TEST_CASE("linux.user names all groups that do not exist") {
  StateHarness machine{StateHarness::RunningSystem{}};
  const auto plan =
      machine.plan(kState, user("opsagent-none", R"("gid": "64999", "groups": ["root", "no-a", "no-b"])"));
  CHECK(plan.verdict == Verdict::fail);
  CHECK(plan.message == "Group(s) do not exist: 64999, no-a, no-b");
  CHECK(machine.plan(kState, user("root", R"("groups": "no-a")")).message == "Group(s) do not exist: no-a");
}

TEST_CASE("linux.user counts on groups that earlier states would create") {
  StateHarness machine{StateHarness::RunningSystem{}};
  machine.overlay().add(
      "g", {{.kind = EffectKind::group, .name = "app"}, {.kind = EffectKind::group, .name = "64999"}});
  CHECK(machine.plan(kState, user("opsagent-none", R"("gid": "app")")).verdict == Verdict::change);
  CHECK(machine.plan(kState, user("opsagent-none", R"("gid": "64999")")).verdict == Verdict::change);
  CHECK(machine.plan(kState, user("opsagent-none", R"("groups": ["app"])")).verdict == Verdict::change);
  machine.overlay().add("pkg", {{.kind = EffectKind::package, .name = "nginx"}});
  const auto plan = machine.plan(kState, user("opsagent-none", R"("groups": ["www"])"));
  CHECK(plan.verdict == Verdict::unknown);
  CHECK(plan.depends_on == "pkg");
}

TEST_CASE("linux.user calls a group by its name, also one that an earlier state gives the number to") {
  StateHarness machine{StateHarness::RunningSystem{}};
  machine.overlay().add("g", {{.kind = EffectKind::group, .name = "app", .alias = "64999"},
                              {.kind = EffectKind::group, .name = "64999", .alias = "app"}});
  for (const char* group : {"app", "64999"}) {
    const auto plan = machine.plan(kState, user("opsagent-none", R"("gid": ")" + std::string(group) + "\""));
    REQUIRE_FALSE(plan.changes.empty());
    CHECK(plan.changes[0].after.find("group app") != std::string::npos);
  }
}

TEST_CASE("linux.user with another primary group brings no group of its own name") {
  StateHarness machine{StateHarness::RunningSystem{}};
  const auto plan = machine.plan(kState, user("opsagent-none", R"("gid": "0")"));
  REQUIRE(plan.verdict == Verdict::change);
  machine.overlay().add("u", plan.effects);
  CHECK(machine.plan(kState, user("opsagent-other", R"("gid": "opsagent-none")")).verdict == Verdict::fail);
  const auto with_own = machine.plan(kState, user("opsagent-third"));
  machine.overlay().add("v", with_own.effects);
  CHECK(machine.plan(kState, user("opsagent-other", R"("gid": "opsagent-third")")).verdict ==
        Verdict::change);
}

TEST_CASE("linux.user after a state about the same user is unknown") {
  StateHarness machine{StateHarness::RunningSystem{}};
  machine.overlay().add("one", {{.kind = EffectKind::user, .name = "opsagent-none"}});
  CHECK(machine.plan(kState, user("opsagent-none")).verdict == Verdict::unknown);
}

TEST_CASE("linux.user refuses a uid that another user has") {
  StateHarness machine{StateHarness::RunningSystem{}};
  CHECK(machine.plan(kState, user("opsagent-none", R"("uid": "0")")).message ==
        "uid 0 is already used by root");
}

TEST_CASE("linux.user refuses values that cannot be") {
  StateHarness machine;
  for (const char* name : {"-x", "+", "~a", "a:b", "a b", "a,b", "a/b", "a\\nb", "."})
    CHECK(machine.problems(kState, user(name)).starts_with("Illegal value for 'username': '"));
  for (const char* uid : {"-1", "bob", "4294967295", "1.5"})
    CHECK(machine.problems(kState, user("a", R"("uid": ")" + std::string(uid) + "\"")) ==
          "Illegal uid '" + std::string(uid) + "'");
  CHECK(machine.problems(kState, user("a", R"("home": "relative")")) ==
        "Illegal value for 'home': 'relative'");
  CHECK(machine.problems(kState, user("a", R"("home": "/a/../b")")) == "Illegal value for 'home': '/a/../b'");
  CHECK(machine.problems(kState, user("a", R"("home": "/a:b")")) == "Illegal value for 'home': '/a:b'");
  CHECK(machine.problems(kState, user("a", R"("shell": "bash")")) == "Illegal value for 'shell': 'bash'");
  CHECK(machine.problems(kState, user("a", R"("fullname": "a:b")")) == "Illegal value for 'fullname': 'a:b'");
  CHECK(machine.problems(kState, R"({"username": "a"})").empty());
  CHECK(machine.problems(kState, R"({"password": ""})") == "Missing parameter 'username'");
  CHECK(machine.problems(kState, user("a", R"("no-login": 7)")) ==
        "Parameter 'no-login' must be true or false");
}

TEST_CASE("linux.user shows no password in its problems, and marks it as a secret") {
  StateHarness machine;
  CHECK(machine.problems(kState, R"({"username": "a", "password": "$6$a:b"})") ==
        "Illegal value for 'password': '***'");
  CHECK(machine.problems(kState, R"({"username": "a", "password": "$6$a\nroot:x"})") ==
        "Illegal value for 'password': '***'");
  CHECK(machine.problems(kState, R"({"username": "a", "password": ")" + std::string(512, 'p') + "\"}") ==
        "Parameter 'password' must not be longer than 511 bytes");
  for (const states::Param& param : kState.schema())
    CHECK(param.is_secret == (param.name == "password"));
}

TEST_CASE("system folders are told from homes") {
  using states::linux_user::is_system_folder;
  for (const char* path : {"/", "/usr/sbin", "/bin", "/etc/x", "/var", "/home", "/tmp", "/dev/null", "/root"})
    CHECK(is_system_folder(path));
  for (const char* path :
       {"/home/bob", "/var/www", "/srv/app", "/opt/app", "/binary", "/usrx", "/var/lib/app"})
    CHECK_FALSE(is_system_folder(path));
}

TEST_SUITE("system") {
  TEST_CASE("linux.user creates an account with all attributes, once") {
    StateHarness machine{StateHarness::RunningSystem{}};
    const char* json =
        R"({"username": "u-full", "password": "$6$saltsalt$hash", "fullname": "Full Name", "uid": "4711",
        "gid": "100", "home": "/srv/a/b/${username}", "shell": "/bin/sh", "groups": ["adm", "audio", "users"]})";
    const auto outcome = machine.converge(kState, json);
    CHECK(outcome.ok);
    CHECK(outcome.message == "User u-full created (uid 4711)");
    const passwd* entry = ::getpwnam("u-full");
    REQUIRE(entry);
    CHECK(entry->pw_uid == 4711);
    CHECK(entry->pw_gid == 100);
    CHECK(std::string(entry->pw_gecos) == "Full Name");
    CHECK(std::string(entry->pw_dir) == "/srv/a/b/u-full");
    CHECK(std::string(entry->pw_shell) == "/bin/sh");
    CHECK(std::string(::getspnam("u-full")->sp_pwdp) == "$6$saltsalt$hash");
    struct stat st {};
    REQUIRE(::stat("/srv/a/b/u-full", &st) == 0);
    CHECK(st.st_uid == 4711);
    REQUIRE(::stat("/srv/a", &st) == 0);
    CHECK(st.st_uid == 0);
    CHECK((st.st_mode & 07777) == 0755);
    CHECK(fs::exists("/srv/a/b/u-full/.profile"));
    const auto again = machine.converge(kState, json);
    CHECK(again.first == Verdict::kept);
    CHECK(again.message == "User u-full is as wanted");
  }

  TEST_CASE("linux.user keeps home, groups and all else that is not given") {
    StateHarness machine{StateHarness::RunningSystem{}};
    CHECK(
        machine
            .converge(kState, user("u-keep", R"("groups": ["adm"], "home": "/srv/keep", "shell": "/bin/sh")"))
            .ok);
    CHECK(machine.converge(kState, user("u-keep")).first == Verdict::kept);
    CHECK(machine.converge(kState, user("u-keep", R"("fullname": "K")")).message ==
          "User u-keep updated: full name");
    CHECK(std::string(::getpwnam("u-keep")->pw_dir) == "/srv/keep");
    CHECK(machine.accounts().groups_of("u-keep").size() == 1);
    CHECK(machine.converge(kState, user("root")).first == Verdict::kept);
    CHECK(std::string(::getpwnam("root")->pw_dir) == "/root");
  }

  TEST_CASE("linux.user updates what differs and nothing else") {
    StateHarness machine{StateHarness::RunningSystem{}};
    CHECK(machine.converge(kState, user("u-mod", R"("uid": "4720")")).ok);
    const auto outcome = machine.converge(
        kState,
        user("u-mod", R"("uid": "4721", "gid": "users", "shell": "/bin/dash", "groups": ["adm", "cdrom"])"));
    CHECK(outcome.ok);
    CHECK(outcome.message == "User u-mod updated: uid, primary group, shell, groups");
    CHECK(::getpwnam("u-mod")->pw_uid == 4721);
    CHECK(machine.converge(kState, user("u-mod", R"("groups": "cdrom")")).message ==
          "User u-mod updated: groups");
    CHECK(machine.converge(kState, user("u-mod", R"("groups": [])")).message == "User u-mod updated: groups");
    CHECK(machine.accounts().groups_of("u-mod").empty());
    CHECK(machine.converge(kState, user("u-mod", R"("groups": [])")).first == Verdict::kept);
    CHECK(machine.converge(kState, user("u-mod", R"("groups": ["users"])")).first == Verdict::kept);
  }

  TEST_CASE("linux.user takes a user out of the group that was the primary one, in one go") {
    StateHarness machine{StateHarness::RunningSystem{}};
    CHECK(machine.converge(kState, user("u-prim", R"("gid": "games")")).ok);
    REQUIRE(std::system("gpasswd -a u-prim games >/dev/null") == 0);  // once more, by name
    const auto outcome = machine.converge(kState, user("u-prim", R"("gid": "users", "groups": [])"));
    CHECK(outcome.ok);
    CHECK(outcome.message == "User u-prim updated: primary group, groups");
    CHECK(machine.accounts().groups_of("u-prim").empty());
  }

  TEST_CASE("linux.user keeps a user who shares the number with another") {
    StateHarness machine{StateHarness::RunningSystem{}};
    REQUIRE(std::system("useradd -o -u 0 -g 0 -M u-toor") == 0);
    CHECK(machine.converge(kState, user("u-toor", R"("uid": "0")")).first == Verdict::kept);
    CHECK(machine.plan(kState, user("u-keep", R"("uid": "0")")).message == "uid 0 is already used by root");
    REQUIRE(std::system("sed -i '/^u-toor:/d' /etc/passwd /etc/shadow") == 0);  // userdel finds it in use
  }

  TEST_CASE("linux.user takes a full name without the rest of the GECOS field") {
    StateHarness machine{StateHarness::RunningSystem{}};
    CHECK(machine.converge(kState, user("u-gecos", R"("fullname": "Old,Room 1,123")")).ok);
    CHECK(machine.converge(kState, user("u-gecos", R"("fullname": "Old")")).first == Verdict::kept);
    CHECK(machine.converge(kState, user("u-gecos", R"("fullname": "New")")).ok);
    CHECK(std::string(::getpwnam("u-gecos")->pw_gecos) == "New,Room 1,123");
  }

  TEST_CASE("linux.user takes a full name that looks like an option for a name") {
    StateHarness machine{StateHarness::RunningSystem{}};
    for (const char* name : {"--help", "-rf", "--", "$(id); `id`"}) {
      CAPTURE(name);
      CHECK(machine.converge(kState, user("u-dash", R"("fullname": ")" + std::string(name) + R"(")")).ok);
      CHECK(std::string(::getpwnam("u-dash")->pw_gecos) == name);
    }
  }

  TEST_CASE("linux.user takes the group of the user's name when it exists already") {
    StateHarness machine{StateHarness::RunningSystem{}};
    CHECK(machine.converge(kState, user("operator")).ok);
    CHECK(::getpwnam("operator")->pw_gid == 37);
  }

  TEST_CASE("linux.user lets a new user name its own group among its groups") {
    StateHarness machine{StateHarness::RunningSystem{}};
    CHECK(machine.converge(kState, user("u-own", R"("groups": ["u-own", "adm"])")).ok);
    CHECK(machine.converge(kState, user("u-own", R"("groups": ["u-own", "adm"])")).first == Verdict::kept);
  }

  TEST_CASE("linux.user locks a new account without a password and leaves the password of others alone") {
    StateHarness machine{StateHarness::RunningSystem{}};
    const auto outcome = machine.converge(kState, R"({"username": "u-none"})");
    CHECK(outcome.ok);
    CHECK(std::string(::getspnam("u-none")->sp_pwdp) == "!");
    CHECK(machine.converge(kState, R"({"username": "u-none"})").first == Verdict::kept);
    CHECK(machine.converge(kState, R"({"username": "u-none", "password": "a secret"})").ok);
    const std::string stored = ::getspnam("u-none")->sp_pwdp;
    for (const char* json : {R"({"username": "u-none"})", R"({"username": "u-none", "password": null})",
                             R"({"username": "u-none", "password": ""})"}) {
      CAPTURE(json);
      CHECK(machine.converge(kState, json).first == Verdict::kept);
      CHECK(stored == ::getspnam("u-none")->sp_pwdp);
    }
  }

  TEST_CASE("linux.user stores a locked password as it is, so that nothing opens the account") {
    StateHarness machine{StateHarness::RunningSystem{}};
    for (const std::string locked :
         {"!!", "!", "*", "**", "*LK*", "!*",
          "!$6$saltsalt$TVLlQcbpFVof5W3Yz4DTP6gRstiNuHwwTt6GLc1E5n0U0aDehy0S5knV8wiOQSpT0Y77vwPZN.Pq."
          "H91p5hVO1"}) {
      CAPTURE(locked);
      const std::string json = R"({"username": "u-locked", "password": ")" + locked + "\"}";
      CHECK(machine.converge(kState, json).ok);
      const std::string stored = ::getspnam("u-locked")->sp_pwdp;
      CHECK(stored == locked);
      CHECK_FALSE(states::linux_user::is_password_of(locked, stored));
      CHECK_FALSE(states::linux_user::is_password_of("secret", stored));
      CHECK(machine.converge(kState, json).first == Verdict::kept);
    }
  }

  TEST_CASE("linux.user sets a clear password once and recognises it afterwards") {
    StateHarness machine{StateHarness::RunningSystem{}};
    const char* json = R"({"username": "u-clear", "password": "correct horse: battery"})";
    CHECK(machine.converge(kState, json).ok);
    const std::string stored = ::getspnam("u-clear")->sp_pwdp;
    CHECK(stored.starts_with("$y$"));
    CHECK(machine.converge(kState, json).first == Verdict::kept);
    CHECK(stored == ::getspnam("u-clear")->sp_pwdp);
    const auto other = machine.converge(kState, R"({"username": "u-clear", "password": "another one"})");
    CHECK(other.ok);
    CHECK(other.message == "User u-clear updated: password");
    CHECK(other.output.find("another") == std::string::npos);
    CHECK(states::linux_user::is_password_of("another one", ::getspnam("u-clear")->sp_pwdp));
    CHECK(machine.converge(kState, user("u-clear")).first == Verdict::kept);
  }

  TEST_CASE("linux.user stores hashes, * and ! as they are") {
    StateHarness machine{StateHarness::RunningSystem{}};
    for (const char* hash : {"$6$saltsalt$one", "*", "!", "$y$j9T$salt$two"}) {
      const std::string json = R"({"username": "u-hash", "password": ")" + std::string(hash) + "\"}";
      const auto outcome = machine.converge(kState, json);
      CAPTURE(hash);
      CHECK(outcome.ok);
      CHECK(std::string(::getspnam("u-hash")->sp_pwdp) == hash);
      CHECK(machine.converge(kState, json).first == Verdict::kept);
    }
  }

  TEST_CASE("linux.user gives a home that is there to the new user, but no system folder and no link") {
    StateHarness machine{StateHarness::RunningSystem{}};
    fs::create_directories("/home/u-old/sub");
    const auto plan = machine.plan(kState, user("u-old"));
    CHECK(plan.changes.back().what == "owner of /home/u-old");
    CHECK(machine.converge(kState, user("u-old")).ok);
    struct stat st {};
    REQUIRE(::stat("/home/u-old", &st) == 0);
    CHECK(st.st_uid == ::getpwnam("u-old")->pw_uid);
    REQUIRE(::stat("/home/u-old/sub", &st) == 0);
    CHECK(st.st_uid == 0);
    CHECK(machine.converge(kState, user("u-root-home", R"("home": "/")")).ok);
    REQUIRE(::stat("/", &st) == 0);
    CHECK(st.st_uid == 0);
    fs::create_symlink("/home/u-old", "/home/u-link");
    CHECK(machine.converge(kState, user("u-link")).ok);
    REQUIRE(::lstat("/home/u-link", &st) == 0);
    CHECK(st.st_uid == 0);
  }

  TEST_CASE("linux.user gives a new account all of its home, also where the disk was full at first") {
    StateHarness machine{StateHarness::RunningSystem{}};
    fs::create_directories("/srv/full");
    REQUIRE(::mount("none", "/srv/full", "tmpfs", 0, "size=16k,mode=755") == 0);
    {
      std::ofstream filler("/srv/full/filler");
      filler << std::string(64 * 1024, 'x');
    }
    const std::string json = user("u-fullhome", R"("home": "/srv/full/u-fullhome")");
    const auto failed = machine.converge(kState, json);
    CHECK_FALSE(failed.ok);
    CHECK_MESSAGE(failed.message.find("No space left") != std::string::npos, failed.message);
    REQUIRE(::getpwnam("u-fullhome"));  // useradd has succeeded
    const auto plan = machine.plan(kState, json);
    CHECK(plan.verdict == Verdict::change);
    CHECK_MESSAGE(shown(plan).find("first files in /srv/full/u-fullhome") != std::string::npos, shown(plan));
    fs::remove("/srv/full/filler");
    CHECK(machine.converge(kState, json).message ==
          "User u-fullhome updated: what was missing of a new account");
    for (const fs::directory_entry& entry : fs::directory_iterator("/etc/skel")) {
      const std::string made = "/srv/full/u-fullhome/" + entry.path().filename().string();
      struct stat st {};
      REQUIRE(::lstat(made.c_str(), &st) == 0);
      CHECK(st.st_uid == ::getpwnam("u-fullhome")->pw_uid);
      if (entry.is_regular_file()) CHECK(fs::file_size(made) == entry.file_size());
    }
    CHECK(machine.converge(kState, json).first == Verdict::kept);
    CHECK_FALSE(machine.exists("/state/new-homes/u-fullhome"));
    REQUIRE(::umount2("/srv/full", MNT_DETACH) == 0);
  }

  TEST_CASE("linux.user finishes an account that it was killed over, and no other") {
    StateHarness machine{StateHarness::RunningSystem{}};
    const auto run = [](const std::string& command) { REQUIRE(std::system(command.c_str()) == 0); };
    const auto leave = [&](const std::string& name, const std::string& kind) {
      machine.write("/state/new-homes/" + name, kind + "\n/home/" + name + "\n");
    };
    const auto finish = [&](const std::string& name) {
      machine.accounts().forget();
      const auto outcome = machine.converge(kState, user(name));
      CHECK_MESSAGE(outcome.ok, outcome.message);
      CHECK(outcome.first == Verdict::change);
      CHECK(machine.converge(kState, user(name)).first == Verdict::kept);
      CHECK_FALSE(machine.exists("/state/new-homes/" + name));
      return outcome.message;
    };
    struct stat st {};

    // Before its home was made.
    run("useradd --no-create-home --home-dir=/home/u-cut u-cut");
    CHECK(machine.converge(kState, user("u-cut")).first ==
          Verdict::kept);  // without a note it is like any other
    leave("u-cut", "made");
    finish("u-cut");
    REQUIRE(::stat("/home/u-cut", &st) == 0);
    CHECK(st.st_uid == ::getpwnam("u-cut")->pw_uid);
    CHECK(st.st_gid == ::getpwnam("u-cut")->pw_gid);
    CHECK(fs::exists("/home/u-cut/.profile"));

    // When useradd had just made it: nobody's, with no mode, and with half a file.
    run("useradd --no-create-home --home-dir=/home/u-half u-half");
    fs::create_directory("/home/u-half");
    std::ofstream("/home/u-half/.profile") << "#";
    std::ofstream("/home/u-half/.bashrc") << "# of somebody's own\n";
    ::chmod("/home/u-half", 0);
    leave("u-half", "made");
    finish("u-half");
    REQUIRE(::stat("/home/u-half", &st) == 0);
    CHECK(st.st_uid == ::getpwnam("u-half")->pw_uid);
    CHECK((st.st_mode & 07777) == 0700);
    CHECK(fs::file_size("/home/u-half/.profile") == fs::file_size("/etc/skel/.profile"));
    CHECK(fs::file_size("/home/u-half/.bashrc") == 20);

    // Before a home that was there was given away: nothing is copied into it.
    fs::create_directory("/home/u-given");
    run("useradd --no-create-home --home-dir=/home/u-given u-given");
    leave("u-given", "given");
    finish("u-given");
    REQUIRE(::stat("/home/u-given", &st) == 0);
    CHECK(st.st_uid == ::getpwnam("u-given")->pw_uid);
    CHECK(fs::is_empty("/home/u-given"));

    // Between /etc/passwd and the other files.
    run("useradd --create-home u-torn && sed -i '/^u-torn:/d' /etc/shadow /etc/group");
    leave("u-torn", "made");
    finish("u-torn");
    REQUIRE(::getspnam("u-torn"));
    CHECK(std::string(::getspnam("u-torn")->sp_pwdp) != "");
    CHECK(::getgrgid(::getpwnam("u-torn")->pw_gid));

    // What useradd refuses is nothing to go on with.
    run("mv /usr/sbin/useradd /usr/sbin/useradd.real && ln -s /bin/false /usr/sbin/useradd");
    CHECK_FALSE(machine.converge(kState, user("u-refused")).ok);
    run("mv /usr/sbin/useradd.real /usr/sbin/useradd");
    REQUIRE_FALSE(::getpwnam("u-refused"));
    CHECK_FALSE(machine.exists("/state/new-homes/u-refused"));

    // When all was done but the note: nothing is changed any more.
    run("useradd --create-home u-done");
    leave("u-done", "made");
    CHECK(finish("u-done") == "User u-done is as wanted");
  }

  TEST_CASE("linux.user creates a changed home that is missing, and moves nothing") {
    StateHarness machine{StateHarness::RunningSystem{}};
    CHECK(machine.converge(kState, user("u-home")).ok);
    CHECK(machine.converge(kState, user("u-home", R"("home": "/srv/x/y/u-home")")).message ==
          "User u-home updated: home");
    CHECK(fs::exists("/home/u-home"));
    struct stat st {};
    REQUIRE(::stat("/srv/x/y/u-home", &st) == 0);
    CHECK(st.st_uid == ::getpwnam("u-home")->pw_uid);
    CHECK((st.st_mode & 07777) == 0700);
    CHECK(machine.converge(kState, user("u-home", R"("home": "/tmp")")).ok);
    REQUIRE(::stat("/tmp", &st) == 0);
    CHECK(st.st_uid == 0);
  }

  TEST_CASE("linux.user makes accounts without a login and for the system") {
    StateHarness machine{StateHarness::RunningSystem{}};
    CHECK(machine.converge(kState, user("u-sys", R"("system-account": true, "no-login": "yes")")).ok);
    CHECK(::getpwnam("u-sys")->pw_uid < 1000);
    CHECK(std::string(::getpwnam("u-sys")->pw_shell) == "/usr/sbin/nologin");
    CHECK(machine.converge(kState, user("u-sys", R"("no-login": false)")).first == Verdict::kept);
    CHECK(machine.converge(kState, user("u-sys", R"("shell": "/bin/sh")")).message ==
          "User u-sys updated: shell");
  }

  TEST_CASE("linux.user says why usermod refuses to change a user who is at work") {
    StateHarness machine{StateHarness::RunningSystem{}};
    CHECK(machine.converge(kState, user("u-busy", R"("uid": "5730")")).ok);
    const pid_t child = ::fork();
    if (child == 0) {
      if (::setuid(5730) == 0) ::pause();
      ::_exit(1);
    }
    ::usleep(100'000);
    const auto outcome = machine.converge(kState, user("u-busy", R"("uid": "5731")"));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    CHECK_FALSE(outcome.ok);
    CHECK(outcome.message ==
          "usermod failed (exit 8): user u-busy is currently used by process " + std::to_string(child));
  }

  TEST_CASE("linux.user run by somebody who may not read passwords says so") {
    StateHarness machine{StateHarness::RunningSystem{}};
    const pid_t child = ::fork();
    if (child == 0) {
      if (::setgid(65534) != 0 || ::setuid(65534) != 0) ::_exit(2);
      const auto plan = machine.plan(kState, R"({"username": "root", "password": "x"})");
      ::_exit(plan.message == "cannot read the password of root: Permission denied" ? 0 : 1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    CHECK(WEXITSTATUS(status) == 0);
  }
}

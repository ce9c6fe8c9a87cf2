// common.git with the real git, and real repositories: on disk, served by git daemon, by http and by ssh.
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <thread>

#include <doctest/doctest.h>

#include "states/state.hpp"
#include "tests/support/apt_machine.hpp"
#include "tests/support/download_bench.hpp"
#include "tests/support/loopback_server.hpp"

namespace states::common_git {
extern const StateType& kState;
}

namespace {

using states::Verdict;
using states::common_git::kState;
using tests::shell;
using tests::StateHarness;

constexpr auto kGit =
    "git -c user.name=t -c user.email=t@example.org -c init.defaultBranch=main -c "
    "protocol.file.allow=always ";

// A repository on disk, worked on in a clone of its own; the state works on the running system, in a scratch
// folder.
struct Bench : StateHarness {
  Bench() : StateHarness(RunningSystem{}) {
    shell("cd " + root() + " && " + kGit + "init -q --bare repo && " + kGit +
          "init -q author && cd author && " + kGit + "remote add origin ../repo");
    commit("one");
    shell("cd " + root() + "/author && " + kGit + "tag v1 && " + kGit +
          "tag -m annotated v1-signed && git push -q origin main --tags");
  }
  // Content of the file `f`, pushed; answers the commit.
  std::string commit(const std::string& content) {
    // Of git the answer only: what it warns of differs from version to version.
    return shell("exec 2>/dev/null; cd " + root() + "/author && printf '" + content +
                 "' >f && git add f && " + kGit + "commit -q -m '" + content +
                 "' && (git push -q origin HEAD || true) && git rev-parse HEAD");
  }
  std::string author(const std::string& command) { return shell("cd " + root() + "/author && " + command); }
  std::string tree() const { return root() + "/tree"; }
  std::string in_tree(const std::string& command) { return shell("cd " + tree() + " && " + command); }
  std::string params(const std::string& more = "") const {
    return R"({"path": ")" + tree() + R"(", "repo": ")" + repo + "\"" + more + "}";
  }
  Outcome have(const std::string& more = "") { return converge(kState, params(more)); }
  std::string file(const std::string& name = "f") const { return StateHarness::read("/tree/" + name); }

  std::string repo = root() + "/repo";
};

}  // namespace

TEST_CASE("common.git clones the default branch, keeps it, and follows it") {
  Bench bench;
  auto outcome = bench.have();
  CHECK_MESSAGE(outcome.ok, outcome.message);
  CHECK(outcome.message.starts_with("Cloned " + bench.repo + " to " + bench.tree() + " at "));
  CHECK(bench.file() == "one");
  CHECK(bench.in_tree("git symbolic-ref --short HEAD") == "main");
  const std::string before = bench.snapshot();
  outcome = bench.have();
  CHECK(outcome.first == Verdict::kept);
  CHECK(outcome.message.starts_with(bench.tree() + " is at "));
  CHECK(bench.snapshot() == before);
  const std::string old_id = bench.in_tree("git rev-parse --short=7 HEAD");
  const std::string id = bench.commit("two");
  outcome = bench.have();
  CHECK(outcome.message == bench.tree() + " updated " + old_id + " -> " + id.substr(0, 7));
  CHECK(bench.file() == "two");
}

TEST_CASE("common.git plans without writing anything") {
  Bench bench;
  std::string before = bench.snapshot();
  auto plan = bench.plan(kState, bench.params());
  CHECK(plan.verdict == Verdict::change);
  CHECK(plan.message == "Clone " + bench.repo + " to " + bench.tree());
  CHECK(bench.snapshot() == before);
  CHECK(bench.have().changed);
  bench.commit("two");
  before = bench.snapshot();
  plan = bench.plan(kState, bench.params(R"(, "revision": "main")"));
  CHECK(plan.verdict == Verdict::change);
  CHECK(bench.snapshot() == before);
}

TEST_CASE("common.git checks out branches, tags and commits, and goes from one to the other") {
  Bench bench;
  const std::string first = bench.author("git rev-parse HEAD");
  bench.author("git checkout -q -b feature/x");
  bench.commit("feature");
  bench.author("git checkout -q main");
  const std::string second = bench.commit("two");
  for (const auto& [revision, content] : {std::pair<std::string, const char*>{"feature/x", "feature"},
                                          {"v1", "one"},
                                          {"main", "two"},
                                          {first, "one"},
                                          {"feature/x", "feature"},
                                          {second.substr(0, 8), "two"},
                                          {"v1-signed", "one"}}) {
    CAPTURE(revision);
    const std::string more = R"(, "branch": ")" + revision + "\"";
    const auto outcome = bench.have(more);
    CHECK_MESSAGE(outcome.ok, outcome.message);
    CHECK(bench.file() == content);
    CHECK(bench.have(more).first == Verdict::kept);
  }
}

TEST_CASE("common.git follows a tag that has moved only with force") {
  Bench bench;
  CHECK(bench.have(R"(, "revision": "v1")").changed);
  bench.commit("two");
  bench.author("git tag -f v1 && git push -q -f origin v1");
  CHECK(bench.have(R"(, "revision": "v1")").first == Verdict::kept);
  CHECK(bench.file() == "one");
  const auto outcome = bench.have(R"(, "revision": "v1", "force": true)");
  CHECK_MESSAGE(outcome.ok, outcome.message);
  CHECK(bench.file() == "two");
}

TEST_CASE("common.git leaves local changes alone, and discards them with force") {
  Bench bench;
  CHECK(bench.have().changed);
  std::ofstream(bench.tree() + "/f") << "mine";
  bench.commit("two");
  auto outcome = bench.have();
  CHECK_FALSE(outcome.ok);
  CHECK(outcome.message == "Local changes block the update: f");
  CHECK(bench.file() == "mine");
  outcome = bench.have(R"(, "force": "yes")");
  CHECK_MESSAGE(outcome.ok, outcome.message);
  CHECK(bench.file() == "two");
  bench.in_tree("printf other >f && " + std::string(kGit) + "commit -q -a -m local");
  bench.commit("three");
  outcome = bench.have();
  CHECK(outcome.message == "Local changes block the update: commits that are not in the repository");
  CHECK(bench.file() == "other");
  CHECK(bench.have(R"(, "force": true)").ok);
  CHECK(bench.file() == "three");
}

TEST_CASE("common.git follows a history that was rewritten only with force") {
  Bench bench;
  bench.commit("two");
  CHECK(bench.have().changed);
  bench.author("git reset -q --hard HEAD^");
  bench.author("printf three >f && " + std::string(kGit) +
               "commit -q -a -m three && git push -q -f origin main");
  CHECK_FALSE(bench.have().ok);
  CHECK(bench.have(R"(, "force": true)").ok);
  CHECK(bench.file() == "three");
}

TEST_CASE("common.git puts the origin right, and clones into an empty folder") {
  Bench bench;
  std::filesystem::create_directory(bench.tree());
  CHECK(bench.have().changed);
  bench.in_tree("git remote set-url origin /somewhere/else");
  const auto plan = bench.plan(kState, bench.params());
  REQUIRE(plan.changes.size() == 1);
  CHECK(plan.changes[0].what == "origin of " + bench.tree());
  CHECK(bench.have().ok);
  CHECK(bench.in_tree("git remote get-url origin") == bench.repo);
}

TEST_CASE("common.git goes on with a clone that was killed half-way") {
  Bench bench;
  shell("git init -q " + bench.tree() + " && mkdir -p " + bench.tree() + "/.git/objects/pack");
  const auto outcome = bench.have();
  CHECK_MESSAGE(outcome.ok, outcome.message);
  CHECK(bench.file() == "one");
}

TEST_CASE("common.git goes on with a checkout that was killed, and overwrites nothing of a user's own") {
  Bench bench;
  // Killed in the checkout of a clone: git's own lock is left, and files that no index knows.
  REQUIRE(bench.have(R"(, "revision": "v1")").ok);
  CHECK(bench.in_tree("git config --get opsagent.cloning || echo none") == "none");
  bench.in_tree(
      "git config opsagent.cloning true && rm .git/index && touch .git/index.lock && "
      "git symbolic-ref HEAD refs/heads/main && printf half >f");
  const auto outcome = bench.have();
  CHECK_MESSAGE(outcome.ok, outcome.message << outcome.output);
  CHECK(bench.file() == "one");
  CHECK(bench.have().first == Verdict::kept);
  CHECK(bench.in_tree("git config --get opsagent.cloning || echo none") == "none");
  // A repository that somebody has begun here, with a file of his own.
  std::filesystem::remove_all(bench.tree());
  shell("git init -q " + bench.tree());
  bench.StateHarness::write("/tree/f", "mine");
  CHECK_FALSE(bench.have().ok);
  CHECK(bench.file() == "mine");
}

TEST_CASE("common.git takes away locks that a power cut has left, and none that somebody holds") {
  Bench bench;
  REQUIRE(bench.have().ok);
  const auto lock = [&] {
    bench.in_tree(
        "mkdir -p .git/refs/remotes/origin && touch .git/index.lock .git/HEAD.lock .git/config.lock "
        ".git/refs/remotes/origin/main.lock");
  };
  lock();
  bench.commit("two");
  const auto outcome = bench.have();
  CHECK_MESSAGE(outcome.ok, outcome.message << outcome.output);
  CHECK(bench.file() == "two");
  CHECK(bench.in_tree("find .git -name '*.lock'") == "");
  CHECK(bench.have().first == Verdict::kept);

  // In the background, in the work tree; answers its number.
  const auto start = [&](const std::string& program) {
    const std::string pid =
        shell("sh -c 'cd " + bench.tree() + " && exec " + program + "' >/dev/null 2>&1 & echo $!");
    ::usleep(300'000);
    return pid;
  };
  const auto stop = [](const std::string& pid) {
    shell("kill " + pid + "; while readlink /proc/" + pid + "/cwd >/dev/null; do sleep 0.05; done");
  };
  shell("cp /bin/sleep " + bench.root() + "/git-sleep");
  // A git that is at work, with its lock closed while it waits for an editor; and another program that has
  // opened a file of git's.
  for (const std::string& holder : {std::string("../git-sleep 600"), std::string("sleep 600 3<.git/HEAD")}) {
    CAPTURE(holder);
    bench.commit("more" + std::to_string(holder.size()));
    lock();
    const std::string before = bench.file();
    const std::string pid = start(holder);
    CHECK_FALSE(bench.have().ok);
    CHECK(bench.file() == before);
    CHECK(bench.in_tree("find .git -name '*.lock' | wc -l") == "4");
    stop(pid);
    CHECK(bench.have().ok);
    CHECK(bench.file() != before);
  }
  // A shell in the work tree holds nothing.
  bench.commit("last");
  lock();
  const std::string pid = start("sleep 600");
  CHECK(bench.have().ok);
  stop(pid);
}

TEST_CASE("common.git goes by the agent's proxy, and by none that its environment happens to name") {
  Bench bench;
  const std::string answer = "HTTP/1.1 404 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
  tests::RawServer environment(tests::says(answer)), configured(tests::says(answer));
  bench.repo = "http://git.example.invalid/repo";
  const std::array<const char*, 5> names{"ALL_PROXY", "all_proxy", "HTTP_PROXY", "http_proxy", "HTTPS_PROXY"};
  for (const char* name : names)
    ::setenv(name, environment.url("").c_str(), 1);
  CHECK_FALSE(bench.have().ok);
  CHECK(environment.heads().empty());
  bench.host().downloads.proxy = configured.url("").substr(7);
  CHECK_FALSE(bench.have().ok);
  CHECK(environment.heads().empty());
  CHECK_FALSE(configured.heads().empty());
  for (const char* name : names)
    ::unsetenv(name);
}

TEST_CASE("common.git says what is in the way or cannot be found") {
  Bench bench;
  CHECK(bench.have(R"(, "revision": "none")").message == "Revision 'none' not found in " + bench.repo);
  CHECK(bench.have(R"(, "revision": "0123456789012345678901234567890123456789")").message ==
        "Revision '0123456789012345678901234567890123456789' not found in " + bench.repo);
  std::filesystem::remove_all(bench.tree());
  bench.StateHarness::write("/tree/precious", "x");
  for (const char* more : {"", R"(, "force": true)"}) {
    const auto outcome = bench.have(more);
    CHECK(outcome.message == bench.tree() + " exists, is not empty and not a git repository");
    CHECK(bench.exists("/tree/precious"));
  }
  std::filesystem::remove_all(bench.tree());
  bench.StateHarness::write("/tree", "x");
  CHECK(bench.have().message == bench.tree() + " exists and is not a directory");
  std::filesystem::remove(bench.tree());
  CHECK(bench.have(R"(, "ssh-key-file": "/none/key")").message == "Key file /none/key not readable");
  CHECK(bench.have(R"(, "user": "nobody-of-this-name")").message ==
        "User 'nobody-of-this-name' does not exist");
  bench.repo = bench.root() + "/missing";
  CHECK_FALSE(bench.have().ok);
}

TEST_CASE("common.git refuses values that git or a shell would take for something else") {
  StateHarness machine;
  const auto problems = [&](const std::string& key, const std::string& value) {
    std::string json = R"({"path": "/srv/x", "repo": "/srv/r", ")" + key + R"(": ")" + value + "\"}";
    if (key == "path" || key == "repo")
      json = R"({")" + std::string(key == "path" ? "repo" : "path") + R"(": "/srv/r", ")" + key + R"(": ")" +
             value + "\"}";
    return machine.problems(kState, json);
  };
  // A password in an address is taken for one however its scheme is written.
  CHECK(problems("repo", "HTTPS://ann:hunter2@host/\\u0001").find("hunter2") == std::string::npos);
  CHECK(problems("repo", "--upload-pack=touch /tmp/x") ==
        "Illegal value for 'repo': '--upload-pack=touch /tmp/x'");
  CHECK(problems("revision", "-f").find("Illegal value for 'revision'") == 0);
  for (const char* odd : {"a..b", "HEAD~1", "HEAD^", "a:b", "@{-1}", "a b", "a*"})
    CHECK_MESSAGE(problems("revision", odd).find("Illegal value for 'revision'") == 0, odd);
  CHECK(problems("repo", "a\\nb") != "");
  CHECK(problems("path", "relative") != "");
  CHECK(problems("path", "/srv/../etc") != "");
  CHECK(problems("ssh-key-file", "relative") != "");
  CHECK(problems("revision", "release/1.0") == "");
  Bench bench;
  bench.repo = "ext::sh -c 'touch " + bench.root() + "/pwned'";
  CHECK_FALSE(bench.have().ok);
  CHECK_FALSE(bench.exists("/pwned"));
}

TEST_CASE("common.git runs as the user, who owns the work tree then") {
  if (::geteuid() != 0) {
    MESSAGE("skipped: needs root");
    return;
  }
  Bench bench;
  const int port = tests::free_port();
  const tests::LoopbackServer server({"git", "daemon", "--export-all", "--reuseaddr", "--listen=127.0.0.1",
                                      "--port=" + std::to_string(port), "--base-path=" + bench.root()},
                                     port);
  bench.repo = "git://127.0.0.1:" + std::to_string(port) + "/repo";
  const std::string as_nobody = R"(, "user": "nobody")";
  const auto outcome = bench.have(as_nobody);
  CHECK_MESSAGE(outcome.ok, outcome.message);
  for (const char* part : {"", "/f", "/.git/HEAD"}) {
    struct stat st {};
    CHECK(::stat((bench.tree() + part).c_str(), &st) == 0);
    CHECK(st.st_uid == 65534);
  }
  CHECK(bench.have(as_nobody).first == Verdict::kept);
  // A key that only root can read is none for him.
  bench.StateHarness::write("/key", "x", 0600);
  CHECK(bench.have(as_nobody + R"(, "ssh-key-file": ")" + bench.root() + "/key\"").message ==
        "Key file " + bench.root() + "/key not readable for nobody");
}

TEST_CASE("common.git does not follow as root what another user has put into a work tree") {
  if (::geteuid() != 0) {
    MESSAGE("skipped: needs root");
    return;
  }
  Bench bench;
  CHECK(bench.have().changed);
  // fsmonitor is a program that git would start for every question.
  bench.in_tree("git config core.fsmonitor 'touch " + bench.root() + "/pwned; false'");
  shell("chown -R 12345:12345 " + bench.tree());
  bench.commit("two");
  auto outcome = bench.have();
  CHECK(outcome.first == Verdict::fail);
  CHECK_MESSAGE(outcome.message.find("give 'user'") != std::string::npos, outcome.message);
  CHECK_FALSE(bench.exists("/pwned"));
  shell("chown 0:0 " + bench.tree());
  outcome = bench.have();
  CHECK_MESSAGE(outcome.message.find("give 'user'") != std::string::npos, outcome.message);
  CHECK_FALSE(bench.exists("/pwned"));
}

TEST_CASE("common.git follows nobody's settings but those of whom it runs as, and root's") {
  if (::geteuid() != 0) {
    MESSAGE("skipped: needs root");
    return;
  }
  Bench bench;
  REQUIRE(bench.have().ok);
  bench.commit("two");
  // A group may change what git runs.
  for (const char* part : {"/.git", "/.git/config", "/.git/hooks"}) {
    CAPTURE(part);
    shell("chgrp 65534 " + bench.tree() + part + " && chmod g+w " + bench.tree() + part);
    const auto outcome = bench.have();
    CHECK_MESSAGE(outcome.message.find("can be changed by others in part") != std::string::npos,
                  outcome.message);
    shell("chgrp 0 " + bench.tree() + part);
  }
  // What is in the work tree itself is nobody's settings.
  shell("mkdir " + bench.tree() + "/config && chown 65534 " + bench.tree() + "/config");
  const auto fine = bench.have();
  CHECK_MESSAGE(fine.ok, fine.message);
  CHECK(bench.file() == "two");
  // A work tree of another's repository.
  bench.commit("three");
  shell("cd " + bench.root() + " && mv tree his && git -C his worktree add -q --detach ../tree && " +
        "printf '#!/bin/sh\nid -u >" + bench.root() + "/ran\n' >his/.git/hooks/post-checkout && " +
        "chmod +x his/.git/hooks/post-checkout && chown -R 65534 his");
  std::filesystem::remove(bench.root() + "/ran");
  auto outcome = bench.have();
  CHECK_MESSAGE(outcome.message.find("has no folder .git of its own") != std::string::npos, outcome.message);
  // And one that he has put there for another user's agent to find.
  shell("cd " + bench.root() + " && rm -r tree && cp -r his tree && chown -R 12345 tree && chmod 755 .");
  outcome = bench.have(R"(, "user": "nobody")");
  CHECK_MESSAGE(outcome.message.find("belongs to uid 12345, whose settings would be followed as nobody") !=
                    std::string::npos,
                outcome.message);
  CHECK_FALSE(bench.exists("/ran"));
}

TEST_CASE("common.git fetches from git daemon") {
  Bench bench;
  const int port = tests::free_port();
  const tests::LoopbackServer server({"git", "daemon", "--export-all", "--reuseaddr", "--listen=127.0.0.1",
                                      "--port=" + std::to_string(port), "--base-path=" + bench.root()},
                                     port);
  bench.repo = "git://127.0.0.1:" + std::to_string(port) + "/repo";
  const auto outcome = bench.have();
  CHECK_MESSAGE(outcome.ok, outcome.message);
  CHECK(bench.file() == "one");
  CHECK(bench.have().first == Verdict::kept);
}

TEST_CASE("common.git tells a password to the server and to nobody else") {
  Bench bench;
  bench.author("git update-server-info && cd ../repo && git update-server-info");
  std::string seen;  // of all processes, while the server is asked
  tests::RawServer server([&](const tests::RawPeer& peer, const std::string& head) {
    if (head.find("Authorization: Basic YW5uOmh1bnRlcjI=") == std::string::npos) {
      peer.send("HTTP/1.1 401 No\r\nWWW-Authenticate: Basic realm=\"x\"\r\nContent-Length: 0\r\n\r\n");
      return;
    }
    seen += shell("cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' ' || true");
    std::string path = head.substr(4, head.find_first_of(" ?", 4) - 4);
    std::ifstream file(bench.root() + path, std::ios::binary);
    const std::string body((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    const bool found = std::filesystem::is_regular_file(bench.root() + path);
    peer.send(std::string(found ? "HTTP/1.1 200 OK" : "HTTP/1.1 404 No") +
              "\r\nContent-Length: " + std::to_string(body.size()) + "\r\nConnection: close\r\n\r\n" + body);
  });
  const std::string clean = server.url("/repo");
  bench.repo = clean;
  bench.repo.insert(7, "ann:hunter2@");
  const auto outcome = bench.have(R"(, "revision": "main")");
  CHECK_MESSAGE(outcome.ok, outcome.message);
  CHECK(bench.file() == "one");
  CHECK(outcome.message.find("hunter2") == std::string::npos);
  CHECK(outcome.output.find("hunter2") == std::string::npos);
  // (The test itself has it among its own words nowhere: neither arguments nor the work tree may.)
  CHECK(seen.find("git-remote-http") != std::string::npos);
  CHECK(seen.find("hunter2") == std::string::npos);
  CHECK(shell("grep -r hunter2 " + bench.tree() + " || true") == "");
  bench.repo = clean;
  CHECK(bench.have(R"(, "revision": "main")").message == "Authentication failed for " + clean);
}

TEST_CASE("common.git tells a password to no host that the server sends it to") {
  Bench bench;
  bench.author("git update-server-info && cd ../repo && git update-server-info");
  bool told = false, asked = false;
  tests::RawServer other([&](const tests::RawPeer& peer, const std::string& head) {
    asked = true;
    told = told || head.find("uthorization:") != std::string::npos;
    const std::string path = head.substr(4, head.find_first_of(" ?", 4) - 4);
    std::ifstream file(bench.root() + path, std::ios::binary);
    const std::string body((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    const bool found = std::filesystem::is_regular_file(bench.root() + path);
    peer.send(std::string(found ? "HTTP/1.1 200 OK" : "HTTP/1.1 404 No") +
              "\r\nContent-Length: " + std::to_string(body.size()) + "\r\nConnection: close\r\n\r\n" + body);
  });
  tests::RawServer server([&](const tests::RawPeer& peer, const std::string& head) {
    const std::string target = head.substr(4, head.find(' ', 4) - 4);
    peer.send("HTTP/1.1 302 Found\r\nLocation: " + other.url(target) +
              "\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
  });
  bench.repo = server.url("/repo");
  bench.repo.insert(7, "ann:hunter2@");
  const auto outcome = bench.have(R"(, "revision": "main")");
  CHECK(asked);
  CHECK_FALSE(told);
  CHECK_MESSAGE(outcome.ok, outcome.message);
}

TEST_CASE("common.git fetches by ssh with the key that it is given") {
  if (::geteuid() != 0) {
    MESSAGE("skipped: sshd wants root");
    return;
  }
  Bench bench;
  const int port = tests::free_port();
  const std::string dir = bench.root() + "/a key's folder";
  shell("mkdir '" + bench.root() + "/a key'\"'\"'s folder' && chmod 700 " + bench.root() +
        "/a* && mkdir -p /run/sshd && cd " + bench.root() +
        " && ssh-keygen -q -t ed25519 -N '' -f host && ssh-keygen -q -t ed25519 -N '' -f key && "
        "cp key \"" +
        dir + "/key\" && cp key.pub allowed && chmod 600 allowed \"" + dir + "/key\"");
  std::ofstream(bench.root() + "/sshd_config")
      << "Port " << port << "\nListenAddress 127.0.0.1\nHostKey " << bench.root()
      << "/host\nAuthorizedKeysFile " << bench.root()
      << "/allowed\nPasswordAuthentication no\nStrictModes no\nUsePAM no\nPidFile none\n"
      << "PermitRootLogin prohibit-password\n";
  const tests::LoopbackServer server({"/usr/sbin/sshd", "-D", "-e", "-f", bench.root() + "/sshd_config"},
                                     port);
  bench.repo = "ssh://root@127.0.0.1:" + std::to_string(port) + bench.root() + "/repo";
  const auto outcome = bench.have(R"(, "ssh-key-file": ")" + dir + "/key\"");
  CHECK_MESSAGE(outcome.ok, outcome.message << outcome.output);
  CHECK(bench.file() == "one");
  CHECK(bench.have(R"(, "ssh-key-file": ")" + dir + "/key\"").first == Verdict::kept);
  shell("cd " + bench.root() + " && ssh-keygen -q -t ed25519 -N '' -f other");
  CHECK(bench.have(R"(, "ssh-key-file": ")" + bench.root() + "/other\"").message ==
        "Authentication failed for " + bench.repo);
  shell("ssh-keygen -q -R '[127.0.0.1]:" + std::to_string(port) + "' 2>/dev/null || true");
}

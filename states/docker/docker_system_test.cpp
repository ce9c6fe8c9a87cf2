// linux.docker.* with a real engine and real registries: one engine for all cases, because it takes seconds
// to start.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include <doctest/doctest.h>

#include "states/state.hpp"
#include "tests/support/docker_engine.hpp"
#include "tests/support/state_harness.hpp"

namespace states {
namespace linux_docker_pulled {
extern const StateType& kState;
}
namespace linux_docker_running {
extern const StateType& kState;
}
namespace linux_docker_pushed {
extern const StateType& kState;
}
namespace linux_docker_built {
extern const StateType& kState;
}
namespace linux_docker_deploy {
extern const StateType& kState;
}
}  // namespace states

namespace {

using states::Verdict;
using tests::StateHarness;
const states::StateType& kPulled = states::linux_docker_pulled::kState;
const states::StateType& kRunning = states::linux_docker_running::kState;
const states::StateType& kPushed = states::linux_docker_pushed::kState;
const states::StateType& kBuilt = states::linux_docker_built::kState;
const states::StateType& kDeploy = states::linux_docker_deploy::kState;

tests::DockerEngine& engine() {
  static tests::DockerEngine one;
  return one;
}

struct Machine : StateHarness {
  Machine() : StateHarness(RunningSystem{}) {
    engine();
    (void)tests::run_or_fail("docker ps -aq | xargs -r docker rm -f >/dev/null");
  }
  // Fails the test with the message.
  Outcome must(const states::StateType& type, const std::string& json) {
    const Outcome outcome = converge(type, json);
    CHECK_MESSAGE(outcome.ok, outcome.message << "\n" << outcome.output);
    return outcome;
  }
};

std::string id_of(const std::string& name) {
  return engine().docker("inspect -f '{{.Id}}' " + name);
}
std::string field(const std::string& name, const std::string& path) {
  return engine().docker("inspect -f '{{" + path + "}}' " + name);
}
bool is_there(const std::string& name) {
  bool ok = false;
  tests::shell_output("docker inspect " + name, ok);
  return ok;
}

// A new version in the registry, and none of it here.
void publish(const std::string& name, const std::string& version) {
  engine().import(name, version);
  engine().docker("push -q " + name);
  engine().docker("rmi " + name);
}

const std::string kWeb = R"("container": "web", "image": "base", "command": ["sleep", "1000"])";

}  // namespace

TEST_SUITE_BEGIN("docker");

TEST_CASE("docker: an image is pulled when the registry has another, and kept when not") {
  Machine machine;
  const std::string name = "127.0.0.1:5000/shop/web";
  publish(name + ":stable", "one");
  const std::string json =
      R"({"repo": ")" + name + R"(", "tag": "stable", "containers": ["web"], "email": "a@b"})";
  const auto plan = machine.plan(kPulled, json);
  CHECK(plan.message == "Pull " + name + ":stable");
  CHECK_FALSE(is_there(name + ":stable"));
  const auto first = machine.must(kPulled, json);
  CHECK(first.changed);
  CHECK(first.message.starts_with("New image " + name + ":stable ("));
  const auto again = machine.converge(kPulled, json);
  CHECK(again.first == Verdict::kept);
  CHECK(again.message.starts_with("Image " + name + ":stable is current ("));

  // Another one: the containers go, and so does the old image.
  const std::string old = field(name + ":stable", ".Id");
  engine().docker("run -d --name web " + name + ":stable sleep 1000");
  engine().docker("tag " + name + ":stable keep:1");
  engine().import(name + ":stable", "two");
  engine().docker("push -q " + name + ":stable");
  engine().docker("tag keep:1 " + name + ":stable");
  engine().docker("rmi keep:1");
  const auto next = machine.must(kPulled, json);
  CHECK(next.message.find("; dropped: web") != std::string::npos);
  CHECK_FALSE(is_there("web"));
  CHECK_FALSE(is_there(old));
  CHECK(machine.converge(kPulled, json).first == Verdict::kept);

  // By its digest nobody need be asked.
  const std::string digest = field(name + ":stable", "index .RepoDigests 0");
  CHECK(machine.converge(kPulled, R"({"repo": ")" + digest + "\"}").first == Verdict::kept);
}

TEST_CASE("docker: what cannot be pulled says why") {
  Machine machine;
  const auto message = [&](const std::string& json) { return machine.converge(kPulled, json).message; };
  CHECK(message(R"({"repo": "127.0.0.1:5000/no/such"})")
            .starts_with("Cannot pull 127.0.0.1:5000/no/such:latest: "));
  CHECK(message(R"({"repo": "127.0.0.1:9/x/y"})").starts_with("Cannot pull 127.0.0.1:9/x/y:latest: "));
}

TEST_CASE("docker: credentials reach the registry, and neither output nor arguments") {
  Machine machine;
  const std::string name = "127.0.0.1:5001/private/web";
  engine().import(name, "secret");
  const auto login = [&](const std::string& password) {
    return R"("username": "ops", "password": ")" + password + "\"}";
  };
  const std::string push = R"({"repository": ")" + name + "\", ";
  CHECK(machine.converge(kPushed, push + login("wrong-password"))
            .message.starts_with("Login to 127.0.0.1:5001 as ops failed: "));
  const auto pushed = machine.must(kPushed, push + login("tr0ub4dor-x"));
  CHECK(pushed.message.starts_with(name + ":latest pushed (sha256:"));
  CHECK((pushed.message + pushed.output).find("tr0ub4dor-x") == std::string::npos);
  engine().docker("rmi " + name);
  const std::string pull = R"({"repo": ")" + name + "\", ";
  CHECK(machine.converge(kPulled, R"({"repo": ")" + name + "\"}")
            .message.starts_with("Cannot pull " + name + ":latest: "));
  const auto wrong = machine.converge(kPulled, pull + login("wrong-password"));
  CHECK(wrong.message.starts_with("Login to 127.0.0.1:5001 as ops failed: "));
  CHECK(wrong.message.find("wrong-password") == std::string::npos);
  CHECK(machine.must(kPulled, pull + login("tr0ub4dor-x")).changed);
  CHECK(machine.converge(kPulled, pull + login("tr0ub4dor-x")).first == Verdict::kept);
  // Nothing of it is kept on the disk of the agent's user.
  bool found = false;
  tests::shell_output("grep -rqs tr0ub4dor /root/.docker " + machine.root(), found);
  CHECK_FALSE(found);
}

TEST_CASE("docker: a container is made, kept, made again when its parameters change") {
  Machine machine;
  engine().import("base", "one");
  const std::string json = "{" + kWeb + "}";
  const auto plan = machine.plan(kRunning, json);
  CHECK(plan.message == "Create web");
  CHECK_FALSE(is_there("web"));
  CHECK(machine.must(kRunning, json).message == "web created");
  CHECK(field("web", ".State.Running") == "true");
  CHECK(field("web", ".Config.Hostname") == "web");
  const std::string id = id_of("web");
  const auto again = machine.converge(kRunning, json);
  CHECK(again.first == Verdict::kept);
  CHECK(again.message == "web is running");

  const std::string more = "{" + kWeb + R"json(, "environment": [{"key": "STAGE", "value": "x y$(id)"},
      {"key": "EMPTY", "value": ""}]})json";
  CHECK(machine.must(kRunning, more).message == "web re-created (parameters changed)");
  CHECK(id_of("web") != id);
  CHECK(field("web", ".Config.Env").find("STAGE=x y$(id) EMPTY=") != std::string::npos);
  engine().docker("kill web");
  CHECK(machine.must(kRunning, more).message.starts_with("web re-created (Exited (137)"));
  const std::string forced = more.substr(0, more.size() - 1) + R"(, "force": true})";
  CHECK(machine.must(kRunning, forced).message == "web re-created (force)");
  engine().docker("rm -f web");
  CHECK(machine.must(kRunning, more).message == "web created");
}

TEST_CASE("docker: every parameter of a container reaches the engine") {
  Machine machine;
  engine().import("base:two", "two");
  machine.write("/host.conf", "from the host\n");
  engine().docker("run -d --name db base:two sleep 1000");
  machine.must(kRunning,
               R"({"container": "all", "image": "base", "tag": "two", "entry_point": ["/bin/sh", "-c"],
      "command": ["cat /etc/app.conf; exec sleep 1000"],
      "binds": [{"key": "/tmp", "value": "/data:ro"}, {"key": "some-volume", "value": "/vol"}],
      "files": [{"key": "/etc/app.conf", "value": ")" +
                   machine.root() + R"(/host.conf"}],
      "devices": [{"key": "/dev/null", "value": "/dev/nothing:r"}],
      "ports": [{"key": "80", "value": "18080"}, {"key": "53/udp", "value": "127.0.0.1:10053"}],
      "mem_limit": "64m", "cpu_shares": "512", "publish_all_ports": true,
      "links": [{"key": "db", "value": "database"}],
      "username": "u", "password": "not-used", "email": "a@b"})");
  CHECK(field("all", ".Config.Image") == "base:two");
  CHECK(field("all", ".Config.Entrypoint") == "[/bin/sh -c]");
  CHECK(engine().docker("logs all") == "from the host");
  CHECK(field("all", ".HostConfig.Binds") ==
        "[/tmp:/data:ro some-volume:/vol " + machine.root() + "/host.conf:/etc/app.conf]");
  CHECK(field("all", ".HostConfig.Devices") == "[{/dev/null /dev/nothing r}]");
  CHECK(field("all", ".HostConfig.PortBindings") ==
        "map[53/udp:[{127.0.0.1 10053}] 80/tcp:[{0.0.0.0 18080}]]");
  CHECK(field("all", ".HostConfig.Memory") == "67108864");
  CHECK(field("all", ".HostConfig.CpuShares") == "512");
  CHECK(field("all", ".HostConfig.PublishAllPorts") == "true");
  CHECK(field("all", ".HostConfig.Links") == "[/db:/all/database]");
  machine.must(
      kRunning,
      R"({"container": "cpu", "image": "base:two", "command": ["sleep", "1000"], "cpu_shares": "0-1"})");
  CHECK(field("cpu", ".HostConfig.CpusetCpus") == "0-1");
}

TEST_CASE("docker: a number of containers follows the count, and nobody else's are removed") {
  Machine machine;
  engine().import("base", "one");
  engine().docker("run -d --name web_3 base sleep 1000");  // somebody else's
  const auto json = [](const std::string& count) {
    return "{" + kWeb + R"(, "port_bindings": [{"key": "80", "value": "18000"}])" + count + "}";
  };
  CHECK(machine.must(kRunning, json(R"(, "count": 2)")).message == "web_1 created\n\nweb_2 created");
  CHECK(field("web_2", ".HostConfig.PortBindings") == "map[80/tcp:[{0.0.0.0 18001}]]");
  CHECK(machine.converge(kRunning, json(R"(, "count": "2")")).first == Verdict::kept);
  // Another count is another fingerprint: the port of each may change.
  machine.must(kRunning, json(R"(, "count": 1)"));
  CHECK_FALSE(is_there("web_2"));
  CHECK(is_there("web_3"));
  machine.must(kRunning, json(""));
  CHECK(is_there("web"));
  CHECK_FALSE(is_there("web_1"));
  CHECK(is_there("web_3"));
}

TEST_CASE("docker: a container that somebody else has made is left alone while it runs") {
  Machine machine;
  engine().import("base", "one");
  engine().docker("run -d --name web base sleep 500");
  const std::string id = id_of("web");
  CHECK(machine.converge(kRunning, "{" + kWeb + "}").first == Verdict::kept);
  CHECK(id_of("web") == id);
  engine().docker("stop -t 0 web");
  CHECK(machine.must(kRunning, "{" + kWeb + "}").changed);
  CHECK(id_of("web") != id);
}

TEST_CASE("docker: a container that is paused, as backups do it, is not thrown away") {
  Machine machine;
  engine().import("base", "one");
  machine.must(kRunning, "{" + kWeb + "}");
  const std::string id = id_of("web");
  engine().docker("pause web");
  CHECK(machine.converge(kRunning, "{" + kWeb + "}").first == Verdict::kept);
  CHECK(id_of("web") == id);
  engine().docker("unpause web");
}

TEST_CASE("docker: a watched file restarts the containers without making them again") {
  Machine machine;
  engine().import("base", "one");
  const std::string json = "{" + kWeb + R"(, "watch": ["/etc/web.conf"]})";
  machine.must(kRunning, json);
  const std::string id = id_of("web");
  const std::string started = field("web", ".State.StartedAt");
  machine.watch_triggered = true;
  machine.watch_changed = {"/etc/web.conf"};
  CHECK(machine.plan(kRunning, json).message == "Restart web (changed: /etc/web.conf)");
  CHECK(machine.must(kRunning, json).message == "web restarted (changed: /etc/web.conf)");
  CHECK(id_of("web") == id);
  CHECK(field("web", ".State.StartedAt") != started);
}

TEST_CASE("docker: a container that cannot run says why") {
  Machine machine;
  engine().import("base", "one");
  const auto failure = [&](const std::string& json) {
    const auto outcome = machine.converge(kRunning, json);
    CHECK_FALSE(outcome.ok);
    return outcome.message + "\n" + outcome.output;
  };
  CHECK(failure(R"({"container": "web", "image": "no-such"})") ==
        "Image no-such:latest is not available locally\n");
  const std::string ended =
      failure(R"({"container": "web", "image": "base", "command": ["sh", "-c", "echo no config; exit 3"]})");
  CHECK(ended.starts_with("web exited immediately (code 3)\n"));
  CHECK(ended.find("no config") != std::string::npos);
  CHECK(failure(R"({"container": "web2", "image": "base", "command": ["/no/such"]})").starts_with("web2: "));
  CHECK_FALSE(is_there("web2"));  // what never ran is not left behind
  CHECK(
      failure(
          R"({"container": "web", "image": "base", "files": [{"key": "/etc/x", "value": "/no/such/file"}]})") ==
      "File /no/such/file does not exist\n");
}

TEST_CASE("docker: an image is pushed once, a container is committed when it has changed") {
  Machine machine;
  const std::string name = "127.0.0.1:5000/shop/built";
  engine().import(name + ":1", "one");
  const std::string plain = R"({"repository": ")" + name + R"(", "tag": "1"})";
  CHECK(machine.must(kPushed, plain).changed);
  const auto again = machine.converge(kPushed, plain);
  CHECK(again.first == Verdict::kept);
  CHECK(again.message.starts_with(name + ":1 is already pushed (sha256:"));

  engine().docker("run -d --name build " + name + ":1 sh -c 'echo first >/result; sleep 1000'");
  while (engine().docker("diff build").find("/result") == std::string::npos)
    ::usleep(100'000);
  engine().docker("run -d --name dep " + name + ":1 sleep 1000");
  const std::string commit = R"({"repository": ")" + name + R"(", "tag": "2", "container": "build",
      "message": "nightly", "author": "Ops <ops@example.org>", "dep_containers": ["dep"], "email": "x"})";
  const auto first = machine.must(kPushed, commit);
  CHECK(first.message.find("; dropped: dep") != std::string::npos);
  CHECK(field(name + ":2", ".Comment") == "nightly");
  CHECK(field(name + ":2", ".Author") == "Ops <ops@example.org>");
  CHECK(machine.converge(kPushed, commit).first == Verdict::kept);
  engine().docker("exec build touch /another");
  CHECK(machine.must(kPushed, commit).changed);
  CHECK(machine.converge(kPushed, commit).first == Verdict::kept);

  CHECK(machine.converge(kPushed, R"({"repository": ")" + name + R"(", "tag": "9"})").message ==
        "Image " + name + ":9 not found");
  CHECK(machine.converge(kPushed, R"({"repository": ")" + name + R"(", "container": "nobody"})").message ==
        "Container nobody not found");
  engine().import("127.0.0.1:9/x/y", "x");
  // A registry that does not answer: nobody knows whether there is anything to push, and nothing is dropped.
  const std::string away = R"({"repository": "127.0.0.1:9/x/y", "dep_containers": ["build"]})";
  CHECK(machine.plan(kPushed, away).verdict == Verdict::fail);
  CHECK(machine.converge(kPushed, away).message.starts_with("Push of 127.0.0.1:9/x/y:latest refused: "));
  CHECK(is_there("build"));
}

TEST_CASE("docker: containers that have to go do so, although the agent was killed while they went") {
  Machine machine;
  // Ends somebody who is at it a moment after that is so: the first container takes 10 s to stop.
  const auto kill_after = [&](const std::string& sign, const states::StateType& type,
                              const std::string& json) {
    const pid_t child = ::fork();
    if (child == 0) {
      (void)machine.converge(type, json);
      ::_exit(0);
    }
    bool ok = false;
    for (int tries = 0; tries < 300 && !ok; ++tries) {
      ::usleep(50'000);
      (void)tests::shell_output(sign, ok);
    }
    CHECK(ok);
    ::usleep(500'000);
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    CHECK(WIFSIGNALED(status));
  };
  const std::string name = "127.0.0.1:5000/shop/killed";
  const auto start = [&] {
    for (const char* dep : {"dep1", "dep2"})
      engine().docker("run -d --name " + std::string(dep) + " base sleep 1000");
  };
  engine().import("base", "base");
  start();
  engine().import(name, "one");
  const std::string push = R"({"repository": ")" + name + R"(", "dep_containers": ["dep1", "dep2"]})";
  kill_after("grep -qs removal " + machine.host().state_dir + "/docker-begun/*", kPushed, push);
  CHECK(is_there("dep2"));
  CHECK(machine.plan(kPushed, push).message.find("what is left of dep_containers") != std::string::npos);
  CHECK(machine.must(kPushed, push).changed);
  CHECK_FALSE(is_there("dep1"));
  CHECK_FALSE(is_there("dep2"));
  CHECK(machine.converge(kPushed, push).first == Verdict::kept);
  // New ones stay: nothing new was pushed.
  start();
  CHECK(machine.converge(kPushed, push).first == Verdict::kept);
  CHECK(is_there("dep1"));

  // The same with an image that is pulled.
  engine().docker("rmi " + name);
  const std::string pull = R"({"repo": ")" + name + R"(", "containers": ["dep1", "dep2"]})";
  kill_after("docker inspect " + name, kPulled, pull);
  CHECK(is_there("dep2"));
  CHECK(machine.must(kPulled, pull).changed);
  CHECK_FALSE(is_there("dep1"));
  CHECK_FALSE(is_there("dep2"));
  CHECK(machine.converge(kPulled, pull).first == Verdict::kept);
}

TEST_CASE("docker: a registry that names another digest each time removes no containers, and is seen") {
  Machine machine;
  const std::string name = "127.0.0.1:5002/shop/lied";
  engine().import("base", "base");
  engine().import(name, "one");
  engine().docker("run -d --name dep base sleep 1000");
  const std::string json = R"({"repository": ")" + name + R"(", "dep_containers": ["dep"]})";
  for (int round = 0; round < 3; ++round) {
    const auto outcome = machine.converge(kPushed, json);
    CHECK_FALSE_MESSAGE(outcome.ok, outcome.message);
    CHECK(is_there("dep"));
  }
}

TEST_CASE("docker: an image is built of a folder, and again when its Dockerfile is another") {
  Machine machine;
  engine().import("base", "base");
  const std::string folder = machine.root() + "/web";
  const auto json = [&](const std::string& more = {}) {
    return R"({"tag": "built/web:1", "path": ")" + folder + "\"" + more + "}";
  };
  CHECK(machine.converge(kBuilt, json()).message == folder + "/Dockerfile not found");
  std::filesystem::create_directories(folder + "/deep/er");
  machine.write("/web/Dockerfile", "FROM base\nCOPY . /app/\nRUN cat /app/deep/er/file >/result\n");
  machine.write("/web/deep/er/file", "content\n");
  machine.write("/web/secret.key", "secret\n");
  machine.write("/web/.dockerignore", "*.key\n");
  const auto plan = machine.plan(kBuilt, json());
  CHECK(plan.message == "Build built/web:1 of " + folder);
  CHECK_FALSE(is_there("built/web:1"));
  const auto first = machine.must(kBuilt, json());
  CHECK(first.message.starts_with("Image built/web:1 built ("));
  CHECK(first.output.find("COPY . /app/") != std::string::npos);
  CHECK(engine().docker("run --rm built/web:1 cat /result") == "content");
  CHECK(engine().docker("run --rm built/web:1 sh -c 'cat /app/secret.key 2>/dev/null || echo none'") ==
        "none");
  machine.next_round();
  const auto again = machine.converge(kBuilt, json());
  CHECK(again.first == Verdict::kept);
  CHECK(again.message == "Image built/web:1 exists");
  // By force, once a round, and nothing is dropped for the same image.
  engine().docker("run -d --name web built/web:1 sleep 1000");
  const std::string forced = json(R"(, "force": true, "containers": ["web"])");
  CHECK(machine.must(kBuilt, forced).message == "Image built/web:1 rebuilt, unchanged");
  CHECK(is_there("web"));
  machine.write("/web/Dockerfile", "FROM base\nRUN echo two >/result\n");
  machine.next_round();
  const std::string with_container = json(R"(, "containers": ["web"])");
  const auto next = machine.must(kBuilt, with_container);
  CHECK(next.message.find("; dropped: web") != std::string::npos);
  CHECK_FALSE(is_there("web"));
  CHECK(machine.converge(kBuilt, with_container).first == Verdict::kept);
  // What fails says how, keeps the image, and is tried again.
  const std::string id = field("built/web:1", ".Id");
  machine.write("/web/Dockerfile", "FROM base\nRUN sh -c 'echo because >&2; sleep 0; false'\n");
  const auto failed = machine.converge(kBuilt, json());
  CHECK_FALSE(failed.ok);
  CHECK_MESSAGE(failed.message.starts_with("Build of built/web:1 failed (exit "), failed.message);
  CHECK(failed.output.find("because") != std::string::npos);
  CHECK(field("built/web:1", ".Id") == id);
  CHECK_FALSE(machine.converge(kBuilt, json()).ok);
  // A build that was killed before all containers had gone.
  machine.write("/web/Dockerfile", "FROM base\nRUN echo three >/result\n");
  engine().docker("run -d --name web base sleep 1000");
  engine().docker("run -d --name web2 base sleep 1000");
  const std::string two = json(R"(, "containers": ["web", "web2"])");
  const pid_t child = ::fork();
  if (child == 0) {
    (void)machine.converge(kBuilt, two);
    ::_exit(0);
  }
  for (int tries = 0; tries < 300 && field("built/web:1", ".Id") == id; ++tries)
    ::usleep(50'000);
  ::usleep(500'000);
  ::kill(child, SIGKILL);
  int status = 0;
  ::waitpid(child, &status, 0);
  CHECK(WIFSIGNALED(status));
  CHECK(is_there("web2"));
  CHECK(machine.must(kBuilt, two).changed);
  CHECK_FALSE(is_there("web"));
  CHECK_FALSE(is_there("web2"));
  CHECK(machine.converge(kBuilt, two).first == Verdict::kept);
}

TEST_CASE("docker: an application is deployed, and again when its files or its image change") {
  Machine machine;
  const std::string name = "127.0.0.1:5000/shop/deployed";
  publish(name, "one");
  const auto json = [&](const std::string& content, const std::string& more = {}) {
    return R"({"container": "shop", "image": ")" + name + R"(", "command": ["sleep", "1000"],
        "files": [{"key": "/etc/shop.conf", "value": ")" +
           content + R"("}])" + more + "}";
  };
  const auto first = machine.must(kDeploy, json("workers = 4\\n"));
  CHECK(first.message.starts_with("New image " + name + ":latest ("));
  CHECK(first.message.ends_with("shop created"));
  CHECK(engine().docker("exec shop cat /etc/shop.conf") == "workers = 4");
  CHECK(machine.converge(kDeploy, json("workers = 4\\n")).first == Verdict::kept);
  const std::string copy = machine.host().state_dir + "/docker-config/shop/-etc-shop.conf";
  CHECK(std::filesystem::exists(copy));

  CHECK(machine.must(kDeploy, json("workers = 8\\n"))
            .message.ends_with("shop re-created (parameters changed)"));
  CHECK(engine().docker("exec shop cat /etc/shop.conf") == "workers = 8");
  // Somebody edits the host's copy.
  std::ofstream(copy) << "workers = 1\n";
  CHECK(
      machine.must(kDeploy, json("workers = 8\\n")).message.ends_with("shop restarted (its files changed)"));
  CHECK(engine().docker("exec shop cat /etc/shop.conf") == "workers = 8");
  // A new image.
  engine().import("next", "two");
  engine().docker("tag next " + name);
  engine().docker("push -q " + name);
  const auto next = machine.must(kDeploy, json("workers = 8\\n"));
  CHECK(engine().docker("exec shop cat /version") == "two");
  // All others.
  machine.must(kDeploy,
               json("x", R"(, "tag": "latest", "count": 2, "environment": [{"key": "A", "value": "b"}],
      "volumes": [{"key": "/tmp", "value": "/data"}], "devices": [{"key": "/dev/null", "value": "/dev/n"}],
      "mem_limit": "64m", "cpu_shares": "512", "port_bindings": [{"key": "80", "value": "18200"}],
      "force": true, "username": "u", "password": "p-not-asked-for", "email": "a@b")"));
  CHECK_FALSE(is_there("shop"));
  CHECK(field("shop_2", ".HostConfig.Memory") == "67108864");
}

TEST_SUITE_END();

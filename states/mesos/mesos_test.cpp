// Mesos is in no distribution: its files are written to layers of the test's own, and its services are init
// scripts that note what they are told.
#include "states/mesos/mesos.hpp"

#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>

#include <doctest/doctest.h>

#include "states/state.hpp"
#include "tests/support/scratch_folder.hpp"
#include "tests/support/state_harness.hpp"

namespace states {
namespace linux_mesos_master {
extern const StateType& kState;
}
namespace linux_mesos_slave {
extern const StateType& kState;
}
}  // namespace states

namespace {

namespace fs = std::filesystem;
using states::Verdict;
using tests::StateHarness;
const states::StateType& kMaster = states::linux_mesos_master::kState;
const states::StateType& kSlave = states::linux_mesos_slave::kState;

const bool kCan = ::geteuid() == 0 && base::find_program("update-rc.d").has_value();
#define NEEDS_ROOT *doctest::skip(!kCan)

constexpr const char* kMasterJson =
    R"({"masters_addresses": [{"key": "10.0.0.1", "value": "one"}, {"key": "10.0.0.2", "value": ""},
        {"key": "10.0.0.3", "value": "three"}], "cluster_name": "big one", "server_id": 3,
        "master_ip": "10.0.0.3", "hostname": "three", "framework": ["marathon"]})";
constexpr const char* kSlaveJson =
    R"({"masters_addresses": [{"key": "10.0.0.1", "value": "one"}, {"key": "10.0.0.2"}],
        "attributes": [{"key": "rack", "value": "a b"}, {"key": "disk", "value": "ssd"}],
        "slave_ip": "10.0.0.9"})";

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void write(const std::string& path, const std::string& text, mode_t mode = 0644) {
  fs::create_directories(fs::path(path).parent_path());
  std::ofstream(path) << text;
  ::chmod(path.c_str(), mode);
}

// A service that "runs" as long as its file is there.
void put_service(const std::string& name) {
  const std::string state = "/mnt/" + name;
  write("/etc/init.d/" + name,
        "#!/bin/sh\n### BEGIN INIT INFO\n# Provides: " + name +
            "\n# Required-Start:\n# Required-Stop:\n# Default-Start: 2 3 4 5\n"
            "# Default-Stop: 0 1 6\n### END INIT INFO\n"
            "[ \"$1\" = status ] || echo \"" +
            name + " $1\" >>/mnt/calls\ncase $1 in\n status) test -e " + state +
            " || exit 3 ;;\n start | restart) touch " + state + " ;;\n stop) rm -f " + state + " ;;\nesac\n",
        0755);
}

std::string calls() {
  std::string all = text_of("/mnt/calls");
  fs::remove("/mnt/calls");
  return all;
}

// /etc and /var/lib that are written to in memory only, and a host name of its own. Answers what `body` does.
std::string in_own_machine(const std::function<std::string()>& body) {
  return tests::in_own_mounts([&]() -> std::string {
    if (::unshare(CLONE_NEWUTS) != 0 || ::sethostname("before", 6) != 0) return "no host name of its own";
    for (const char* folder : {"/mnt", "/usr/local/sbin"})
      if (::mount("tmpfs", folder, "tmpfs", 0, nullptr) != 0) return "no tmpfs";
    if (fs::exists("/run/systemd") && ::mount("tmpfs", "/run/systemd", "tmpfs", 0, nullptr) != 0)
      return "no tmpfs on /run/systemd";
    for (const std::string folder : {"/etc", "/var/lib"}) {
      const std::string name = folder == "/etc" ? "etc" : "lib";
      fs::create_directories("/mnt/layers/" + name);
      fs::create_directories("/mnt/scratch/" + name);
      const std::string options =
          "lowerdir=" + folder + ",upperdir=/mnt/layers/" + name + ",workdir=/mnt/scratch/" + name;
      if (::mount("overlay", folder.c_str(), "overlay", 0, options.c_str()) != 0) return "no overlay";
    }
    write("/etc/hosts", "127.0.0.1 localhost\n10.0.0.1 one # a master\n");
    for (const char* name : {"mesos-master", "mesos-slave"})
      write(std::string("/usr/local/sbin/") + name, "#!/bin/sh\n", 0755);
    for (const char* name : {"zookeeper", "mesos-master", "mesos-slave", "marathon", "haproxy"})
      put_service(name);
    return body();
  });
}

// The first of these files that is another; "" when all are right.
std::string wrong_file(const std::vector<std::pair<std::string, std::string>>& wanted) {
  for (const auto& [path, text] : wanted)
    if (text_of(path) != text) return path + ": " + text_of(path);
  return {};
}

}  // namespace

TEST_CASE("mesos: /etc/hosts gets what it does not have") {
  const std::vector<states::mesos::Master> masters{{"10.0.0.1", "one"}, {"10.0.0.2", "10.0.0.2"}};
  using states::mesos::put_hosts;
  CHECK(put_hosts("", masters) == "10.0.0.1 one\n");
  CHECK(put_hosts("127.0.0.1 localhost", masters) == "127.0.0.1 localhost\n10.0.0.1 one\n");
  for (const char* has : {"10.0.0.1 one\n", "10.0.0.1\tother one # x\n", " 10.0.0.1 one"})
    CHECK(put_hosts(has, masters) == has);
  CHECK(put_hosts("# 10.0.0.1 one\n", masters) == "# 10.0.0.1 one\n10.0.0.1 one\n");
  CHECK(put_hosts("10.0.0.1 # one\n", masters) == "10.0.0.1 # one\n10.0.0.1 one\n");
}

TEST_CASE("linux.mesos.master configures and runs a master, and keeps it" NEEDS_ROOT) {
  CHECK(in_own_machine([]() -> std::string {
          StateHarness machine(StateHarness::RunningSystem{});
          write("/mnt/mesos-slave", "");  // it runs
          const std::string before = text_of("/etc/hosts");
          const auto plan = machine.plan(kMaster, kMasterJson);
          if (plan.verdict != Verdict::change) return "planned: " + plan.message;
          if (text_of("/etc/hosts") != before || !calls().empty()) return "the plan wrote";
          const auto outcome = machine.converge(kMaster, kMasterJson);
          if (!outcome.ok) return outcome.message + outcome.output;
          const std::string wrong = wrong_file(
              {{"/etc/hosts", "127.0.0.1 localhost\n10.0.0.1 one # a master\n10.0.0.3 three\n"},
               {"/etc/hostname", "three\n"},
               {"/var/lib/zookeeper/myid", "3\n"},
               {"/etc/zookeeper/conf/zoo.cfg",
                "tickTime=2000\ninitLimit=10\nsyncLimit=5\ndataDir=/var/lib/zookeeper\nclientPort=2181\n"
                "server.1=10.0.0.1:2888:3888\nserver.2=10.0.0.2:2888:3888\nserver.3=10.0.0.3:2888:3888\n"},
               {"/etc/mesos/zk", "zk://10.0.0.1:2181,10.0.0.2:2181,10.0.0.3:2181/mesos\n"},
               {"/etc/mesos-master/quorum", "2\n"},
               {"/etc/mesos-master/ip", "10.0.0.3\n"},
               {"/etc/mesos-master/hostname", "10.0.0.3\n"},
               {"/etc/mesos-master/cluster", "big one\n"},
               {"/etc/marathon/conf/hostname", "10.0.0.3\n"},
               {"/etc/marathon/conf/master", "zk://one:2181,10.0.0.2:2181,three:2181/mesos\n"},
               {"/etc/marathon/conf/zk", "zk://one:2181,10.0.0.2:2181,three:2181/marathon\n"},
               {"/mnt/calls", "mesos-slave stop\nzookeeper start\nmesos-master start\nmarathon start\n"}});
          if (!wrong.empty()) return wrong;
          char name[64] = {};
          ::gethostname(name, sizeof name - 1);
          if (name != std::string("three")) return "another host name";
          calls();
          const auto again = machine.converge(kMaster, kMasterJson);
          if (again.first != Verdict::kept || !calls().empty()) return "not kept: " + again.message;
          return again.message;
        }) == "zookeeper, mesos-master, marathon run as configured");
}

TEST_CASE(
    "mesos: a service restarts for its own files only, also when a run was ended before it did" NEEDS_ROOT) {
  CHECK(in_own_machine([]() -> std::string {
          StateHarness machine(StateHarness::RunningSystem{});
          if (auto done = machine.converge(kMaster, kMasterJson); !done.ok) return done.message;
          calls();
          // Another name for the cluster, written by a run that was ended right then.
          std::string json(kMasterJson);
          json.replace(json.find("big one"), 7, "larger");
          write("/etc/mesos-master/cluster", "larger\n");
          const auto outcome = machine.converge(kMaster, json);
          if (!outcome.ok) return outcome.message;
          return calls();
        }) == "mesos-master restart\n");
}

TEST_CASE("linux.mesos.slave configures and runs a slave" NEEDS_ROOT) {
  CHECK(in_own_machine([]() -> std::string {
          StateHarness machine(StateHarness::RunningSystem{});
          const auto outcome = machine.converge(kSlave, kSlaveJson);
          if (!outcome.ok) return outcome.message;
          const std::string wrong =
              wrong_file({{"/etc/hosts", "127.0.0.1 localhost\n10.0.0.1 one # a master\n"},
                          {"/etc/mesos/zk", "zk://10.0.0.1:2181,10.0.0.2:2181/mesos\n"},
                          {"/etc/mesos-slave/ip", "10.0.0.9\n"},
                          {"/etc/mesos-slave/hostname", "10.0.0.9\n"},
                          {"/etc/mesos-slave/containerizers", "docker,mesos\n"},
                          {"/etc/mesos-slave/executor_registration_timeout", "5mins\n"},
                          {"/etc/mesos-slave/attributes", "rack:a b;disk:ssd\n"},
                          {"/etc/haproxy-marathon-bridge/marathons", "one:8080\n10.0.0.2:8080\n"}});
          if (!wrong.empty()) return wrong;
          if (machine.converge(kSlave, kSlaveJson).first != Verdict::kept) return "not kept";
          return calls();
        }) == "haproxy start\nmesos-slave start\n");
}

TEST_CASE("mesos: what cannot work says why" NEEDS_ROOT) {
  CHECK(in_own_machine([]() -> std::string {
          fs::remove("/usr/local/sbin/mesos-master");
          StateHarness machine(StateHarness::RunningSystem{});
          return machine.plan(kMaster, kMasterJson).message;
        }) == "Mesos is not installed and no package source exists for it");
  CHECK(in_own_machine([]() -> std::string {
          fs::rename("/usr/local/sbin/mesos-slave", "/usr/local/sbin/mesos-agent");
          put_service("mesos-agent");
          StateHarness machine(StateHarness::RunningSystem{});
          machine.converge(kSlave, kSlaveJson);
          return calls();
        }) == "haproxy start\nmesos-agent start\n");
  CHECK(in_own_machine([]() -> std::string {
          fs::remove("/etc/init.d/zookeeper");
          StateHarness machine(StateHarness::RunningSystem{});
          const auto outcome = machine.converge(kMaster, kMasterJson);
          return outcome.ok ? "ok" : outcome.message;
        }).find("zookeeper") != std::string::npos);
  CHECK(in_own_machine([]() -> std::string {
          write("/etc/hosts", "10.0.0.7 caf\351\n");
          StateHarness machine(StateHarness::RunningSystem{});
          return machine.plan(kMaster, kMasterJson).message;
        }) == "/etc/hosts is not UTF-8, and is left alone");
}

TEST_CASE("mesos: parameters that are none are refused before anything runs") {
  StateHarness machine;
  const auto with = [&](const std::string& what, const std::string& by) {
    std::string json(kMasterJson);
    json.replace(json.find(what), what.size(), by);
    return machine.problems(kMaster, json);
  };
  CHECK(machine.problems(kMaster, kMasterJson).empty());
  CHECK(with(R"("server_id": 3)", R"("server_id": "0")") ==
        "Illegal value for 'server_id': '0': give a number from 1 to 255");
  CHECK(with(R"("server_id": 3)", R"("server_id": "3\nx")").starts_with("Illegal value for 'server_id'"));
  CHECK(with(R"("master_ip": "10.0.0.3")", R"("master_ip": "three")") ==
        "Illegal value for 'master_ip': 'three'");
  CHECK(with(R"("hostname": "three")", R"("hostname": "a b")") == "Illegal value for 'hostname': 'a b'");
  CHECK(with("big one", R"(a\nb)").starts_with("Illegal value for 'cluster_name'"));
  CHECK(with(R"(["marathon"])", R"("chronos")") == "Illegal value for 'framework': 'chronos'");
  CHECK(with("10.0.0.2", "10.0.0.1") == "'masters_addresses' has 10.0.0.1 twice");
  CHECK(with("10.0.0.2", "fe80::1") == "Illegal value for 'masters_addresses': 'fe80::1'");
  CHECK(with(R"("value": "one")", R"("value": "one\n1.2.3.4 x")")
            .starts_with("Illegal value for 'masters_addresses'"));
  const auto slave = [&](const std::string& masters, const std::string& address,
                         const std::string& attributes) {
    return machine.problems(kSlave, R"({"masters_addresses": )" + masters + R"(, "slave_ip": ")" + address +
                                        R"(", "attributes": )" + attributes + "}");
  };
  const std::string fine = R"({"a": "b"})";
  CHECK(slave(R"("10.0.0.1")", "10.0.0.9", fine).empty());
  CHECK(slave(R"("10.0.0.1")", "x", fine) == "Illegal value for 'slave_ip': 'x'");
  for (const char* bad : {R"({"a;b": "c"})", R"({"a": "b;c"})", R"({"a:b": "c"})", R"({"a": "b\nc"})"})
    CHECK(slave(R"("10.0.0.1")", "10.0.0.9", bad).starts_with("Illegal value for 'attributes': "));
  CHECK(
      machine.problems(kSlave, "{}") ==
      "Missing parameter 'masters_addresses'\nMissing parameter 'attributes'\nMissing parameter 'slave_ip'");
}

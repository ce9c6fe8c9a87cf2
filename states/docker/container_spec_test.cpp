#include "states/docker/container_spec.hpp"

#include <doctest/doctest.h>

using namespace states::docker;

namespace {

std::string problem(const ContainerParams& params) {
  auto spec = understand(params);
  return spec ? "" : spec.error().message();
}

ContainerParams web() {
  ContainerParams params;
  params.container = "web";
  params.image = "shop/web";
  return params;
}

}  // namespace

TEST_CASE("references: registry, name, tag and digest") {
  const auto text = [](std::string_view repo, std::string_view tag = {}) {
    auto reference = parse_reference(repo, tag, "repo");
    return reference ? reference->text() + " at " + reference->registry() : reference.error().message();
  };
  const std::string digest = "sha256:" + std::string(64, 'a');
  CHECK(text("web") == "web:latest at docker.io");
  CHECK(text("web", "1.2") == "web:1.2 at docker.io");
  CHECK(text("web:1") == "web:1 at docker.io");
  CHECK(text("web:1", "2") == "web:2 at docker.io");
  CHECK(text("shop/web") == "shop/web:latest at docker.io");
  CHECK(text("localhost/web") == "localhost/web:latest at localhost");
  CHECK(text("r.example.org:5000/a/b:t") == "r.example.org:5000/a/b:t at r.example.org:5000");
  CHECK(text("web@" + digest, "1") == "web@" + digest + " at docker.io");
  for (const char* bad :
       {"", "-x", "a//b", "a b", "a/../b", "a/b:c:d", "x@sha256:1", "x;y", "$(id)", "/a", "a/", "a:"})
    CHECK(text(bad) == "Illegal value for 'repo': '" + std::string(bad) + "'");
  CHECK(text("a", "b c") == "Illegal value for 'tag': 'b c'");
  CHECK(text("a", "-b") == "Illegal value for 'tag': '-b'");
}

TEST_CASE("containers: what is illegal is told by its parameter") {
  CHECK(problem(web()).empty());
  ContainerParams params = web();
  params.container = "-web";
  CHECK(problem(params) == "Illegal value for 'container': '-web'");
  for (const char* count : {"0", "-1", "x", "1001"}) {
    params = web();
    params.count = count;
    CHECK(problem(params) == "Illegal value for 'count': '" + std::string(count) + "'");
  }
  for (const char* limit : {"12x", "m", "-1", "99999999999g"}) {
    params = web();
    params.mem_limit = limit;
    CHECK(problem(params) == "Illegal value for 'mem_limit': '" + std::string(limit) + "'");
  }
  for (const char* cpus : {"x", "3-1", "0;1", "1-"}) {
    params = web();
    params.cpu_shares = cpus;
    CHECK(problem(params) == "Illegal value for 'cpu_shares': '" + std::string(cpus) + "'");
  }
  using states::Pair;
  const Pair wrong_ports[] = {{"80/icmp", "1"}, {"0", "1"}, {"80", "x"}, {"80", "70000"}, {"80", "$(id):1"}};
  for (const Pair& pair : wrong_ports) {
    params = web();
    params.port_bindings = {&pair, 1};
    CHECK(problem(params).starts_with("Illegal value for 'port_bindings': "));
  }
  const Pair wrong_paths[] = {{"relative/path", "/x"}, {"/a:b", "/x"}, {"/a", "x"}, {"/a", "/b:$(id)"}};
  for (const Pair& pair : wrong_paths) {
    params = web();
    params.volumes = {&pair, 1};
    CHECK(problem(params).starts_with("Illegal value for 'volumes': "));
    params = web();
    params.files = {&pair, 1};
    CHECK(problem(params).starts_with("Illegal value for 'files': "));
    params = web();
    params.devices = {&pair, 1};
    CHECK(problem(params).starts_with("Illegal value for 'devices': "));
  }
  const Pair link{"a b", "c"};
  params = web();
  params.links = {&link, 1};
  CHECK(problem(params) == "Illegal value for 'links': 'a b -> c'");
  const Pair variable{"A=B", "c"};
  params = web();
  params.environment = {&variable, 1};
  CHECK(problem(params) == "Illegal value for 'environment': 'A=B'");
}

TEST_CASE("containers: ports of the host that would meet are refused") {
  const states::Pair ports[] = {{"80", "8080"}, {"81", "8081"}};
  ContainerParams params = web();
  params.port_bindings = ports;
  CHECK(problem(params).empty());
  params.count = "2";
  CHECK(problem(params) == "Host ports overlap for count 2");
  const states::Pair high{"80", "65535"};
  params.port_bindings = {&high, 1};
  CHECK(problem(params).starts_with("Illegal value for 'port_bindings': '65535'"));
}

TEST_CASE("containers: the fingerprint follows the parameters and the state, and says nothing of them") {
  const auto spec = understand(web());
  const std::string one = spec->fingerprint("a");
  CHECK(one.size() == 64);
  CHECK(one == understand(web())->fingerprint("a"));
  CHECK(one != spec->fingerprint("b"));
  ContainerParams params = web();
  params.force = true;
  params.username = "u";
  CHECK(one == understand(params)->fingerprint("a"));
  params.mem_limit = "1m";
  CHECK(one != understand(params)->fingerprint("a"));
}

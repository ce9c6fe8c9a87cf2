#include "agent/metadata/metadata.hpp"

#include <sys/stat.h>

#include <atomic>
#include <thread>

#include <doctest/doctest.h>

#include "agent/metadata/userdata.hpp"
#include "pki/join_token.hpp"
#include "tests/support/loopback.hpp"
#include "tests/support/scratch_folder.hpp"
#include "transport/server/http_server.hpp"

using namespace agent::metadata;
using namespace std::chrono_literals;
using transport::HttpRequest;
using transport::HttpResponse;

namespace {

const std::string kToken = pki::format_join_token(pki::make_join_token(std::string(64, 'a')));
const std::string kUserdata =
    "#!/bin/sh\n# opsagent settings\nbackend='wss://a/ wss://b/'\napp='web'\njoin_token='" + kToken +
    "'\ntags='role=web'\n# end of settings\nexit 0\n";

bool never() {
  return false;
}
constexpr Patience kOnce{.rounds = 1, .in_all = 10s};

// A metadata service on loopback that answers as `handler` says, and counts.
class Service {
 public:
  using Handler = std::function<HttpResponse(const HttpRequest&)>;
  explicit Service(Handler handler) {
    thread_.call([&] {
      auto listening = transport::HttpServer::listen(
          thread_.loop(), {},
          [this, handler = std::move(handler)](HttpRequest request) -> transport::Task<HttpResponse> {
            ++requests_;
            co_return handler(request);
          });
      REQUIRE(listening);
      server_ = std::move(*listening);
      server_->start();
      port_ = server_->port();
    });
  }
  ~Service() {
    thread_.call([&] { server_.reset(); });
  }
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  SourceOptions options(std::string names) const {
    auto parsed = parse_sources(names);
    REQUIRE(parsed);
    parsed->url = "http://127.0.0.1:" + std::to_string(port_);
    return *parsed;
  }
  int requests() const { return requests_; }

 private:
  tests::LoopThread thread_;
  std::unique_ptr<transport::HttpServer> server_;
  std::atomic<int> requests_ = 0;
  std::uint16_t port_ = 0;
};

HttpResponse reply(unsigned status, std::string body = {}) {
  return {.status = status, .headers = {}, .body = std::move(body), .stream = {}};
}

HttpResponse data_of_ec2(const HttpRequest& request) {
  if (request.path == "/latest/meta-data/instance-id") return reply(200, "i-0abc\n");
  if (request.path == "/latest/user-data") return reply(200, kUserdata);
  return reply(404);
}

// As EC2 with IMDSv2 required: no session without a time to live, nothing without a session.
HttpResponse ec2_v2(const HttpRequest& request) {
  if (request.path == "/latest/api/token") {
    if (request.method != "PUT") return reply(405);
    if (request.header("X-aws-ec2-metadata-token-ttl-seconds").empty()) return reply(400);
    return reply(200, "a-session==");
  }
  if (request.header("X-aws-ec2-metadata-token") != "a-session==") return reply(401);
  return data_of_ec2(request);
}

// Whatever bytes, to every connection, until it is over.
class RawService {
 public:
  explicit RawService(std::function<void(const tests::RawPeer&)> serve)
      : thread_([this, serve = std::move(serve)] {
          while (true) {
            const tests::RawPeer peer = listener_.accept();
            if (peer.fd() < 0) return;
            (void)peer.read_until("\r\n\r\n");
            serve(peer);
          }
        }) {}
  ~RawService() {
    listener_.shutdown();
    thread_.join();
  }
  SourceOptions options(std::string_view names) const {
    auto parsed = parse_sources(names);
    parsed->url = "http://127.0.0.1:" + std::to_string(listener_.port());
    return *parsed;
  }

 private:
  tests::RawListener listener_;
  std::thread thread_;
};

std::string problem(const SourceOptions& options, Patience patience = kOnce) {
  const auto found = read_metadata(options, patience, never);
  return found ? "" : found.error().message();
}
bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("EC2 is asked within a session, and says who the machine is and what its userdata sets") {
  const Service service(ec2_v2);
  const auto found = read_metadata(service.options("ec2"), kOnce, never);
  REQUIRE_MESSAGE(found, (found ? "" : found.error().message()));
  CHECK(found->source == "ec2");
  CHECK(found->instance_id == "i-0abc");
  CHECK(found->userdata == kUserdata);
  CHECK(found->app_id == "web");
  CHECK(found->join_token == kToken);
}

TEST_CASE("an EC2 service that knows no sessions is asked without one") {
  for (const unsigned status : {403U, 404U, 405U}) {
    const Service service([status](const HttpRequest& request) {
      if (request.method == "PUT") return reply(status);
      CHECK(request.header("X-aws-ec2-metadata-token").empty());
      return data_of_ec2(request);
    });
    const auto found = read_metadata(service.options("ec2"), kOnce, never);
    REQUIRE(found);
    CHECK(found->instance_id == "i-0abc");
  }
}

TEST_CASE("silence, trouble or nonsense is not a reason to go back to version 1") {
  for (const unsigned status : {400U, 401U, 500U, 503U}) {
    std::atomic<int> without = 0;
    const Service service([&](const HttpRequest& request) {
      if (request.method == "PUT") return reply(status);
      ++without;
      return data_of_ec2(request);
    });
    CHECK(has(problem(service.options("ec2")), std::to_string(status)));
    CHECK(without == 0);
  }
  const Service odd([&](const HttpRequest& request) {
    return request.method == "PUT" ? reply(200, "two words\r\nX: y") : data_of_ec2(request);
  });
  CHECK(has(problem(odd.options("ec2")), "session token cannot be used"));
}

TEST_CASE("OpenStack says the uuid; a machine may have no userdata") {
  const Service service([](const HttpRequest& request) {
    if (request.path == "/openstack/latest/meta_data.json")
      return reply(200, R"({"name":"x","uuid":"83679162-1378-4288-a2d4-70e13ec132aa"})");
    return reply(404);
  });
  const auto found = read_metadata(service.options("openstack"), kOnce, never);
  REQUIRE(found);
  CHECK(found->instance_id == "83679162-1378-4288-a2d4-70e13ec132aa");
  CHECK(found->userdata.empty());
  CHECK(found->app_id.empty());
}

TEST_CASE("sources are asked in order; one that is not here is passed over at once") {
  const Service service([](const HttpRequest& request) {
    if (request.path == "/openstack/latest/meta_data.json") return reply(200, R"({"uuid":"u-1"})");
    if (request.path == "/openstack/latest/user_data") return reply(200, kUserdata);
    return reply(404);
  });
  const auto found = read_metadata(service.options("ec2,openstack"), {.rounds = 3, .in_all = 10s}, never);
  REQUIRE(found);
  CHECK(found->source == "openstack");
  CHECK(found->app_id == "web");
  const int before = service.requests();
  CHECK(has(problem(service.options("ec2"), {.rounds = 3, .in_all = 10s}), "ec2: "));
  CHECK(service.requests() == before + 2);  // the session and the name, once
}

TEST_CASE("names that would be trouble are refused") {
  for (const std::string id : {"../x", "a b", "", "-a", "<html>", "a\nb"}) {
    const Service service([&](const HttpRequest& request) {
      return request.path == "/latest/meta-data/instance-id" ? reply(200, id) : ec2_v2(request);
    });
    CHECK_MESSAGE(has(problem(service.options("ec2")), "instance id cannot be used"), id);
  }
  for (const std::string body : {"[]", "{}", "{\"uuid\":7}", "not json", "{\"uuid\":\"a/b\"}"}) {
    const Service service([&](const HttpRequest&) { return reply(200, body); });
    CHECK_MESSAGE(has(problem(service.options("openstack")), "openstack: its"), body);
  }
}

TEST_CASE("a redirect is not followed") {
  const Service elsewhere(ec2_v2);
  const std::string there = elsewhere.options("ec2").url;
  const Service service([&](const HttpRequest& request) {
    HttpResponse answer = reply(302);
    answer.headers.push_back({"Location", there + request.path});
    return answer;
  });
  CHECK(has(problem(service.options("ec2,openstack")), "302"));
  CHECK(elsewhere.requests() == 0);
}

TEST_CASE("answers that are slow, endless, or too large end within the limit") {
  const auto took = [](const SourceOptions& options) {
    const auto begun = std::chrono::steady_clock::now();
    CHECK(problem(options) != "");
    return std::chrono::steady_clock::now() - begun;
  };
  {
    const RawService silent([](const tests::RawPeer& peer) { (void)peer.sees_close(6s); });
    CHECK(took(silent.options("ec2")) < 5s);
  }
  {
    const RawService slow([](const tests::RawPeer& peer) {
      peer.send("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n");
      for (int i = 0; i < 60 && peer.send("a"); ++i)
        std::this_thread::sleep_for(100ms);
    });
    CHECK(took(slow.options("openstack")) < 5s);
  }
  {
    const RawService endless([](const tests::RawPeer& peer) {
      peer.send("HTTP/1.1 200 OK\r\n\r\n");
      while (peer.send(std::string(65536, 'a'))) {
      }
    });
    CHECK(took(endless.options("openstack")) < 5s);
  }
  const Service large([](const HttpRequest& request) {
    return request.path == "/latest/user-data" ? reply(200, std::string(70'000, 'a')) : ec2_v2(request);
  });
  CHECK(has(problem(large.options("ec2")), "larger than allowed"));
}

TEST_CASE("a service that comes late is found, and one that does not come is given up") {
  std::atomic<int> asked = 0;
  const Service late([&](const HttpRequest& request) { return ++asked < 3 ? reply(503) : ec2_v2(request); });
  CHECK(read_metadata(late.options("ec2"), {.rounds = 5, .in_all = 20s}, never));

  SourceOptions nobody = *parse_sources("ec2");
  {
    const tests::RawListener gone;  // closed at the end of this block: refused from then on
    nobody.url = "http://127.0.0.1:" + std::to_string(gone.port());
  }
  const auto begun = std::chrono::steady_clock::now();
  const auto silent = read_metadata(nobody, {.rounds = 3, .in_all = 20s}, never);
  const auto took = std::chrono::steady_clock::now() - begun;
  REQUIRE_FALSE(silent);
  CHECK(silent.error().code() == base::ErrorCode::timed_out);
  CHECK(took > 1400ms);  // two pauses
  CHECK(took < 5s);
  const auto stopped = std::chrono::steady_clock::now();
  CHECK_FALSE(read_metadata(nobody, kFirstBoot, [] { return true; }));
  CHECK(std::chrono::steady_clock::now() - stopped < 1s);
}

TEST_CASE("a NoCloud seed is read, YAML or JSON; else what cloud-init has found") {
  const tests::ScratchFolder scratch;
  SourceOptions options = *parse_sources("nocloud");
  options.root = scratch.path();
  CHECK(has(problem(options), "there is no seed"));

  scratch.write("run/cloud-init/instance-data.json", R"({"v1":{"instance_id":"iid-found"}})");
  scratch.write("var/lib/cloud/instance/user-data.txt", kUserdata);
  auto found = read_metadata(options, kOnce, never);
  REQUIRE(found);
  CHECK(found->instance_id == "iid-found");
  CHECK(found->app_id == "web");
  CHECK(cloud_init_instance_id(options) == "iid-found");

  scratch.write("var/lib/cloud/seed/nocloud-net/meta-data", R"({"instance-id":"iid-json"})");
  found = read_metadata(options, kOnce, never);
  REQUIRE(found);
  CHECK(found->instance_id == "iid-json");
  CHECK(found->app_id.empty());

  scratch.write("var/lib/cloud/seed/nocloud/meta-data",
                "local-hostname: web1\n  instance-id: not-this\ninstance-id: \"iid-yaml\"  # a remark\n");
  scratch.write("var/lib/cloud/seed/nocloud/user-data", kUserdata);
  found = read_metadata(options, kOnce, never);
  REQUIRE(found);
  CHECK(found->instance_id == "iid-yaml");
  CHECK(found->join_token == kToken);
}

TEST_CASE("a local file says who the machine is, if only root could have written it") {
  const tests::ScratchFolder scratch;
  SourceOptions options = *parse_sources("file");
  options.file = scratch / "identity";
  CHECK(has(problem(options), "No such file"));
  scratch.write("identity", "app_id = web\njoin_token = " + kToken + "\n");
  auto found = read_metadata(options, kOnce, never);
  REQUIRE(found);
  CHECK(found->instance_id.empty());
  CHECK(found->app_id == "web");
  CHECK(found->join_token == kToken);
  scratch.write("identity", "instance_id = box\napp = web\n");
  CHECK(has(problem(options), "'app' is not one of"));
  scratch.write("identity", "instance_id = ../box\n");
  CHECK(has(problem(options), "cannot be used"));
  scratch.write("identity", "instance_id = box\n");
  ::chmod(options.file.c_str(), 0666);
  CHECK(has(problem(options), "can be written by others"));
}

TEST_CASE("settings of userdata are read as a shell would, and only whole") {
  CHECK(userdata_settings(kUserdata).at("backend") == "wss://a/ wss://b/");
  CHECK(userdata_settings("# opsagent settings\nname='it'\\''s'\n# end of settings\n").at("name") == "it's");
  CHECK(userdata_settings("#cloud-config\n  # opsagent settings\n  app='web'\r\n  # end of settings\n")
            .at("app") == "web");
  for (const char* text :
       {"", "app='web'", "# opsagent settings\napp='web'\n",
        "# opsagent settings\napp=web\n# end of settings", "# opsagent settings\napp='web\n# end of settings",
        "# opsagent settings\napp='a'; rm\n# end of settings",
        "# opsagent settings\napp='$(id)'x\n# end of settings"})
    CHECK_MESSAGE(userdata_settings(text).empty(), text);
}

TEST_CASE("userdata of the original says which app the machine is in, and nothing else") {
  const std::string original =
      "#!/bin/bash\n# OpsAgent\nexport APP_ID='app-1a2b'\nWS_URI=wss://ops.example.com/agent/\n"
      "VERSION=1.0\nBASE_REMOTE=\"https://example.com\"\nGPG_KEY_URI=https://example.com/k\n";
  CHECK(userdata_settings(original) == std::map<std::string, std::string>{{"app", "app-1a2b"}});
  // Half of it may be anybody's, and what a shell would compute is not computed.
  for (const char* text : {"APP_ID=app-1\n", "WS_URI=wss://a/\n", "APP_ID=$(id)\nWS_URI=wss://a/\n",
                           "APP_ID=\nWS_URI=wss://a/\n", "APP_ID=a b\nWS_URI=wss://a/\n"})
    CHECK_MESSAGE(userdata_settings(text).empty(), text);
  // A block of ours counts alone.
  CHECK(userdata_settings("APP_ID=a\nWS_URI=wss://a/\n# opsagent settings\napp='b'\n# end of settings\n") ==
        std::map<std::string, std::string>{{"app", "b"}});
}

TEST_CASE("a list of sources is names that there are") {
  CHECK(parse_sources("auto")->names.empty());
  CHECK(parse_sources("auto")->use_cloud_init);
  CHECK_FALSE(parse_sources("none")->use_cloud_init);
  CHECK(parse_sources("ec2, openstack,ec2")->names == std::vector<std::string>{"ec2", "openstack"});
  for (const char* text : {"", ",", "azure", "ec2,auto", "none,ec2"})
    CHECK_MESSAGE(!parse_sources(text), text);
}

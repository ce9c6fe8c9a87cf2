// Join tokens from the API to the store, on a backend that has a CA.
#include <doctest/doctest.h>

#include "backend/api/access.hpp"
#include "backend/api/route.hpp"
#include "backend/domain/access/instants.hpp"
#include "backend/store/identity/enrolment.hpp"
#include "base/sha256.hpp"
#include "base/text.hpp"
#include "tests/support/live_backend.hpp"
#include "tests/support/scratch_folder.hpp"
#include "tests/support/store_bench.hpp"

using namespace backend;

namespace {

using backend::domain::Enrolled;
using tests::JsonView;
using tests::must;

const std::string kAdmin = "an administrator's token of the old form";

}  // namespace

// The API without a socket. Has a name of its own: it is in the types of coroutines.
struct JoinTokenApiBench {
  JoinTokenApiBench() {
    auto authorities = std::make_shared<backend::fleet::AuthoritySet>();
    authorities->active.push_back(must(pki::Authority::generate(std::chrono::system_clock::now())));
    context.fleet.use_authorities(std::move(authorities));
    must(run(backend::api::open_access(context)));
  }
  template <class T>
  T run(transport::Task<T> task) {
    std::optional<T> answer;
    transport::spawn(loop.get_executor(),
                     [](transport::Task<T> it, std::optional<T>& to) -> transport::Task<> {
                       to.emplace(co_await std::move(it));
                     }(std::move(task), answer));
    loop.restart();
    while (!answer)
      loop.run_one();
    return std::move(*answer);
  }
  transport::HttpResponse call(const std::string& method, const std::string& path,
                               const std::string& body = {}) {
    transport::HttpRequest request;
    request.method = method;
    request.path = "/api/v1" + path;
    request.headers = {{"Authorization", "Bearer " + kAdmin}};
    request.body = body;
    request.peer = "127.0.0.1:5";
    return run(backend::api::dispatch(context, std::move(request)));
  }
  domain::Enrolled enrol(const std::string& token, const std::string& instance) {
    const auto parts = base::split(token, '.');
    REQUIRE(parts.size() == 4);
    const backend::domain::EnrolRequest request{.token_id = std::string(parts[1]),
                                                .secret_hash = base::sha256_hex(parts[2]),
                                                .app_id = "",
                                                .instance_id = instance,
                                                .key_hash = "key of " + instance};
    return must(run(store->write([request](backend::store::Store& it) {
      return backend::store::enrol(it, request, backend::domain::now_millis());
    })));
  }

  tests::ScratchFolder folder;
  transport::Loop loop{1};
  backend::telemetry::Metrics metrics;
  terminal::Log log = must(terminal::Log::open(terminal::LogLevel::error, ""));
  backend::telemetry::EventLog events{loop.get_executor(), {}};
  std::unique_ptr<backend::store::StoreThread> store = must(backend::store::StoreThread::open(
      loop, backend::store::sqlite::opener(folder / "backend.db"), metrics));
  backend::fleet::Fleet fleet{loop, *store, events, metrics, log, {}};
  backend::rollouts::Rollouts rollouts{loop, *store, fleet, events, log, std::chrono::seconds(1)};
  backend::api::Context context{false, *store, fleet, rollouts, events, metrics, log, kAdmin};
};

TEST_CASE("a join token that the API has made enrols a machine, as often as was said") {
  JoinTokenApiBench bench;
  const auto made =
      bench.call("POST", "/join-tokens",
                 R"({"app_id":"default","name":"web*","tags":{"role":"web"},"uses":2,"ttl_s":60})");
  REQUIRE_MESSAGE(made.status == 201, made.body);
  const std::string token = JsonView(made.body).text("token");
  const auto parts = base::split(token, '.');
  REQUIRE(parts.size() == 4);
  CHECK(parts[0] == "opsjoin1");
  CHECK(parts[1].size() == 16);
  CHECK(parts[2].size() == 32);
  CHECK(parts[3] == bench.fleet.authorities()->newest().public_hash());
  CHECK(bench.enrol(token, "web1").verdict == domain::Enrolled::Verdict::enrolled);
  CHECK(bench.enrol(token, "web2").verdict == domain::Enrolled::Verdict::enrolled);
  CHECK(bench.enrol(token, "web3").verdict == domain::Enrolled::Verdict::refused);
  const auto listed = bench.call("GET", "/join-tokens");
  CHECK(JsonView(listed.body).number("items.0.uses_left") == 0);
  CHECK(listed.body.find(parts[2]) == std::string::npos);
  const JsonView web1(bench.call("GET", "/instances/default/web1").body);
  CHECK(web1.text("tags.role") == "web");
  CHECK(web1.text("identity.uid").size() == 32);
}

TEST_CASE("a join token that was revoked enrols nobody") {
  JoinTokenApiBench bench;
  const JsonView made(bench.call("POST", "/join-tokens", R"({"instance_id":"web1"})").body);
  CHECK(bench.call("DELETE", "/join-tokens/" + made.text("id")).status == 204);
  CHECK(bench.enrol(made.text("token"), "web1").verdict == domain::Enrolled::Verdict::refused);
  CHECK(bench.call("DELETE", "/join-tokens/" + made.text("id")).status == 404);
  CHECK(bench.call("POST", "/join-tokens", R"({"app_id":"unknown"})").status == 404);
}

#include "tests/support/live_backend.hpp"

#include <atomic>
#include <thread>

#include "backend/server/server.hpp"
#include "base/files/file_read.hpp"
#include "protocol/codec.hpp"
#include "terminal/log.hpp"
#include "tests/support/described.hpp"
#include "transport/client/dial.hpp"

namespace tests {

namespace {

terminal::Log open_log() {
  auto log = terminal::Log::open(terminal::LogLevel::error, "");
  REQUIRE(log);
  return std::move(*log);
}

}  // namespace

struct LiveBackend::Running {
  terminal::Log log = open_log();
  transport::Loop loop{1};
  std::unique_ptr<backend::server::Server> server;
  std::thread thread;
  bool is_draining = false;
};

LiveBackend::LiveBackend(const std::string& data, backend::server::Options options)
    : running_(std::make_unique<Running>()) {
  options.data = data;
  options.listen = "127.0.0.1:0";
  options.plain = true;  // TLS and certificates have tests of their own
  auto opened =
      backend::server::Server::open(running_->loop, options, running_->log,
                                    {.spread = milliseconds(5000), .rollout_interval = milliseconds(50)});
  if (!opened) FAIL(opened.error().message());
  running_->server = std::move(*opened);
  std::atomic<bool> started = false;
  transport::spawn(running_->loop.get_executor(),
                   [](backend::server::Server& server, std::atomic<bool>& flag) -> transport::Task<> {
                     auto starting = server.start();
                     const auto result = co_await std::move(starting);
                     CHECK(result);
                     flag = true;
                     flag.notify_one();
                   }(*running_->server, started));
  running_->thread = std::thread([this] { running_->loop.run(); });
  started.wait(false);
  port_ = running_->server->port();
  token_ = std::string(base::trim(*base::read_file(running_->server->data().token_file(), 4096)));
}

LiveBackend::~LiveBackend() {
  drain();
}

void LiveBackend::drain() {
  if (!running_->thread.joinable()) return;
  begin_drain();
  running_->thread.join();
  running_->server.reset();
}

void LiveBackend::begin_drain() {
  if (running_->is_draining) return;
  running_->is_draining = true;
  transport::asio::post(
      running_->loop, [this] { transport::spawn(running_->loop.get_executor(), running_->server->drain()); });
}

backend::telemetry::Metrics& LiveBackend::metrics() {
  return running_->server->metrics();
}

transport::HttpClientOptions LiveBackend::client_options(bool with_token) const {
  transport::HttpClientOptions options;
  options.server = *transport::parse_uri("http://127.0.0.1:" + std::to_string(port_));
  if (with_token) options.headers.push_back({"Authorization", "Bearer " + token_});
  return options;
}

transport::HttpReply LiveBackend::call(const std::string& method, const std::string& target, std::string body,
                                       transport::Headers headers) const {
  if (!body.empty() && transport::find_header(headers, "Content-Type").empty())
    headers.push_back({"Content-Type", "application/json"});
  transport::HttpClient client(client_options());
  auto reply = client.request({method, "/api/v1" + target, std::move(headers), std::move(body)});
  if (!reply) FAIL(reply.error().message());
  check_described(method, target, *reply);
  return std::move(*reply);
}

void LiveBackend::push(const std::string& name, const std::string& states) const {
  const auto reply = call("POST", "/recipes/" + name + "/revisions", "{\"states\":" + states + "}");
  REQUIRE_MESSAGE(reply.status < 300, reply.body);
}

void LiveBackend::assign(const std::string& recipe, const std::string& selector) const {
  const auto reply =
      call("POST", "/assignments", R"({"recipe":")" + recipe + R"(","selector":")" + selector + "\"}");
  REQUIRE_MESSAGE(reply.status == 201, reply.body);
}

void LiveBackend::tag(const std::string& instance, const std::string& name, const std::string& value) const {
  const auto reply =
      call("PATCH", "/instances/default/" + instance, R"({"tags":{")" + name + R"(":")" + value + "\"}}");
  REQUIRE_MESSAGE(reply.status == 200, reply.body);
}

struct TestAgent::Connection {
  transport::Task<> dial(transport::DialOptions options, bool& done) {
    auto dialling = transport::dial(std::move(options));
    auto dialled = co_await std::move(dialling);
    if (dialled) socket = std::move(*dialled);
    done = true;
  }
  transport::Task<> write(transport::Text text, bool& done) {
    auto writing = socket->write(std::move(text));
    [[maybe_unused]] const auto written = co_await std::move(writing);
    done = true;
  }
  transport::Task<> read(std::shared_ptr<transport::WebSocket> from) {
    for (;;) {
      auto reading = from->read();
      auto text = co_await std::move(reading);
      if (!text) break;
      auto message = protocol::parse_backend_message(*text);
      CHECK_MESSAGE(message, *text);
      if (message) heard.push_back(std::move(*message));
    }
    is_closed = true;
  }

  transport::Loop loop{1};
  std::shared_ptr<transport::WebSocket> socket;
  std::deque<protocol::BackendMessage> heard;
  bool is_closed = false;
};

TestAgent::TestAgent(std::string instance_id, std::string app_id)
    : connection_(std::make_unique<Connection>()) {
  hello.instance_id = std::move(instance_id);
  hello.app_id = std::move(app_id);
  hello.agent_version = "0.1.0";
  hello.instance_token = "token of " + hello.instance_id;
  hello.protocol_max = 2;
  hello.agent_uid = "uid-" + hello.instance_id;
  hello.capabilities = {"plan", "output", "facts", "query", "run", "update", "settings", "vars"};
}

TestAgent::~TestAgent() {
  leave();
}

void TestAgent::open(const LiveBackend& backend) {
  bool done = false;
  transport::DialOptions options;
  options.uri = *transport::parse_uri("ws://127.0.0.1:" + std::to_string(backend.port()) + "/agent/");
  options.web_socket.max_message = 16 * 1024 * 1024;
  transport::spawn(connection_->loop.get_executor(), connection_->dial(std::move(options), done));
  REQUIRE(pump([&] { return done; }, seconds(20)));
  REQUIRE(connection_->socket);
  transport::spawn(connection_->loop.get_executor(), connection_->read(connection_->socket));
}

protocol::Welcome TestAgent::connect(const LiveBackend& backend) {
  open(backend);
  send(hello);
  auto welcome = next<protocol::Welcome>();
  REQUIRE(welcome);
  return *welcome;
}

void TestAgent::leave() {
  if (!connection_->socket) return;
  connection_->socket->abort();
  pump([&] { return is_closed(); }, seconds(5));
  connection_->socket.reset();
  connection_->heard.clear();
  connection_->is_closed = false;
}

void TestAgent::send(protocol::AgentBody body, std::string re, std::string mid) {
  send_text(
      protocol::encode(protocol::AgentMessage{std::move(body), {.mid = std::move(mid), .re = std::move(re)}},
                       hello.protocol_max >= 2 ? 2 : 1));
}

void TestAgent::send_text(std::string text) {
  bool done = false;
  transport::spawn(connection_->loop.get_executor(),
                   connection_->write(transport::make_text(std::move(text)), done));
  pump([&] { return done; }, seconds(20));
}

void TestAgent::report(std::uint64_t seq, const std::string& id, std::int64_t version, std::string outcome,
                       std::string run_id) {
  protocol::StateLog log;
  log.instance_id = hello.instance_id;
  log.app_id = hello.app_id;
  log.recipe_version = version;
  log.id = id;
  log.state_result = outcome != "failed";
  log.outcome = std::move(outcome);
  log.run_id = std::move(run_id);
  if (hello.protocol_max >= 2) log.seq = seq;
  send(log);
}

bool TestAgent::acked(std::uint64_t seq, milliseconds within) {
  while (const auto ack = next<protocol::Ack>(within))
    if (ack->ack_seq && *ack->ack_seq >= seq) return true;
  return false;
}

unsigned TestAgent::close_code(milliseconds within) {
  pump([&] { return is_closed(); }, within);
  return is_closed() ? connection_->socket->peer_close_code() : 0;
}

bool TestAgent::is_closed() const {
  return connection_->is_closed;
}

bool TestAgent::pump(const std::function<bool()>& condition, milliseconds within) {
  const auto end = std::chrono::steady_clock::now() + within;
  connection_->loop.restart();
  while (!condition()) {
    if (std::chrono::steady_clock::now() >= end) return false;
    connection_->loop.run_one_until(std::min(end, std::chrono::steady_clock::now() + milliseconds(50)));
    connection_->loop.restart();
  }
  return true;
}

std::deque<protocol::BackendMessage>& TestAgent::heard() {
  return connection_->heard;
}

}  // namespace tests

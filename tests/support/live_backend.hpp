// A whole backend on a port of its own, and agents made of the real transport and codec, for tests that
// block.
#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "backend/server/server.hpp"
#include "base/file_read.hpp"
#include "base/json.hpp"
#include "base/text.hpp"
#include "protocol/codec.hpp"
#include "terminal/log.hpp"
#include "transport/dial.hpp"
#include "transport/http_client.hpp"

namespace tests {

using std::chrono::milliseconds;
using std::chrono::seconds;

class LiveBackend {
 public:
  explicit LiveBackend(const std::string& data, backend::server::Options options = {}) : log_(open_log()) {
    options.data = data;
    options.listen = "127.0.0.1:0";
    options.plain = true;  // TLS and certificates have tests of their own
    auto opened = backend::server::Server::open(
        loop_, options, log_, {.spread = milliseconds(5000), .rollout_interval = milliseconds(50)});
    if (!opened) FAIL(opened.error().message());
    server_ = std::move(*opened);
    std::atomic<bool> started = false;
    transport::spawn(loop_.get_executor(),
                     [](backend::server::Server& server, std::atomic<bool>& flag) -> transport::Task<> {
                       auto starting = server.start();
                       const auto result = co_await std::move(starting);
                       CHECK(result);
                       flag = true;
                       flag.notify_one();
                     }(*server_, started));
    thread_ = std::thread([this] { loop_.run(); });
    started.wait(false);
    port_ = server_->port();
    token_ = std::string(base::trim(*base::read_file(server_->data().token_file(), 4096)));
  }
  ~LiveBackend() { drain(); }
  LiveBackend(const LiveBackend&) = delete;
  LiveBackend& operator=(const LiveBackend&) = delete;

  // As SIGTERM does it. Returns when the loop has nothing left to do.
  void drain() {
    if (!thread_.joinable()) return;
    begin_drain();
    thread_.join();
    server_.reset();
  }
  void begin_drain() {
    if (draining_) return;
    draining_ = true;
    transport::asio::post(loop_, [this] { transport::spawn(loop_.get_executor(), server_->drain()); });
  }

  std::uint16_t port() const { return port_; }
  const std::string& token() const { return token_; }
  backend::telemetry::Metrics& metrics() { return server_->metrics(); }

  transport::HttpClientOptions client_options(bool with_token = true) const {
    transport::HttpClientOptions options;
    options.server = *transport::parse_uri("http://127.0.0.1:" + std::to_string(port_));
    if (with_token) options.headers.push_back({"Authorization", "Bearer " + token_});
    return options;
  }
  transport::HttpReply call(std::string method, std::string target, std::string body = {},
                            transport::Headers headers = {}) const {
    if (!body.empty() && transport::find_header(headers, "Content-Type").empty())
      headers.push_back({"Content-Type", "application/json"});
    transport::HttpClient client(client_options());
    auto reply = client.request({std::move(method), "/api/v1" + target, std::move(headers), std::move(body)});
    if (!reply) FAIL(reply.error().message());
    return std::move(*reply);
  }
  // Uploads a recipe with these states (JSON) and assigns it.
  void push(const std::string& name, const std::string& states) const {
    const auto reply = call("POST", "/recipes/" + name + "/revisions", "{\"states\":" + states + "}");
    REQUIRE_MESSAGE(reply.status < 300, reply.body);
  }
  void assign(const std::string& recipe, const std::string& selector = "*") const {
    const auto reply =
        call("POST", "/assignments", R"({"recipe":")" + recipe + R"(","selector":")" + selector + "\"}");
    REQUIRE_MESSAGE(reply.status == 201, reply.body);
  }
  // A tag of the operator.
  void tag(const std::string& instance, const std::string& name, const std::string& value) const {
    const auto reply =
        call("PATCH", "/instances/default/" + instance, R"({"tags":{")" + name + R"(":")" + value + "\"}}");
    REQUIRE_MESSAGE(reply.status == 200, reply.body);
  }

 private:
  static terminal::Log open_log() {
    auto log = terminal::Log::open(terminal::LogLevel::error, "");
    REQUIRE(log);
    return std::move(*log);
  }

  terminal::Log log_;
  transport::Loop loop_{1};
  std::unique_ptr<backend::server::Server> server_;
  std::thread thread_;
  std::uint16_t port_ = 0;
  std::string token_;
  bool draining_ = false;
};

// An agent of the test's own. It reads only while the test waits for something.
class TestAgent {
 public:
  explicit TestAgent(std::string instance_id, std::string app_id = "default") {
    hello.instance_id = std::move(instance_id);
    hello.app_id = std::move(app_id);
    hello.agent_version = "0.1.0";
    hello.instance_token = "token of " + hello.instance_id;
    hello.protocol_max = 2;
    hello.agent_uid = "uid-" + hello.instance_id;
    hello.capabilities = {"plan", "output", "facts", "query", "run", "update", "settings"};
  }
  ~TestAgent() { leave(); }
  TestAgent(const TestAgent&) = delete;
  TestAgent& operator=(const TestAgent&) = delete;

  // Opens the websocket; says nothing.
  void open(const LiveBackend& backend) {
    bool done = false;
    transport::DialOptions options;
    options.uri = *transport::parse_uri("ws://127.0.0.1:" + std::to_string(backend.port()) + "/agent/");
    options.web_socket.max_message = 16 * 1024 * 1024;
    transport::spawn(loop_.get_executor(), dial(std::move(options), done));
    REQUIRE(pump([&] { return done; }, seconds(20)));
    REQUIRE(socket_);
    transport::spawn(loop_.get_executor(), read(socket_));
  }
  // Opens, greets, and answers what it is welcomed with.
  protocol::Welcome connect(const LiveBackend& backend) {
    open(backend);
    send(hello);
    auto welcome = next<protocol::Welcome>();
    REQUIRE(welcome);
    return *welcome;
  }
  // Goes without a word.
  void leave() {
    if (!socket_) return;
    socket_->abort();
    pump([&] { return is_closed_; }, seconds(5));
    socket_.reset();
    heard_.clear();
    is_closed_ = false;
  }

  void send(protocol::AgentBody body, std::string re = {}, std::string mid = {}) {
    send_text(protocol::encode(
        protocol::AgentMessage{std::move(body), {.mid = std::move(mid), .re = std::move(re)}},
        hello.protocol_max >= 2 ? 2 : 1));
  }
  void send_text(std::string text) {
    bool done = false;
    transport::spawn(loop_.get_executor(), write(transport::make_text(std::move(text)), done));
    pump([&] { return done; }, seconds(20));
  }
  void report(std::uint64_t seq, const std::string& id, std::int64_t version, std::string outcome = "changed",
              std::string run_id = {}) {
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

  // The next message of that kind; what comes before it is dropped.
  template <class T>
  std::optional<T> next(milliseconds within = seconds(20)) {
    auto message = next_message<T>(within);
    if (!message) return std::nullopt;
    return std::get<T>(std::move(message->body));
  }
  template <class T>
  std::optional<protocol::BackendMessage> next_message(milliseconds within = seconds(20)) {
    std::optional<protocol::BackendMessage> found;
    pump(
        [&] {
          while (!found && !heard_.empty()) {
            if (std::holds_alternative<T>(heard_.front().body)) found = std::move(heard_.front());
            heard_.pop_front();
          }
          return found.has_value() || is_closed_;
        },
        within);
    return found;
  }
  // Waits until the backend has stored everything up to that number.
  bool acked(std::uint64_t seq, milliseconds within = seconds(20)) {
    while (const auto ack = next<protocol::Ack>(within))
      if (ack->ack_seq && *ack->ack_seq >= seq) return true;
    return false;
  }
  // True when nothing of that kind comes within the time.
  template <class T>
  bool hears_no(milliseconds within = milliseconds(300)) {
    return !next<T>(within);
  }
  // The code with which the backend closes; 0 when it does not.
  unsigned close_code(milliseconds within = seconds(20)) {
    pump([&] { return is_closed_; }, within);
    return is_closed_ ? socket_->peer_close_code() : 0;
  }

  bool is_closed() const { return is_closed_; }

  protocol::Handshake hello;

 private:
  template <class Condition>
  bool pump(Condition condition, milliseconds within) {
    const auto end = std::chrono::steady_clock::now() + within;
    loop_.restart();
    while (!condition()) {
      if (std::chrono::steady_clock::now() >= end) return false;
      loop_.run_one_until(std::min(end, std::chrono::steady_clock::now() + milliseconds(50)));
      loop_.restart();
    }
    return true;
  }
  transport::Task<> dial(transport::DialOptions options, bool& done) {
    auto dialling = transport::dial(std::move(options));
    auto socket = co_await std::move(dialling);
    if (socket) socket_ = std::move(*socket);
    done = true;
  }
  transport::Task<> write(transport::Text text, bool& done) {
    auto writing = socket_->write(std::move(text));
    [[maybe_unused]] const auto written = co_await std::move(writing);
    done = true;
  }
  transport::Task<> read(std::shared_ptr<transport::WebSocket> socket) {
    for (;;) {
      auto reading = socket->read();
      auto text = co_await std::move(reading);
      if (!text) break;
      auto message = protocol::parse_backend_message(*text);
      CHECK_MESSAGE(message, *text);
      if (message) heard_.push_back(std::move(*message));
    }
    is_closed_ = true;
  }

  transport::Loop loop_{1};
  std::shared_ptr<transport::WebSocket> socket_;
  std::deque<protocol::BackendMessage> heard_;
  bool is_closed_ = false;
};

// A JSON text with its values, to look into.
class JsonView {
 public:
  explicit JsonView(std::string text) : text_(std::make_unique<std::string>(std::move(text))) {
    auto parsed = base::parse_json(*text_, *arena_);
    REQUIRE_MESSAGE(std::holds_alternative<base::Value>(parsed), *text_);
    root_ = std::get<base::Value>(parsed);
  }
  const base::Value& root() const { return root_; }
  // "items.0.name"; null when there is no such thing.
  base::Value at(std::string_view path) const {
    base::Value value = root_;
    for (const std::string_view part : base::split(path, '.')) {
      if (value.is_list()) {
        const auto index = base::parse_integer(part).value_or(-1);
        if (index < 0 || static_cast<std::size_t>(index) >= value.items().size()) return {};
        value = value.items()[static_cast<std::size_t>(index)];
      } else {
        const base::Value* found = value.find(part);
        if (!found) return {};
        value = *found;
      }
    }
    return value;
  }
  std::string text(std::string_view path) const { return std::string(at(path).text()); }
  std::int64_t number(std::string_view path) const { return at(path).as_integer().value_or(-1); }
  std::size_t size(std::string_view path) const { return at(path).items().size(); }

 private:
  std::unique_ptr<std::string> text_;
  std::unique_ptr<base::Arena> arena_ = std::make_unique<base::Arena>();
  base::Value root_;
};

}  // namespace tests

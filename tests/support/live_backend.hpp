// A whole backend on a port of its own, and agents made of the real transport and codec, for tests that
// block.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "backend/server/options.hpp"
#include "backend/telemetry/metrics.hpp"
#include "base/text.hpp"
#include "base/values/json.hpp"
#include "protocol/messages.hpp"
#include "transport/client/http_client.hpp"

namespace tests {

using std::chrono::milliseconds;
using std::chrono::seconds;

class LiveBackend {
 public:
  explicit LiveBackend(const std::string& data, backend::server::Options options = {});
  ~LiveBackend();
  LiveBackend(const LiveBackend&) = delete;
  LiveBackend& operator=(const LiveBackend&) = delete;

  // As SIGTERM does it. Returns when the loop has nothing left to do.
  void drain();
  void begin_drain();

  std::uint16_t port() const { return port_; }
  const std::string& token() const { return token_; }
  backend::telemetry::Metrics& metrics();

  transport::HttpClientOptions client_options(bool with_token = true) const;
  // Of the API; the answer has to be one that openapi.json describes.
  transport::HttpReply call(const std::string& method, const std::string& target, std::string body = {},
                            transport::Headers headers = {}) const;
  // Uploads a recipe with these states (JSON) and assigns it.
  void push(const std::string& name, const std::string& states) const;
  void assign(const std::string& recipe, const std::string& selector = "*") const;
  // A tag of the operator.
  void tag(const std::string& instance, const std::string& name, const std::string& value) const;

 private:
  struct Running;
  std::unique_ptr<Running> running_;
  std::uint16_t port_ = 0;
  std::string token_;
};

// An agent of the test's own. It reads only while the test waits for something.
class TestAgent {
 public:
  explicit TestAgent(std::string instance_id, std::string app_id = "default");
  ~TestAgent();
  TestAgent(const TestAgent&) = delete;
  TestAgent& operator=(const TestAgent&) = delete;

  // Opens the websocket; says nothing.
  void open(const LiveBackend& backend);
  // Opens, greets, and answers what it is welcomed with.
  protocol::Welcome connect(const LiveBackend& backend);
  // Goes without a word.
  void leave();

  void send(protocol::AgentBody body, std::string re = {}, std::string mid = {});
  void send_text(std::string text);
  void report(std::uint64_t seq, const std::string& id, std::int64_t version, std::string outcome = "changed",
              std::string run_id = {});

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
          while (!found && !heard().empty()) {
            if (std::holds_alternative<T>(heard().front().body)) found = std::move(heard().front());
            heard().pop_front();
          }
          return found.has_value() || is_closed();
        },
        within);
    return found;
  }
  // Waits until the backend has stored everything up to that number.
  bool acked(std::uint64_t seq, milliseconds within = seconds(20));
  // True when nothing of that kind comes within the time.
  template <class T>
  bool hears_no(milliseconds within = milliseconds(300)) {
    return !next<T>(within);
  }
  // The code with which the backend closes; 0 when it does not.
  unsigned close_code(milliseconds within = seconds(20));

  bool is_closed() const;

  protocol::Handshake hello;

 private:
  struct Connection;
  // Runs the loop until that is true, or the time is over: then it answers false.
  bool pump(const std::function<bool()>& condition, milliseconds within);
  std::deque<protocol::BackendMessage>& heard();

  std::unique_ptr<Connection> connection_;
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

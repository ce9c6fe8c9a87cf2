// For tests: an HTTPS server on a thread of its own, and clients for it.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include <doctest/doctest.h>

#include "tests/support/certificates.hpp"
#include "tests/support/loopback.hpp"
#include "transport/client/dial.hpp"
#include "transport/client/http_client.hpp"
#include "transport/server/http_server.hpp"

namespace transport {

inline bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

inline TlsIdentity identity(tests::Signed made) {
  return {.chain = std::move(made.chain), .key = std::move(made.key)};
}

// "plain", "nobody", "verified", or what is wrong with the client's certificate.
inline std::string describe_client(const HttpRequest& request) {
  if (!request.secure) return "plain";
  if (!request.certificate) return "nobody";
  return request.certificate->problem.empty() ? "verified" : request.certificate->problem;
}

inline Task<HttpResponse> answer_tls(HttpRequest request) {
  HttpResponse response;
  if (request.path == "/large")
    response.body = std::string(4'000'000, 'x');
  else if (request.path == "/echo")
    response.body = request.body;
  else if (request.path == "/events")
    response.stream = [](EventSink& sink) -> Task<> {
      while (!sink.ended()) {
        auto sent = co_await sink.send(format_event("", "", "tick"));
        if (!sent) co_return;
        co_await sleep_for(std::chrono::milliseconds(20));
      }
    };
  else
    response.body = describe_client(request);
  co_return response;
}

// Tells who the client is, then echoes.
inline Task<> echo_tls(HttpRequest request, std::shared_ptr<WebSocket> socket) {
  request.place->admit();
  Text text = make_text(describe_client(request));
  while (true) {
    auto written = co_await socket->write(std::move(text));
    if (!written) co_return;
    auto message = co_await socket->read();
    if (!message) co_return;
    text = make_text(std::move(*message));
  }
}

class TlsBench {
 public:
  explicit TlsBench(HttpServerOptions options = {},
                    tests::Wish wish = {.names = "DNS:localhost,IP:127.0.0.1"},
                    std::chrono::milliseconds ticket_period = TlsServer::kTicketPeriod) {
    auto made = TlsServer::make(identity_for(wish), authority.pem(), ticket_period);
    REQUIRE(made);
    tls = *made;
    options.tls = tls;
    options.web_socket.max_message = 8'000'000;
    thread.call([&] {
      auto listening = HttpServer::listen(thread.loop(), options, answer_tls, {{"/agent/", echo_tls}});
      REQUIRE(listening);
      server = std::move(*listening);
      server->start();
    });
  }
  TlsBench(const TlsBench&) = delete;
  TlsBench& operator=(const TlsBench&) = delete;
  ~TlsBench() {
    thread.call([&] { server.reset(); });
  }

  // What a server of this authority shows.
  TlsIdentity identity_for(const tests::Wish& wish) const { return identity(authority.issue(wish)); }

  std::shared_ptr<TlsClient> client(std::optional<TlsIdentity> own = {}) const {
    return make_client({.ca = authority.pem(), .ca_hash = {}}, std::move(own));
  }
  static std::shared_ptr<TlsClient> make_client(TlsTrust trust, std::optional<TlsIdentity> own = {}) {
    auto made = TlsClient::make(std::move(trust), std::move(own));
    REQUIRE(made);
    return *made;
  }

  std::string where(std::string_view host = "127.0.0.1") const {
    return std::string(host) + ":" + std::to_string(server->port());
  }

  HttpClientOptions to(std::shared_ptr<TlsClient> trusting, std::string_view host = "127.0.0.1") const {
    HttpClientOptions options;
    options.server = *parse_uri("https://" + where(host));
    options.tls = std::move(trusting);
    return options;
  }
  // The body of the reply, or the error.
  std::string ask(std::shared_ptr<TlsClient> trusting, std::string_view host = "127.0.0.1",
                  std::string target = "/") const {
    HttpClient http(to(std::move(trusting), host));
    auto reply = http.request({.method = "GET", .target = std::move(target)});
    return reply ? reply->body : "error: " + reply.error().message();
  }

  DialOptions socket_to(std::shared_ptr<TlsClient> trusting, std::string_view host = "127.0.0.1") const {
    DialOptions options;
    options.uri = *parse_uri("wss://" + where(host) + "/agent/");
    options.web_socket.max_message = 8'000'000;
    options.tls = std::move(trusting);
    return options;
  }

  std::size_t connections() {
    std::size_t count = 0;
    thread.call([&] { count = server->connections(); });
    return count;
  }
  bool reaches(std::size_t count) {
    for (int i = 0; i < 500; ++i) {
      if (connections() == count) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }

  const tests::TestAuthority authority;
  std::shared_ptr<TlsServer> tls;
  tests::LoopThread thread;
  std::unique_ptr<HttpServer> server;
};

}  // namespace transport

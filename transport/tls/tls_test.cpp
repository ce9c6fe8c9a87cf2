// Who is at the other end: what clients believe of servers, and servers of clients.
#include "transport/tls.hpp"

#include <thread>

#include <doctest/doctest.h>
#include <openssl/ssl.h>

#include "tests/support/tls_bench.hpp"
#include "transport/client/connect.hpp"

using namespace std::chrono_literals;
using namespace transport;

namespace {

ConnectOptions way_to(const TlsBench& bench, std::shared_ptr<TlsClient> client) {
  return {.uri = *parse_uri("https://" + bench.where()),
          .proxy = std::nullopt,
          .resolve_timeout = 5s,
          .connect_timeout = 5s,
          .answer_timeout = 5s,
          .tls_timeout = 5s,
          .tls = std::move(client)};
}

// Whether a new connection takes up the session that the client has kept.
bool resumes(const TlsBench& bench, const std::shared_ptr<TlsClient>& client) {
  Loop loop;
  bool reused = false;
  tests::run_on(loop, [&]() -> Task<> {
    auto way = way_to(bench, client);
    auto stream = co_await connect(std::move(way));
    REQUIRE(stream);
    reused = ::SSL_session_reused(stream->ssl()) == 1;
  });
  return reused;
}

}  // namespace

TEST_CASE("requests and large bodies pass over TLS, several on one connection") {
  TlsBench bench;
  HttpClient http(bench.to(bench.client()));
  for (int i = 0; i < 3; ++i) {
    auto reply = http.request({.method = "GET", .target = "/large"});
    REQUIRE(reply);
    CHECK(reply->body.size() == 4'000'000);
  }
  const std::string body(5'000'000, 'y');
  auto reply = http.request({.method = "POST", .target = "/echo", .body = body});
  REQUIRE(reply);
  CHECK(reply->body == body);
  CHECK(bench.connections() == 1);
}

TEST_CASE("a stream of events passes over TLS, and the server notices that its reader has left") {
  TlsBench bench;
  {
    HttpClient http(bench.to(bench.client()));
    int events = 0;
    auto reply = http.stream({.method = "GET", .target = "/events"}, {},
                             [&](const ServerEvent& event) { return event.data == "tick" && ++events < 3; });
    REQUIRE(reply);
    CHECK(events == 3);
  }
  CHECK(bench.reaches(0));
}

TEST_CASE("a client trusts the CA that it was given, and says whose hash it saw otherwise") {
  const TlsBench bench;
  CHECK(bench.ask(bench.client()) == "nobody");
  CHECK(bench.ask(bench.client(), "localhost") == "nobody");
  const tests::TestAuthority other("another");
  const std::string error = bench.ask(TlsBench::make_client({.ca = other.pem(), .ca_hash = {}}));
  CHECK(has(error, "the certificate of " + bench.where() +
                       " is signed by an authority that is not trusted here (CA hash " +
                       bench.authority.hash()));
  CHECK(has(error, "is the CA file the backend's?"));
  // The same name and another key is another authority.
  const tests::TestAuthority twin;
  CHECK(has(bench.ask(TlsBench::make_client({.ca = twin.pem(), .ca_hash = {}})), "error: "));
}

TEST_CASE("a client may trust as many authorities as a system has, the right one among them") {
  const TlsBench bench;
  const std::string another = tests::TestAuthority("another").pem();
  std::string bundle;
  for (int i = 0; i < 200; ++i)
    bundle += another;
  CHECK(bench.ask(TlsBench::make_client({.ca = bundle + bench.authority.pem(), .ca_hash = {}})) == "nobody");
}

TEST_CASE("a client that knows the hash of the CA's key needs no CA, and takes no other hash") {
  const TlsBench bench;
  CHECK(bench.ask(TlsBench::make_client({.ca = {}, .ca_hash = bench.authority.hash()})) == "nobody");
  const tests::TestAuthority other("another");
  const std::string error = bench.ask(TlsBench::make_client({.ca = {}, .ca_hash = other.hash()}));
  CHECK(has(error, "does not have the CA that the join token names"));
  CHECK(has(error, other.hash()));
  CHECK(has(error, bench.authority.hash()));
  CHECK(has(error, "get a new token"));
}

TEST_CASE("a CA in the chain that did not sign the certificate is worth nothing") {
  // An attacker sends the true CA along with a certificate of their own.
  const tests::TestAuthority victim;
  const TlsBench bench;
  TlsIdentity mixed = bench.identity_for({.names = "IP:127.0.0.1"});
  mixed.chain += victim.pem();
  REQUIRE(bench.tls->replace(mixed));
  const std::string error = bench.ask(TlsBench::make_client({.ca = {}, .ca_hash = victim.hash()}));
  CHECK(has(error, "error: the certificate of "));
}

TEST_CASE("a certificate for another host, or of another time, is refused with the reason") {
  const TlsBench elsewhere({}, {.names = "DNS:ops.example,IP:10.0.0.1"});
  std::string error = elsewhere.ask(elsewhere.client());
  CHECK(has(error, "is for ops.example, 10.0.0.1 and not for 127.0.0.1: use a name that it is for"));
  error = elsewhere.ask(elsewhere.client(), "localhost");
  CHECK(has(error, "is for ops.example, 10.0.0.1 and not for localhost"));
  // The hash of the CA does not make up for the name.
  error = elsewhere.ask(TlsBench::make_client({.ca = {}, .ca_hash = elsewhere.authority.hash()}));
  CHECK(has(error, "and not for 127.0.0.1"));

  const TlsBench expired({}, {.names = "IP:127.0.0.1", .from = -100, .until = -50});
  error = expired.ask(expired.client());
  CHECK(has(error, "expired on 20"));
  CHECK(has(error, "it must be renewed there"));

  const TlsBench early({}, {.names = "IP:127.0.0.1", .from = 500, .until = 1000});
  error = early.ask(early.client());
  CHECK(has(error, "is not valid before 20"));
  CHECK(has(error, "is this machine's clock right? it says 20"));
}

TEST_CASE("an agent's certificate does not make a server") {
  const TlsBench bench({}, {.names = ""});
  const std::string error = bench.ask(bench.client());
  CHECK(has(error, "is not for servers"));
}

TEST_CASE("a client's certificate reaches the handler with what is wrong with it") {
  TlsBench bench;
  const auto as = [&](const tests::TestAuthority& authority, const tests::Wish& wish) {
    return bench.client(identity(authority.issue(wish)));
  };
  CHECK(bench.ask(bench.client()) == "nobody");
  CHECK(bench.ask(as(bench.authority, {})) == "verified");
  CHECK(has(bench.ask(as(bench.authority, {.from = -100, .until = -50})), "the certificate expired on 20"));
  CHECK(has(bench.ask(as(bench.authority, {.from = 500})), "the certificate is not valid before 20"));
  const tests::TestAuthority other("another");
  CHECK(has(bench.ask(as(other, {})), "signed by an authority that this backend does not know"));
  const tests::TestAuthority twin;
  CHECK(has(bench.ask(as(twin, {})), "the certificate "));
  CHECK(bench.ask(as(bench.authority, {.names = "DNS:server"})) == "the certificate is not for clients");

  Loop loop;
  std::string said;
  tests::run_on(loop, [&]() -> Task<> {
    auto way = bench.socket_to(as(bench.authority, {}));
    auto socket = co_await dial(std::move(way));
    REQUIRE(socket);
    auto message = co_await (*socket)->read();
    REQUIRE(message);
    said = *message;
  });
  CHECK(said == "verified");
}

TEST_CASE("a session is resumed with the same server, and the client's certificate is checked anew") {
  TlsBench bench;
  const auto client = bench.client(identity(bench.authority.issue({.until = 4})));
  CHECK_FALSE(resumes(bench, client));
  CHECK(bench.ask(client) == "verified");  // reads, and so gets the ticket
  CHECK(resumes(bench, client));
  CHECK(bench.ask(client) == "verified");
  // Another name is another question to the certificate.
  CHECK(bench.ask(client, "localhost") == "verified");
  CHECK_FALSE(resumes(bench, client));
  CHECK(bench.ask(client) == "verified");
  std::this_thread::sleep_for(4500ms);
  CHECK(resumes(bench, client));
  CHECK(has(bench.ask(client), "the certificate expired on"));
}

TEST_CASE("a renewed server certificate is shown to new connections, and open ones and sessions stay") {
  TlsBench bench;
  const auto client = bench.client();
  HttpClient open(bench.to(client));
  REQUIRE(open.request({.method = "GET", .target = "/"}));
  REQUIRE(bench.tls->replace(bench.identity_for({.names = "DNS:localhost"})));
  REQUIRE(open.request({.method = "GET", .target = "/"}));
  CHECK(bench.connections() == 1);
  CHECK(resumes(bench, client));
  CHECK(bench.ask(bench.client(), "localhost") == "nobody");
  CHECK(has(bench.ask(bench.client()), "is for localhost and not for 127.0.0.1"));
  // One that does not fit is refused, and the old one stays.
  TlsIdentity mixed = bench.identity_for({.names = "DNS:localhost"});
  mixed.key = bench.identity_for({.names = "DNS:localhost"}).key;
  CHECK_FALSE(bench.tls->replace(mixed));
  CHECK(bench.ask(bench.client(), "localhost") == "nobody");
}

TEST_CASE(
    "clients of an authority that was replaced are refused from then on, also with a session of before") {
  TlsBench bench;
  const tests::TestAuthority next("the next authority");
  const auto old_client = bench.client(bench.identity_for({}));
  const auto new_client = bench.client(identity(next.issue({})));
  CHECK(bench.ask(old_client) == "verified");
  CHECK(has(bench.ask(new_client), "an authority that this backend does not know"));
  const TlsIdentity shown = bench.identity_for({.names = "DNS:localhost,IP:127.0.0.1"});
  REQUIRE(bench.tls->replace(shown, bench.authority.pem() + next.pem()));
  CHECK(bench.ask(old_client) == "verified");
  CHECK(bench.ask(new_client) == "verified");
  REQUIRE(bench.tls->replace(shown, next.pem()));
  CHECK(resumes(bench, old_client));
  CHECK(has(bench.ask(old_client), "an authority that this backend does not know"));
  CHECK(bench.ask(new_client) == "verified");
  // One that is no authority is refused, and nothing has changed.
  CHECK_FALSE(bench.tls->replace(shown, "nonsense"));
  CHECK(bench.ask(new_client) == "verified");
}

TEST_CASE("a ticket is good for as long as its key is known, and then there is a full handshake") {
  const auto period = 1500ms;
  TlsBench bench({}, {.names = "IP:127.0.0.1"}, period);
  const auto client = bench.client(identity(bench.authority.issue({})));
  CHECK(bench.ask(client) == "verified");
  CHECK(resumes(bench, client));
  std::this_thread::sleep_for(2 * period + 100ms);
  CHECK_FALSE(resumes(bench, client));
  CHECK(bench.ask(client) == "verified");
  CHECK(resumes(bench, client));
}

TEST_CASE("a session is not offered once the server's certificate has run out") {
  TlsBench bench({}, {.names = "IP:127.0.0.1", .until = 2});
  const auto client = bench.client();
  CHECK(bench.ask(client) == "nobody");
  CHECK(resumes(bench, client));
  REQUIRE(bench.tls->replace(bench.identity_for({.names = "IP:127.0.0.1"})));
  std::this_thread::sleep_for(2500ms);
  CHECK_FALSE(resumes(bench, client));
}

TEST_CASE("what is not a certificate, a key or a hash is refused when it is given") {
  const tests::TestAuthority authority;
  const tests::Signed one = authority.issue({.names = "DNS:a"});
  const auto error_of = [](const auto& result) { return result ? std::string() : result.error().message(); };
  CHECK(error_of(TlsServer::make({one.chain, one.key}, authority.pem())).empty());
  CHECK(has(error_of(TlsServer::make({"", one.key}, "")), "no certificate"));
  CHECK(has(error_of(TlsServer::make({"nonsense", one.key}, "")), "not a certificate in PEM"));
  CHECK(has(error_of(TlsServer::make({one.chain, "nonsense"}, "")), "private key"));
  CHECK(has(error_of(TlsServer::make({one.chain, authority.issue({}).key}, "")), "does not belong"));
  CHECK(has(error_of(TlsServer::make({one.chain, one.key}, "nonsense")), "the authority of clients"));
  CHECK(has(error_of(TlsServer::make({one.chain.substr(0, one.chain.size() - 100), one.key}, "")), "PEM"));
  CHECK(has(error_of(TlsClient::make({})), "either a CA file or a CA hash"));
  CHECK(has(error_of(TlsClient::make({authority.pem(), authority.hash()})), "either"));
  CHECK(has(error_of(TlsClient::make({"", "abc"})), "64 hexadecimal digits"));
  CHECK(has(error_of(TlsClient::make({authority.pem(), ""}, TlsIdentity{one.chain, "x"})), "private key"));
}

#include "transport/client/connect.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <memory>
#include <string>
#include <vector>

#include "base/text.hpp"
#include "transport/tls/tls_context.hpp"
#include "transport/tokens.hpp"

namespace transport {
namespace {

constexpr std::size_t kMaxAddresses = 16;
constexpr std::size_t kMaxProxyAnswer = 8 * 1024;

// A name whose lookup can be given up: getaddrinfo() cannot be interrupted, so its answer goes to whatever
// still holds this, and is dropped when nobody waits any more.
struct Lookup {
  explicit Lookup(asio::any_io_executor executor) : resolver(executor), finished(executor) {}

  tcp::resolver resolver;
  Wake finished;
  bool done = false;
  ErrorCode error;
  std::vector<tcp::endpoint> endpoints;
};

// Alternates between the address families, so that one that leads nowhere costs one deadline and not all of
// them.
std::vector<tcp::endpoint> interleave(const std::vector<tcp::endpoint>& endpoints) {
  std::vector<tcp::endpoint> first;
  std::vector<tcp::endpoint> other;
  for (const tcp::endpoint& endpoint : endpoints)
    (endpoint.protocol() == endpoints.front().protocol() ? first : other).push_back(endpoint);
  std::vector<tcp::endpoint> result;
  for (std::size_t i = 0; i < std::max(first.size(), other.size()); ++i) {
    if (i < first.size()) result.push_back(first[i]);
    if (i < other.size()) result.push_back(other[i]);
  }
  if (result.size() > kMaxAddresses) result.resize(kMaxAddresses);
  return result;
}

Task<base::Result<std::vector<tcp::endpoint>>> resolve(std::string host, std::uint16_t port,
                                                       std::chrono::milliseconds timeout) {
  std::vector<tcp::endpoint> endpoints;
  ErrorCode not_an_address;
  const auto address = asio::ip::make_address(host, not_an_address);
  if (!not_an_address) {
    endpoints.emplace_back(address, port);
    co_return endpoints;
  }
  const auto lookup = std::make_shared<Lookup>(co_await asio::this_coro::executor);
  lookup->resolver.async_resolve(host, std::to_string(port), tcp::resolver::numeric_service,
                                 [lookup](const ErrorCode& error, const tcp::resolver::results_type& found) {
                                   lookup->done = true;
                                   lookup->error = error;
                                   for (const auto& entry : found)
                                     lookup->endpoints.push_back(entry.endpoint());
                                   lookup->finished.notify();
                                 });
  co_await lookup->finished.wait_for(timeout);
  if (!lookup->done)
    co_return base::Error(base::ErrorCode::timed_out,
                          "looking up the name " + host + " takes too long: do the name servers answer?");
  if (lookup->error || lookup->endpoints.empty())
    co_return base::Error(base::ErrorCode::not_found, "the name " + host + " was not found (" +
                                                          lookup->error.message() +
                                                          "): is it spelled right, and does DNS work here?");
  co_return interleave(lookup->endpoints);
}

base::Error connect_error(const ErrorCode& error, const tcp::endpoint& endpoint, bool to_proxy) {
  const std::string where = join_host_port(endpoint.address().to_string(), endpoint.port());
  if (error == asio::error::connection_refused)
    return {base::ErrorCode::io, "connection refused by " + where +
                                     (to_proxy ? ": is the proxy running?" : ": is the backend running?")};
  return to_error(error, "connecting to " + where);
}

base::Error near_error(const std::string& where) {
  return {base::ErrorCode::invalid,
          "it leads to " + where + ", an address of this machine or of its own link, which is not followed"};
}

Task<base::Result<tcp::socket>> connect_one(tcp::endpoint endpoint, std::chrono::milliseconds timeout,
                                            bool to_proxy) {
  tcp::socket socket(co_await asio::this_coro::executor);
  const Deadline deadline(socket.get_executor(), timeout, [&socket] {
    ErrorCode ignored;
    socket.close(ignored);
  });
  auto [error] = co_await socket.async_connect(endpoint, kAsTuple);
  if (deadline.expired())
    co_return base::Error(base::ErrorCode::timed_out,
                          "no answer from " +
                              join_host_port(endpoint.address().to_string(), endpoint.port()) + " within " +
                              std::to_string(timeout.count()) + " ms: is a firewall in the way?");
  if (error) co_return connect_error(error, endpoint, to_proxy);
  ErrorCode ignored;
  socket.set_option(tcp::no_delay(true), ignored);
  socket.set_option(asio::socket_base::keep_alive(true), ignored);
  co_return std::move(socket);
}

Task<base::Result<tcp::socket>> connect_any(std::string host, std::uint16_t port, ConnectOptions options,
                                            bool to_proxy) {
  auto endpoints = co_await resolve(std::move(host), port, options.resolve_timeout);
  if (!endpoints) co_return std::move(endpoints).error();
  if (options.refuses_near && !to_proxy) {
    // Of the addresses that are connected to, not of the name: what a name leads to is its owner's choice.
    const std::string first = endpoints->front().address().to_string();
    std::erase_if(*endpoints, [](const tcp::endpoint& it) { return is_near(it.address().to_string()); });
    if (endpoints->empty()) co_return near_error(first);
  }
  base::Error last(base::ErrorCode::internal, "no address");
  for (const tcp::endpoint& endpoint : *endpoints) {
    auto socket = co_await connect_one(endpoint, options.connect_timeout, to_proxy);
    if (socket) co_return std::move(*socket);
    last = std::move(socket).error();
  }
  if (endpoints->size() > 1)
    co_return std::move(last).with_context("none of " + std::to_string(endpoints->size()) +
                                           " addresses works");
  co_return last;
}

// Asks the proxy for a tunnel. Nothing of the server can follow its answer, for in TLS, HTTP and websockets
// the client speaks first.
Task<base::Result<tcp::socket>> open_tunnel(tcp::socket socket, ConnectOptions options) {
  const std::string target = options.uri.authority();
  const std::string via = "proxy " + join_host_port(options.proxy->host, options.proxy->port);
  std::string request = "CONNECT " + target + " HTTP/1.1\r\nHost: " + target + "\r\n";
  if (!options.proxy->authorization.empty())
    request += "Proxy-Authorization: " + options.proxy->authorization + "\r\n";
  request += "\r\n";

  const Deadline deadline(socket.get_executor(), options.answer_timeout, [&socket] {
    ErrorCode ignored;
    socket.close(ignored);
  });
  std::string answer;
  auto [write_error, written] = co_await asio::async_write(socket, asio::buffer(request), kAsTuple);
  ErrorCode error = write_error;
  if (!error) {
    auto [read_error, size] = co_await asio::async_read_until(
        socket, asio::dynamic_buffer(answer, kMaxProxyAnswer), "\r\n\r\n", kAsTuple);
    error = read_error;
    if (!error && size < answer.size())
      co_return base::Error(base::ErrorCode::invalid, via + " sent more than an answer");
  }
  if (deadline.expired()) co_return base::Error(base::ErrorCode::timed_out, via + " did not answer in time");
  if (error) co_return to_error(error, via + " did not open a tunnel to " + target);

  const std::string_view line = std::string_view(answer).substr(0, answer.find("\r\n"));
  const auto words = base::split_words(line);
  if (words.size() < 2 || !words[0].starts_with("HTTP/1."))
    co_return base::Error(base::ErrorCode::invalid, via + " does not speak HTTP");
  if (words[1] == "407")
    co_return base::Error(base::ErrorCode::permission, via + " wants a name and password (407)");
  if (words[1].size() != 3 || words[1][0] != '2')
    co_return base::Error(base::ErrorCode::io, via + " refused the tunnel to " + target + " (" +
                                                   std::string(words[1].substr(0, 3)) + ")");
  co_return std::move(socket);
}

Task<base::Result<tcp::socket>> connect_tcp(ConnectOptions options) {
  if (!options.proxy) {
    std::string host = options.uri.host;
    const std::uint16_t port = options.uri.port;
    co_return co_await connect_any(std::move(host), port, std::move(options), false);
  }
  // What a name leads to is known to the proxy only.
  if (options.refuses_near && is_near(options.uri.host)) co_return near_error(options.uri.host);
  std::string host = options.proxy->host;
  const std::uint16_t port = options.proxy->port;
  auto socket = co_await connect_any(std::move(host), port, options, true);
  if (!socket) co_return std::move(socket).error().with_context("reaching the proxy");
  co_return co_await open_tunnel(std::move(*socket), std::move(options));
}

}  // namespace

Task<base::Result<Stream>> connect(ConnectOptions options) {
  if (options.uri.secure() && !options.tls)
    co_return base::Error(
        base::ErrorCode::invalid,
        options.uri.text() + ": which authority signs its certificate? Give a CA file, or a join token");
  auto socket = co_await connect_tcp(options);
  if (!socket) co_return std::move(socket).error();
  Stream stream(std::move(*socket));
  if (options.uri.secure()) {
    std::string host = options.uri.host;
    std::string where = options.uri.authority();
    auto secured = co_await secure_as_client(stream, std::move(options.tls), std::move(host),
                                             std::move(where), options.tls_timeout);
    if (!secured) co_return std::move(secured).error();
  }
  co_return std::move(stream);
}

}  // namespace transport

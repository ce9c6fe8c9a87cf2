// bench_connections [N [CHAIN KEY]]: what an idle websocket costs the server, in KiB of resident memory.
//
// With files of a certificate chain and its key in PEM, the connections are TLS, and the clients show the
// same certificate as their own. The server is this process, with a reader and a send queue per connection as
// the backend has them. The clients are a forked child, so that only one side is measured. Prints one line of
// JSON.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <openssl/ssl.h>

#include "transport/server/http_server.hpp"
#include "transport/web_socket/send_queue.hpp"

using namespace std::chrono_literals;
using namespace transport;

namespace {

std::size_t resident_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmRSS:")) return std::stoul(line.substr(6));
  return 0;
}

std::string read_file(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// A client's end, with TLS if there is a context. Never closed: the process ends.
class Peer {
 public:
  Peer(std::uint16_t port, SSL_CTX* tls) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) std::_Exit(1);
    if (!tls) return;
    ssl_ = ::SSL_new(tls);
    ::SSL_set_fd(ssl_, fd_);
    if (::SSL_connect(ssl_) != 1) std::_Exit(1);
  }
  void ask(const std::string& text) {
    char answer[2048];
    const int size = static_cast<int>(text.size());
    const bool sent = ssl_ ? ::SSL_write(ssl_, text.data(), size) == size
                           : ::send(fd_, text.data(), text.size(), 0) == size;
    if (!sent || (ssl_ ? ::SSL_read(ssl_, answer, sizeof answer)
                       : static_cast<int>(::recv(fd_, answer, sizeof answer, 0))) <= 0)
      std::_Exit(1);
  }

 private:
  int fd_;
  SSL* ssl_ = nullptr;
};

// Opens them all, sends one message on each, waits for its answer, and then sits there.
[[noreturn]] void clients(std::uint16_t port, std::size_t count, const char* chain, const char* key) {
  const std::string hello =
      "GET /agent/ HTTP/1.1\r\nHost: h\r\nUser-Agent: opsagent/1.0\r\nUpgrade: websocket\r\n"
      "Connection: Upgrade\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: "
      "13\r\n\r\n";
  const std::string frame = std::string("\x81\xfe\x01\xf4\0\0\0\0", 8) + std::string(500, 'x');
  SSL_CTX* tls = nullptr;
  if (chain) {
    tls = ::SSL_CTX_new(::TLS_client_method());
    SSL_CTX_set_mode(tls, SSL_MODE_RELEASE_BUFFERS);
    if (::SSL_CTX_use_certificate_chain_file(tls, chain) != 1 ||
        ::SSL_CTX_use_PrivateKey_file(tls, key, SSL_FILETYPE_PEM) != 1)
      std::_Exit(1);
  }
  for (std::size_t i = 0; i < count; ++i) {
    Peer peer(port, tls);
    peer.ask(hello);
    peer.ask(frame);
  }
  ::pause();
  std::_Exit(0);
}

Task<> writer(std::shared_ptr<SendQueue> queue, std::shared_ptr<WebSocket> socket) {
  auto written = co_await queue->run(std::move(socket));
}

Task<> agent(HttpRequest, std::shared_ptr<WebSocket> socket) {
  const auto queue = std::make_shared<SendQueue>(socket->executor());
  spawn(socket->executor(), writer(queue, socket));
  while (true) {
    auto message = co_await socket->read();
    if (!message) break;
    queue->push(make_text(std::move(*message)));
  }
  queue->close();
}

Task<HttpResponse> none(HttpRequest) {
  co_return HttpResponse{.status = 404};
}

Task<> measure(Loop& loop, HttpServer& server, std::size_t count, const char* chain, const char* key,
               pid_t& child) {
  const std::size_t before = resident_kib();
  child = ::fork();
  if (child == 0) clients(server.port(), count, chain, key);
  while (server.connections() < count)
    co_await sleep_for(50ms);
  co_await sleep_for(1s);
  const std::size_t after = resident_kib();
  std::printf("{\"connections\": %zu, \"rss_before_kib\": %zu, \"rss_after_kib\": %zu, \"kib_each\": %.2f}\n",
              count, before, after, static_cast<double>(after - before) / static_cast<double>(count));
  loop.stop();
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t count = argc > 1 ? std::stoul(argv[1]) : 2000;
  const rlimit descriptors{count + 100, count + 100};
  ::setrlimit(RLIMIT_NOFILE, &descriptors);
  Loop loop(1);
  HttpServerOptions options;
  const char* chain = argc > 3 ? argv[2] : nullptr;
  const char* key = argc > 3 ? argv[3] : nullptr;
  if (chain) {
    auto tls = TlsServer::make({.chain = read_file(chain), .key = read_file(key)}, read_file(chain));
    if (!tls) {
      std::fprintf(stderr, "%s\n", tls.error().message().c_str());
      return 1;
    }
    options.tls = *tls;
  }
  auto server = HttpServer::listen(loop, options, none, {{"/agent/", agent}});
  if (!server) {
    std::fprintf(stderr, "%s\n", server.error().message().c_str());
    return 1;
  }
  (*server)->start();
  pid_t child = -1;
  spawn(loop.get_executor(), measure(loop, **server, count, chain, key, child));
  loop.run();
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

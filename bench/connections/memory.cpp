// bench_connections [N]: what an idle websocket costs the server, in KiB of resident memory.
//
// The server is this process, with a reader and a send queue per connection as the backend has them. The
// clients are a forked child, so that only one side is measured. Prints one line of JSON.
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
#include <string>
#include <vector>

#include "transport/http_server.hpp"
#include "transport/send_queue.hpp"

using namespace std::chrono_literals;
using namespace transport;

namespace {

std::size_t resident_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmRSS:")) return std::stoul(line.substr(6));
  return 0;
}

// Opens them all, sends one message on each, waits for its answer, and then sits there.
[[noreturn]] void clients(std::uint16_t port, std::size_t count) {
  const std::string hello =
      "GET /agent/ HTTP/1.1\r\nHost: h\r\nUser-Agent: opsagent/1.0\r\nUpgrade: websocket\r\n"
      "Connection: Upgrade\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: "
      "13\r\n\r\n";
  const std::string payload(500, 'x');
  const std::string frame = std::string("\x81\xfe\x01\xf4\0\0\0\0", 8) + payload;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  for (std::size_t i = 0; i < count; ++i) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) std::_Exit(1);
    char answer[2048];
    if (::send(fd, hello.data(), hello.size(), 0) < 0 || ::recv(fd, answer, sizeof answer, 0) <= 0)
      std::_Exit(1);
    if (::send(fd, frame.data(), frame.size(), 0) < 0 || ::recv(fd, answer, sizeof answer, 0) <= 0)
      std::_Exit(1);
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

Task<> measure(Loop& loop, HttpServer& server, std::size_t count, pid_t& child) {
  const std::size_t before = resident_kib();
  child = ::fork();
  if (child == 0) clients(server.port(), count);
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
  auto server = HttpServer::listen(loop, {}, none, {{"/agent/", agent}});
  if (!server) {
    std::fprintf(stderr, "%s\n", server.error().message().c_str());
    return 1;
  }
  (*server)->start();
  pid_t child = -1;
  spawn(loop.get_executor(), measure(loop, **server, count, child));
  loop.run();
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

#include "agent/control/control_server.hpp"

#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "agent/control/control_address.hpp"
#include "base/values/json.hpp"

namespace agent::control {

namespace {

constexpr int kMostClients = 16;
constexpr std::size_t kLongestRequest = 4096;
constexpr std::chrono::seconds kPatience{5};  // for the whole request

std::string answer_to(std::string_view line, const ControlServer::Handler& handler) {
  base::Arena arena;
  const auto parsed = base::parse_json(line, arena, {.depth = 8, .values = 64});
  const auto* request = std::get_if<base::Value>(&parsed);
  if (!request || !request->is_object()) return R"({"error":"a JSON object in one line is expected"})";
  return handler(*request);
}

}  // namespace

base::Result<std::unique_ptr<ControlServer>> ControlServer::listen(transport::Loop& loop,
                                                                   const std::string& path, Handler handler) {
  auto address = control_address(path);
  if (!address) return std::move(address).error();
  base::UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return base::os_error(errno, "control socket");
  ::unlink(path.c_str());  // the pid file says that nobody else is alive here
  const mode_t before = ::umask(0177);
  const int bound = ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address);
  const int error = errno;
  ::umask(before);
  if (bound != 0) return base::os_error(error, "cannot listen at " + path);
  if (::listen(fd.get(), kMostClients) != 0) return base::os_error(errno, "cannot listen at " + path);
  return std::unique_ptr<ControlServer>(new ControlServer(loop, path, std::move(fd), std::move(handler)));
}

ControlServer::ControlServer(transport::Loop& loop, std::string path, base::UniqueFd fd, Handler handler)
    : path_(std::move(path)),
      fd_(std::move(fd)),
      watcher_(std::make_shared<transport::FdWatcher>(loop.get_executor(), fd_.get())),
      shared_(std::make_shared<Shared>(Shared{.handler = std::move(handler)})) {
  transport::spawn(loop.get_executor(), accept(loop, watcher_, fd_.get(), shared_));
}

ControlServer::~ControlServer() {
  watcher_->cancel();
  ::unlink(path_.c_str());
}

transport::Task<> ControlServer::accept(transport::Loop& loop,
                                        std::shared_ptr<transport::FdWatcher> listening, int fd,
                                        std::shared_ptr<Shared> shared) {
  while (co_await listening->readable()) {
    base::UniqueFd client(::accept4(fd, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!client || shared->clients >= kMostClients) continue;
    ++shared->clients;
    transport::spawn(loop.get_executor(), serve(loop, std::move(client), shared));
  }
}

transport::Task<> ControlServer::serve(transport::Loop& loop, base::UniqueFd client,
                                       std::shared_ptr<Shared> shared) {
  transport::FdWatcher watcher(loop.get_executor(), client.get());
  std::string request;
  bool is_answered = false;
  while (true) {
    const bool came = is_answered ? co_await watcher.readable() : co_await watcher.readable_for(kPatience);
    if (!came) break;
    std::array<char, kLongestRequest> buffer;
    const ssize_t got = ::read(client.get(), buffer.data(), buffer.size());
    if (got <= 0) {
      if (got < 0 && (errno == EAGAIN || errno == EINTR)) continue;
      break;
    }
    if (is_answered) break;  // one request is all that a connection carries
    request.append(buffer.data(), static_cast<std::size_t>(got));
    const std::size_t end = request.find('\n');
    if (end == std::string::npos) {
      if (request.size() >= kLongestRequest) break;
      continue;
    }
    const std::string answer = answer_to(std::string_view(request).substr(0, end), shared->handler) + "\n";
    // It fits into the socket's buffer; a client that is gone is no news.
    if (::send(client.get(), answer.data(), answer.size(), MSG_NOSIGNAL) < 0) break;
    is_answered = true;
  }
  --shared->clients;
}

}  // namespace agent::control

#include "states/docker/unix_http.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "base/text.hpp"
#include "base/unique_fd.hpp"

namespace states::docker {

namespace {

constexpr std::size_t kLargestHead = 64 * 1024;
constexpr std::size_t kLargestBody = 32 * 1024 * 1024;
constexpr std::size_t kPiece = 64 * 1024;

base::Error wrong(const char* what) {
  return {base::ErrorCode::io, std::string("the engine's answer is no HTTP: ") + what};
}

// A connected socket, read and written with the deadline and the interrupt in mind.
class Connection {
 public:
  Connection(base::Interrupt& interrupt, UnixHttp::Deadline deadline, std::chrono::milliseconds idle)
      : interrupt_(interrupt), deadline_(deadline), idle_(idle) {}

  base::Result<void> open(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path)
      return base::Error(base::ErrorCode::invalid, "the path of the socket is too long: " + path);
    std::memcpy(address.sun_path, path.data(), path.size());
    fd_.reset(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!fd_) return base::os_error(errno, "socket");
    if (::connect(fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
      return base::os_error(errno, path);
    return {};
  }

  base::Result<void> send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent > 0) {
        bytes.remove_prefix(static_cast<std::size_t>(sent));
      } else if (errno == EAGAIN) {
        if (auto ready = wait(POLLOUT); !ready) return ready;
      } else if (errno != EINTR) {
        return base::os_error(errno, "the engine hung up");
      }
    }
    return {};
  }

  // What has come; empty at the end.
  base::Result<std::string_view> receive() {
    for (;;) {
      const ssize_t got = ::recv(fd_.get(), buffer_.data(), buffer_.size(), 0);
      if (got >= 0) return std::string_view(buffer_.data(), static_cast<std::size_t>(got));
      if (errno == EAGAIN) {
        if (auto ready = wait(POLLIN); !ready) return std::move(ready).error();
      } else if (errno != EINTR) {
        return base::os_error(errno, "the engine hung up");
      }
    }
  }

 private:
  base::Result<void> wait(short events) {
    const auto silent_until = std::chrono::steady_clock::now() + idle_;
    for (;;) {
      if (interrupt_.requested()) return base::Error(base::ErrorCode::cancelled, "Cancelled");
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
          std::min(deadline_, silent_until) - std::chrono::steady_clock::now());
      if (left.count() <= 0)
        return base::Error(base::ErrorCode::timed_out, "Timed out: the Docker engine does not answer");
      pollfd watched[2] = {{fd_.get(), events, 0}, {interrupt_.wait_fd(), POLLIN, 0}};
      const int ready = ::poll(watched, 2, static_cast<int>(std::min<std::int64_t>(left.count(), 60'000)));
      if (ready < 0 && errno != EINTR) return base::os_error(errno, "poll");
      if (ready > 0 && watched[0].revents != 0) return {};
    }
  }

  base::Interrupt& interrupt_;
  const UnixHttp::Deadline deadline_;
  const std::chrono::milliseconds idle_;
  base::UniqueFd fd_;
  std::array<char, kPiece> buffer_{};
};

struct Head {
  int status = 0;
  bool is_chunked = false;
  std::optional<std::uint64_t> length;
};

base::Result<Head> parse_head(std::string_view text) {
  Head head;
  bool is_first = true;
  for (std::string_view line : base::split(text, '\n')) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (is_first) {
      const auto words = base::split_words(line);
      const auto status = words.size() < 2 ? std::nullopt : base::parse_integer(words[1]);
      if (!line.starts_with("HTTP/1.") || !status || *status < 100 || *status > 599)
        return wrong("its first line");
      head.status = static_cast<int>(*status);
      is_first = false;
      continue;
    }
    const std::string_view name = line.substr(0, line.find(':'));
    const std::string_view value = name.size() < line.size() ? base::trim(line.substr(name.size() + 1)) : "";
    if (base::equal_ignoring_case(name, "Transfer-Encoding"))
      head.is_chunked = base::equal_ignoring_case(value, "chunked");
    if (base::equal_ignoring_case(name, "Content-Length")) {
      const auto length = base::parse_integer(value);
      if (!length || *length < 0) return wrong("its length");
      head.length = static_cast<std::uint64_t>(*length);
    }
  }
  return head;
}

// Bytes that have come and were not used, and the connection that has more.
class Reader {
 public:
  explicit Reader(Connection& connection) : connection_(connection) {}

  // Up to and without `end`, at most `limit` bytes.
  base::Result<std::string> until(std::string_view end, std::size_t limit) {
    std::size_t at = 0;
    while ((at = held_.find(end)) == held_.npos) {
      if (held_.size() > limit) return wrong("a line that is too long");
      auto more = connection_.receive();
      if (!more) return std::move(more).error();
      if (more->empty()) return wrong("it ends too early");
      held_ += *more;
    }
    std::string found = held_.substr(0, at);
    held_.erase(0, at + end.size());
    return found;
  }

  // Hands on so many bytes; without a number all to the end.
  base::Result<void> hand_on(std::optional<std::uint64_t> count, const OnBody& take) {
    while (!count || *count > 0) {
      if (held_.empty()) {
        auto more = connection_.receive();
        if (!more) return std::move(more).error();
        if (more->empty())
          return count ? base::Result<void>(wrong("it ends too early")) : base::Result<void>();
        held_ = *more;
      }
      const std::size_t size =
          count ? static_cast<std::size_t>(std::min<std::uint64_t>(*count, held_.size())) : held_.size();
      if (auto taken = take(std::string_view(held_).substr(0, size)); !taken) return taken;
      held_.erase(0, size);
      if (count) *count -= size;
    }
    return {};
  }

 private:
  Connection& connection_;
  std::string held_;
};

base::Result<void> read_chunks(Reader& reader, const OnBody& take) {
  for (;;) {
    auto line = reader.until("\r\n", 1024);
    if (!line) return std::move(line).error();
    const std::string digits = line->substr(0, line->find(';'));
    if (digits.empty() || digits.size() > 8 ||
        digits.find_first_not_of("0123456789abcdefABCDEF") != digits.npos)
      return wrong("the length of a piece");
    const std::uint64_t size = std::strtoull(digits.c_str(), nullptr, 16);
    if (size == 0) return {};  // what may follow is of no use
    if (auto done = reader.hand_on(size, take); !done) return done;
    if (auto end = reader.until("\r\n", 2); !end) return std::move(end).error();
  }
}

std::string hex(std::size_t number) {
  std::array<char, 20> text{};
  std::snprintf(text.data(), text.size(), "%zx", number);
  return text.data();
}

base::Result<void> send_request(Connection& connection, const HttpRequest& request) {
  std::string head =
      request.method + " " + request.target + " HTTP/1.1\r\nHost: docker\r\nConnection: close\r\n";
  for (const auto& [name, value] : request.headers)
    head += name + ": " + value + "\r\n";
  const bool has_body = !request.body.empty() || request.upload;
  if (has_body) head += "Content-Type: " + request.content_type + "\r\n";
  if (request.upload)
    head += "Transfer-Encoding: chunked\r\n\r\n";
  else
    head += "Content-Length: " + std::to_string(request.body.size()) + "\r\n\r\n" + request.body;
  if (auto sent = connection.send(head); !sent) return sent;
  while (request.upload) {
    auto piece = request.upload();
    if (!piece) return std::move(piece).error();
    // Whoever hangs up in the middle has said why: read on.
    const auto sent = connection.send(hex(piece->size()) + "\r\n" + *piece + "\r\n");
    if (!sent && sent.error().code() != base::ErrorCode::io) return sent;
    if (!sent || piece->empty()) break;
  }
  return {};
}

}  // namespace

base::Result<HttpReply> UnixHttp::request(const HttpRequest& request, std::chrono::milliseconds idle,
                                          const OnBody& on_body) {
  Connection connection(interrupt_, deadline_, idle);
  if (auto opened = connection.open(socket_); !opened) return std::move(opened).error();
  if (auto sent = send_request(connection, request); !sent) return std::move(sent).error();
  Reader reader(connection);
  Head head;
  do {
    auto text = reader.until("\r\n\r\n", kLargestHead);
    if (!text) return std::move(text).error();
    auto parsed = parse_head(*text);
    if (!parsed) return std::move(parsed).error();
    head = *parsed;
  } while (head.status < 200);  // "100 Continue"

  HttpReply reply{.status = head.status};
  const OnBody keep = [&](std::string_view piece) -> base::Result<void> {
    if (reply.body.size() + piece.size() > kLargestBody)
      return base::Error(base::ErrorCode::limit, "the engine's answer is larger than 32 MiB");
    reply.body += piece;
    return {};
  };
  if (head.status == 204 || head.status == 304) return reply;
  const OnBody& take = on_body && reply.ok() ? on_body : keep;
  auto done = head.is_chunked ? read_chunks(reader, take) : reader.hand_on(head.length, take);
  if (!done) return std::move(done).error();
  return reply;
}

std::string percent_encoded(std::string_view text) {
  std::string encoded;
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.' || c == '~') {
      encoded += c;
    } else {
      std::array<char, 4> code{};
      std::snprintf(code.data(), code.size(), "%%%02X", static_cast<unsigned>(static_cast<unsigned char>(c)));
      encoded += code.data();
    }
  }
  return encoded;
}

}  // namespace states::docker

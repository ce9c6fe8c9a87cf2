#include "transport/server/goodbye.hpp"

namespace transport {
namespace {

constexpr std::chrono::milliseconds kLinger = std::chrono::seconds(2);
constexpr std::size_t kMostRead = 16 * 1024 * 1024;

}  // namespace

Task<> say_goodbye(Stream& stream, const bool& stopping) {
  ErrorCode error;
  const Deadline deadline(stream.get_executor(), kLinger, [&stream] {
    ErrorCode ignored;
    stream.close(ignored);
  });
  tcp::socket& below = stream.tcp_socket();  // from here on nobody decrypts
  while (!error && !stream.say_close()) {
    auto [failed] = co_await below.async_wait(tcp::socket::wait_write, kAsTuple);
    error = failed;
  }
  if (!error) below.shutdown(tcp::socket::shutdown_send, error);
  std::array<char, 4096> rest;
  std::size_t total = 0;
  while (!error && total < kMostRead && !stopping) {
    auto [failed, count] = co_await below.async_read_some(asio::buffer(rest), kAsTuple);
    error = failed;
    total += count;
  }
}

}  // namespace transport

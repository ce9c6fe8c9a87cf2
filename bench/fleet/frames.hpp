// The client's half of RFC 6455, as little of it as a load generator needs. Written apart from transport/ on
// purpose: it costs the machine that is measured less, and the backend is tried by a second implementation.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace fleet {

enum class Opcode : std::uint8_t { continuation = 0, text = 1, binary = 2, close = 8, ping = 9, pong = 10 };

struct Frame {
  Opcode opcode = Opcode::text;
  bool last = true;
  std::string_view payload;  // in the buffer that was read
  std::size_t size = 0;      // with its header
};

// The request that turns a connection into a websocket.
std::string upgrade_request(std::string_view host, std::string_view path);

// A masked frame, appended to `out`.
void append_frame(std::string& out, Opcode opcode, std::string_view payload, std::uint32_t mask);

// The first frame of `buffer`, once all of it has arrived.
std::optional<Frame> first_frame(std::string_view buffer);

}  // namespace fleet

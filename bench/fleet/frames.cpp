#include "bench/fleet/frames.hpp"

namespace fleet {

std::string upgrade_request(std::string_view host, std::string_view path) {
  std::string request = "GET ";
  request.append(path).append(" HTTP/1.1\r\nHost: ").append(host);
  // The key only has to be 16 bytes in base64: whoever answers cannot be anybody else here.
  request +=
      "\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
      "Sec-WebSocket-Key: b3BzYWdlbnQtZmxlZXQhIQ==\r\n\r\n";
  return request;
}

void append_frame(std::string& out, Opcode opcode, std::string_view payload, std::uint32_t mask) {
  out.push_back(static_cast<char>(0x80U | static_cast<unsigned>(opcode)));
  const std::size_t size = payload.size();
  const auto length_byte = [&](unsigned value) { out.push_back(static_cast<char>(0x80U | value)); };
  int more = 0;
  if (size < 126) {
    length_byte(static_cast<unsigned>(size));
  } else if (size <= 0xFFFF) {
    length_byte(126);
    more = 2;
  } else {
    length_byte(127);
    more = 8;
  }
  for (int i = more - 1; i >= 0; --i)
    out.push_back(static_cast<char>(size >> (8 * i) & 0xFF));
  const char key[4] = {static_cast<char>(mask), static_cast<char>(mask >> 8), static_cast<char>(mask >> 16),
                       static_cast<char>(mask >> 24)};
  out.append(key, 4);
  const std::size_t start = out.size();
  out.append(payload);
  for (std::size_t i = 0; i < size; ++i)
    out[start + i] = static_cast<char>(out[start + i] ^ key[i % 4]);
}

std::optional<Frame> first_frame(std::string_view buffer) {
  if (buffer.size() < 2) return std::nullopt;
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(buffer[i]); };
  std::size_t header = 2;
  std::uint64_t size = byte(1) & 0x7FU;  // a server does not mask
  const std::size_t more = size == 126 ? 2 : size == 127 ? 8 : 0;
  if (more > 0) {
    header += more;
    if (buffer.size() < header) return std::nullopt;
    size = 0;
    for (std::size_t i = 0; i < more; ++i)
      size = size << 8 | byte(2 + i);
  }
  if (size > buffer.size() - header) return std::nullopt;
  return Frame{.opcode = static_cast<Opcode>(byte(0) & 0x0FU),
               .last = (byte(0) & 0x80U) != 0,
               .payload = buffer.substr(header, static_cast<std::size_t>(size)),
               .size = header + static_cast<std::size_t>(size)};
}

}  // namespace fleet

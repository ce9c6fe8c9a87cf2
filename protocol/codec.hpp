// Messages to text and back. The limits are checked while reading, before a tree exists.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "protocol/messages.hpp"

namespace protocol {

// A frame larger than this is refused before authentication, or after it unless configured otherwise.
inline constexpr std::size_t kLargestBeforeWelcome = 64 * 1024;
inline constexpr std::size_t kLargestMessage = 4 * 1024 * 1024;
inline constexpr std::size_t kDeepest = 64;

// Websocket close codes that this protocol uses.
inline constexpr unsigned kCloseNormal = 1000;
inline constexpr unsigned kCloseGoingAway = 1001;   // a draining backend, an agent that stops
inline constexpr unsigned kCloseProtocol = 1002;    // JSON, but no message that is allowed here
inline constexpr unsigned kCloseNotJson = 1007;     // not UTF-8, not JSON, too deep, duplicate keys
inline constexpr unsigned kClosePolicy = 1008;      // refused: identity, version
inline constexpr unsigned kCloseTooLarge = 1009;    // checked by the transport, before it is read
inline constexpr unsigned kCloseSuperseded = 4001;  // another socket of the same agent took over

// Unknown fields are ignored and null is as good as absent. What is wrong is said with code and field:
// "StateLog.state_result: a boolean is expected, not text". The size of the text is the caller's to limit.
base::Result<AgentMessage> parse_agent_message(std::string_view text);
base::Result<BackendMessage> parse_backend_message(std::string_view text);

// The code of a text that is no message all the same; "": it has none.
std::string code_in(std::string_view text);

// The websocket close code for an error of the two above.
unsigned close_code(const base::Error& error);

// One JSON object. Json in the message is copied as it is and must be valid. With version 1 only what version
// 1 has is written, but for the fields of the handshake that offer version 2.
std::string encode(const AgentMessage& message, int version = 2);
std::string encode(const BackendMessage& message, int version = 2);

}  // namespace protocol

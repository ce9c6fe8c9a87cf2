// A stream of server-sent events, as a client gets it: all at once, and in pieces whose length is the first
// byte.
#include <vector>

#include "tests/fuzz/fuzz.hpp"
#include "transport/http.hpp"

namespace {

using transport::EventParser;
using transport::ServerEvent;

constexpr std::size_t kLargest = 4096;

struct Heard {
  std::vector<ServerEvent> events;
  bool is_too_large = false;
};

Heard hear(std::string_view bytes, std::size_t piece) {
  EventParser parser(kLargest);
  Heard heard;
  for (; !bytes.empty() && !heard.is_too_large; bytes.remove_prefix(std::min(piece, bytes.size())))
    heard.is_too_large = parser.feed(bytes.substr(0, piece), [&](const ServerEvent& event) {
      heard.events.push_back(event);
      return true;
    }) == EventParser::Outcome::too_large;
  return heard;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes = fuzz::text_of(data + 1, size - 1);
  const Heard whole = hear(bytes, bytes.size()), pieces = hear(bytes, data[0] % 7 + 1u);
  // How soon it is too large may depend on the pieces; what was heard before may not.
  const std::size_t both = std::min(whole.events.size(), pieces.events.size());
  if (!whole.is_too_large && !pieces.is_too_large)
    fuzz::require(whole.events.size() == pieces.events.size(), "pieces bring as many events as the whole");
  for (std::size_t i = 0; i < both; ++i)
    fuzz::require(whole.events[i].id == pieces.events[i].id &&
                      whole.events[i].event == pieces.events[i].event &&
                      whole.events[i].data == pieces.events[i].data,
                  "pieces bring the same events as the whole");
  for (const ServerEvent& event : whole.events) {
    if (event.event.find('\0') != std::string::npos) continue;  // dropped when it is written
    const Heard again = hear(transport::format_event(event.id, event.event, event.data), kLargest * 2);
    fuzz::require(
        again.is_too_large || (again.events.size() == 1 && again.events[0].data == event.data &&
                               again.events[0].event == event.event && again.events[0].id == event.id),
        "an event is read as it was written");
  }
  return 0;
}

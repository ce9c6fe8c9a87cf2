// Inside transport/: which requests are refused for their head alone, before anything else looks at it.
//
// Pure. Beast's parser is content with a good deal that RFC 9112 forbids or leaves open. Where a head has two
// readings, whoever stands in front of us may choose the other one, and then sees another end of the request
// than we do: what is left over runs as somebody's next request. So a head must have one reading, or the
// request is refused and its connection ends.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace transport {

inline constexpr std::size_t kMostFields = 128;
// Nobody uses chunk extensions; they are read over if they are short.
inline constexpr std::size_t kMostChunkExtension = 256;

// Finds the end of a head as it comes in, and sees at once when it will have none.
class HeadScan {
 public:
  enum class Outcome { more, whole, malformed };

  // `text`: all that has arrived, from the head's first byte on. Looks at each byte once.
  Outcome feed(std::string_view text);
  // Of the head, with the blank line at its end, once it is whole.
  std::size_t size() const { return at_; }

 private:
  std::size_t at_ = 0;
};

struct HeadProblem {
  unsigned status = 0;
  std::string_view words;  // for whoever wrote the client
};

// `head`: request line and fields, with the blank line at the end. Nothing: it may be served, and its body is
// as long as the one Content-Length says, or in chunks, or there is none.
std::optional<HeadProblem> problem_with_head(std::string_view head);

// What stands behind the size of a chunk, with its ";".
bool is_good_chunk_extension(std::string_view text);

// "host" or "host:port", as in Host.
bool is_authority(std::string_view text);

}  // namespace transport

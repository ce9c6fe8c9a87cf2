// The head of an HTTP request, as a server gets it: what is served has one reading.
#include <algorithm>
#include <string>

#include "tests/fuzz/fuzz.hpp"
#include "transport/server/head_rules.hpp"

using fuzz::require;

namespace {

// Looks at the text and not at its grammar.
std::size_t count(std::string_view text, std::string_view word) {
  std::size_t found = 0;
  for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1))
    ++found;
  return found;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::text_of(data, size);
  transport::HeadScan whole;
  const auto outcome = whole.feed(text);
  transport::HeadScan pieces;
  auto last = transport::HeadScan::Outcome::more;
  for (std::size_t end = 0; end <= text.size() && last == transport::HeadScan::Outcome::more; ++end)
    last = pieces.feed(text.substr(0, end));
  require(last == outcome && pieces.size() == whole.size(), "how a head is cut makes no difference");
  if (outcome != transport::HeadScan::Outcome::whole) return 0;

  std::string head(text.substr(0, whole.size()));
  if (transport::problem_with_head(head)) return 0;
  std::ranges::transform(head, head.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  require(count(head, "\n") == count(head, "\r\n") && count(head, "\r") == count(head, "\n"),
          "all lines end with CR LF");
  require(head.find('\0') == std::string::npos, "no NUL in a head");
  require(count(head, "\n ") == 0 && count(head, "\n\t") == 0, "no field goes over two lines");
  require(count(head, "\nhost:") <= 1, "one Host");
  require(count(head, "\nhost:") == 1 || head.find(" http/1.0\r\n") != std::string::npos,
          "a Host in HTTP/1.1");
  require(count(head, "\ncontent-length:") + count(head, "\ntransfer-encoding:") <= 1,
          "one word about where the body ends");
  if (const std::size_t at = head.find("\ntransfer-encoding:"); at != std::string::npos) {
    const std::size_t end = head.find('\r', at);
    std::string value = head.substr(at + 19, end - at - 19);
    std::erase_if(value, [](char c) { return c == ' ' || c == '\t'; });
    require(value == "chunked", "chunked and nothing else");
  }
  return 0;
}

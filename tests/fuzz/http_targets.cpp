// The target of an HTTP request, as a server gets it.
#include "tests/fuzz/fuzz.hpp"
#include "transport/http.hpp"

using fuzz::require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::text_of(data, size);
  if (text.find('\0') != std::string_view::npos) return 0;  // HTTP's own reader refuses these
  transport::HttpRequest request;
  if (transport::split_target(text, request)) {
    require(request.path.starts_with('/') || request.path == "*", "a path begins with a slash");
    require(request.path.find('\0') == std::string::npos, "no NUL is hidden in a path");
    for (const auto& [name, value] : request.query)
      require(name.find('\0') == std::string::npos && value.find('\0') == std::string::npos,
              "no NUL is hidden in a query");
  }
  require(transport::percent_decode(transport::percent_encode(text), false) == text,
          "what was encoded is decoded to the same");
  return 0;
}

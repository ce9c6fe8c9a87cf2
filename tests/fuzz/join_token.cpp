// Join tokens, as people paste them and strangers send them.
#include "pki/join_token.hpp"

#include "tests/fuzz/fuzz.hpp"

using fuzz::require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::text_of(data, size);
  const auto token = pki::parse_join_token(text);
  if (!token) {
    require(!token.error().message().empty(), "a refusal says why");
    return 0;
  }
  require(pki::format_join_token(*token) == text, "there is one way to write a token");
  require(token->id.size() == 16 && token->secret.size() == 32 && token->ca_hash.size() == 64,
          "its parts have their lengths");
  return 0;
}

// Certificate requests and certificates, as strangers send them.
#include "pki/certificate.hpp"
#include "pki/request.hpp"
#include "tests/fuzz/fuzz.hpp"

using fuzz::require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::text_of(data, size);
  if (const auto request = pki::Request::parse(text)) {
    require(size <= pki::kLargestRequest, "a request has its largest size");
    require(request->public_hash().size() == 64, "the key of a request has a hash");
  }
  if (const auto chain = pki::Certificate::parse_chain(text)) {
    require(!chain->empty(), "a chain has a certificate");
    for (const pki::Certificate& certificate : *chain) {
      for (const char c : certificate.subject())
        require(static_cast<unsigned char>(c) >= ' ' && c != 0x7f, "nothing in a subject disturbs a log");
      if (const auto name = certificate.agent_name())
        require(pki::parse_agent_uri(pki::uri_of(*name)) == *name, "an agent's name survives");
    }
  }
  return 0;
}

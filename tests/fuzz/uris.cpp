// Addresses of servers, and hosts with ports.
#include "tests/fuzz/fuzz.hpp"
#include "transport/uri.hpp"

using fuzz::require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::text_of(data, size);
  if (const auto uri = transport::parse_uri(text)) {
    const auto again = transport::parse_uri(uri->text());
    require(bool(again), "an address that was read can be written and read");
    require(again->scheme == uri->scheme && again->host == uri->host && again->port == uri->port &&
                again->target == uri->target,
            "an address is read as it was written");
    require(uri->target.starts_with('/'), "a target begins with a slash");
    for (const char c : uri->text())
      require(static_cast<unsigned char>(c) > ' ' && c != 0x7f, "no blank or control character is accepted");
  }
  if (const auto split = transport::split_host_port(text, 0)) {
    const auto again = transport::split_host_port(transport::join_host_port(split->host, split->port), 0);
    require(again && again->host == split->host && again->port == split->port, "host and port survive");
  }
  return 0;
}

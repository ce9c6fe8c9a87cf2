#include "agent/runtime/daemon_settings.hpp"

#include "transport/uri.hpp"

namespace agent::runtime {

std::optional<std::string> refuse_uri(const std::string& text, bool allow_plain) {
  auto uri = transport::parse_uri(text);
  if (!uri) return uri.error().message();
  if (uri->scheme != "ws" && uri->scheme != "wss") return "a ws:// or wss:// address is expected";
  if (!uri->secure() && !uri->is_local() && !allow_plain)
    return "it is not encrypted and leads to another machine: use wss://, or set allow_plain";
  return std::nullopt;
}

}  // namespace agent::runtime

#include "agent/runtime/address_rules.hpp"

#include "transport/uri.hpp"

namespace agent::runtime {

namespace {

std::optional<std::string> refuse_way(const transport::Uri& uri, const AddressRules& rules) {
  if (uri.scheme != "ws" && uri.scheme != "wss") return "a ws:// or wss:// address is expected";
  if (uri.secure()) return std::nullopt;
  if (rules.is_member)
    return "it is not encrypted, and nobody there has to prove who they are: a machine with a certificate or "
           "a join token uses wss:// only";
  if (!uri.is_local() && !rules.allow_plain)
    return "it is not encrypted and leads to another machine: use wss://, or set allow_plain";
  return std::nullopt;
}

}  // namespace

std::optional<std::string> refuse_uri(const std::string& text, const AddressRules& rules) {
  const auto uri = transport::parse_uri(text);
  if (!uri) return uri.error().message();
  return refuse_way(*uri, rules);
}

std::optional<std::string> refuse_named_uri(const std::string& text, const AddressRules& rules) {
  const auto uri = transport::parse_uri(text);
  if (!uri) return uri.error().message();
  if (auto why = refuse_way(*uri, rules)) return why;
  if (!uri->secure() && rules.is_own_secure)
    return "it is not encrypted, and this machine's own configuration says wss://";
  if (!rules.hosts.allows(uri->host))
    return "this machine's configuration does not list the host '" + uri->host + "' (it lists " +
           rules.hosts.text() + "): add allowed_backend_host there";
  return std::nullopt;
}

}  // namespace agent::runtime

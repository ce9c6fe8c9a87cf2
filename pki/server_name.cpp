#include "pki/server_name.hpp"

#include <arpa/inet.h>

#include <algorithm>

#include "base/text.hpp"

namespace pki {

namespace {

bool is_label(std::string_view label) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  };
  return !label.empty() && label.size() <= 63 && label.front() != '-' && label.back() != '-' &&
         std::ranges::all_of(label, allowed);
}

bool is_dns_name(std::string_view name) {
  if (name.empty() || name.size() > 253 || name.back() == '.') return false;
  const auto labels = base::split(name, '.');
  // A last label of digits only is a mistyped address.
  return std::ranges::all_of(labels, is_label) &&
         labels.back().find_first_not_of("0123456789") != std::string_view::npos;
}

}  // namespace

base::Result<AltName> read_server_name(const std::string& name) {
  // An embedded NUL would end the text for inet_pton.
  const bool is_plain = name.find('\0') == std::string::npos;
  std::string bytes(16, '\0');
  if (is_plain && ::inet_pton(AF_INET6, name.c_str(), bytes.data()) == 1)
    return AltName{AltName::Kind::address, bytes};
  if (is_plain && ::inet_pton(AF_INET, name.c_str(), bytes.data()) == 1)
    return AltName{AltName::Kind::address, bytes.substr(0, 4)};
  if (is_dns_name(name)) return AltName{AltName::Kind::dns, name};
  return base::Error(
      base::ErrorCode::invalid,
      "a server's name must be a DNS name (letters, digits, '-', '.') or an IP address without "
      "brackets");
}

}  // namespace pki

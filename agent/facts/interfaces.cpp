// Network interfaces but for loopback, with their addresses.
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <array>
#include <map>
#include <memory>
#include <set>

#include "agent/facts/facts.hpp"
#include "base/files/file_read.hpp"
#include "base/text.hpp"
#include "base/values/json_text.hpp"

namespace agent::facts {

namespace {

constexpr std::size_t kMostInterfaces = 64;

// Addresses of the link itself change with every boot of some machines and say nothing.
std::string address_text(const sockaddr& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (address.sa_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
    ::inet_ntop(AF_INET, &v4.sin_addr, text.data(), text.size());
  } else if (address.sa_family == AF_INET6) {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
    if (IN6_IS_ADDR_LINKLOCAL(&v6.sin6_addr)) return {};
    ::inet_ntop(AF_INET6, &v6.sin6_addr, text.data(), text.size());
  }
  return text.data();
}

}  // namespace

std::string interfaces() {
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) return {};
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> list(first, &::freeifaddrs);
  std::map<std::string, std::set<std::string>> found;
  for (const ifaddrs* each = list.get(); each; each = each->ifa_next) {
    if ((each->ifa_flags & IFF_LOOPBACK) != 0 || found.size() >= kMostInterfaces) continue;
    std::set<std::string>& addresses = found[each->ifa_name];
    if (!each->ifa_addr) continue;
    if (const std::string text = address_text(*each->ifa_addr); !text.empty()) addresses.insert(text);
  }
  base::JsonText json;
  json.begin_object();
  for (const auto& [name, addresses] : found) {
    json.key(name).begin_object().key("addresses").begin_list();
    for (const std::string& address : addresses)
      json.value(address);
    json.end_list();
    if (const auto mac = base::read_file("/sys/class/net/" + name + "/address", 256))
      json.member("mac", base::trim(*mac));
    json.end_object();
  }
  return json.end_object().take();
}

}  // namespace agent::facts

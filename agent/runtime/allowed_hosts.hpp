// AllowedHosts: to which hosts a backend may send this machine, by its settings or when it says goodbye. The
// machine's own configuration says so; nothing that comes over the wire adds to it. Pure values, any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace agent::runtime {

// One entry of the configuration (allowed_backend_host): a host name, an IP address, or "*.domain" for the
// names that have exactly one label more than the domain. Refused, with the reason: what is neither, and a
// domain in which anybody can have a name (see is_shared_domain()).
base::Result<std::string> parse_allowed_host(std::string_view text);

// Whether strangers can have names directly below the domain: a single label ("com"), a registry's second
// level ("co.uk"), or one that a hosting company hands out ("eu-west-1.compute.amazonaws.com"). There is no
// list of all of them that does not age. This errs towards true: a second level counts as somebody's own from
// three letters on (example.com, not uk.com), below a country from four on (example.de, not com.au) unless it
// is known for a registry's.
bool is_shared_domain(std::string_view domain);

class AllowedHosts {
 public:
  AllowedHosts() = default;
  // `own`: the addresses of the configuration; their hosts are always allowed. `entries` as
  // parse_allowed_host() answers them. Without entries: the siblings of the first address too
  // (backend.example.com: *.example.com), unless their domain is shared or the host an IP address.
  AllowedHosts(const std::vector<std::string>& own, const std::vector<std::string>& entries);

  bool allows(std::string_view host) const;
  // "backend.example.com, *.example.com", for people.
  std::string text() const;

 private:
  std::vector<std::string> hosts_;  // names, addresses and "*.domain"
};

}  // namespace agent::runtime

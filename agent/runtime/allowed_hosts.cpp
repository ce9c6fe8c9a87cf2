#include "agent/runtime/allowed_hosts.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "transport/uri.hpp"

namespace agent::runtime {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

constexpr std::string_view kAnyLabel = "*.";
constexpr std::size_t kLongestName = 253;
constexpr std::size_t kLongestLabel = 63;
constexpr std::size_t kCountry = 2;  // letters
// Letters of a second level from which on it is taken for somebody's own: below a country, and elsewhere.
constexpr std::size_t kShortestOfCountry = 4;
constexpr std::size_t kShortest = 3;

// Second levels below countries that are registries' and have that many letters.
constexpr std::string_view kRegistries =
    "info name mobi school firm store asso presse gouv police priv conf coop museum";

// Domains whose owners hand out names below them to anybody. Not all that there are: docs/security.md.
constexpr std::string_view kHandedOut =
    "amazonaws.com amazonaws.com.cn awsapprunner.com elasticbeanstalk.com cloudfront.net "
    "azure.com azure.net azurewebsites.net cloudapp.net azurecontainer.io windows.net "
    "googleusercontent.com appspot.com run.app web.app goog herokuapp.com herokudns.com "
    "digitaloceanspaces.com ondigitalocean.app linodeusercontent.com vultrusercontent.com "
    "your-server.de ovh.net scw.cloud oraclecloud.com fly.dev onrender.com github.io gitlab.io "
    "netlify.app vercel.app pages.dev workers.dev trycloudflare.com ngrok.io ngrok.app "
    "duckdns.org nip.io sslip.io";

bool is_label(std::string_view label) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  };
  return !label.empty() && label.size() <= kLongestLabel && std::ranges::all_of(label, allowed);
}

// A DNS name. Resolvers take one whose last label is a number ("127.1", "0x7f.1") for an address.
bool is_dns_name(std::string_view host) {
  if (host.empty() || host.size() > kLongestName) return false;
  const std::vector<std::string_view> labels = base::split(host, '.');
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  return std::ranges::all_of(labels, is_label) && !is_digit(labels.back().front());
}

// Without its first label; empty when there is no other.
std::string_view parent_of(std::string_view name) {
  const std::size_t dot = name.find('.');
  return dot == std::string_view::npos ? std::string_view() : name.substr(dot + 1);
}

bool is_in(std::string_view name, std::string_view domain) {
  return name == domain || (name.size() > domain.size() && name.ends_with(domain) &&
                            name[name.size() - domain.size() - 1] == '.');
}

bool is_meant(std::string_view entry, std::string_view host) {
  if (!entry.starts_with(kAnyLabel)) return entry == host;
  return is_dns_name(host) && parent_of(host) == entry.substr(kAnyLabel.size());
}

}  // namespace

bool is_shared_domain(std::string_view domain) {
  const std::string_view above = parent_of(domain);
  if (above.empty()) return true;
  const auto is_below = [&](std::string_view each) { return is_in(domain, each); };
  if (std::ranges::any_of(base::split_words(kHandedOut), is_below)) return true;
  if (above.find('.') != std::string_view::npos) return false;
  const std::string_view second = domain.substr(0, domain.find('.'));
  if (above.size() != kCountry) return second.size() < kShortest;  // uk.com, eu.org
  const std::vector<std::string_view> registries = base::split_words(kRegistries);
  return second.size() < kShortestOfCountry || std::ranges::find(registries, second) != registries.end();
}

Result<std::string> parse_allowed_host(std::string_view text) {
  std::string host(text);
  for (char& c : host)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  const auto refused = [&](const std::string& why) {
    return Error(ErrorCode::invalid, "'" + std::string(text) + "' " + why);
  };
  if (transport::is_ip_address(host)) return host;
  if (!host.starts_with(kAnyLabel)) {
    if (is_dns_name(host)) return host;
    return refused("is neither a host name, nor an IP address, nor *.domain");
  }
  const std::string_view domain = std::string_view(host).substr(kAnyLabel.size());
  if (!is_dns_name(domain)) return refused("must have a domain after '*.': *.example.com");
  if (is_shared_domain(domain))
    return refused(
        "names a domain in which anybody can have a name: list the hosts, or a domain of your own");
  return host;
}

AllowedHosts::AllowedHosts(const std::vector<std::string>& own, const std::vector<std::string>& entries)
    : hosts_(entries) {
  for (const std::string& text : own) {
    const auto uri = transport::parse_uri(text);
    if (uri && std::ranges::find(hosts_, uri->host) == hosts_.end()) hosts_.push_back(uri->host);
  }
  const auto first = own.empty() ? base::Result<transport::Uri>(Error(ErrorCode::invalid, ""))
                                 : transport::parse_uri(own.front());
  if (!entries.empty() || !first || transport::is_ip_address(first->host) || !is_dns_name(first->host))
    return;
  const std::string_view domain = parent_of(first->host);
  if (!is_shared_domain(domain)) hosts_.push_back(std::string(kAnyLabel) + std::string(domain));
}

bool AllowedHosts::allows(std::string_view host) const {
  return std::ranges::any_of(hosts_, [&](const std::string& entry) { return is_meant(entry, host); });
}

std::string AllowedHosts::text() const {
  return base::join(hosts_, ", ");
}

}  // namespace agent::runtime

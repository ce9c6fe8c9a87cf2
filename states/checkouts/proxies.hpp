// Which proxies git, hg and svn are told of: the agent's, as its downloads have them, and none that happens
// to stand in its environment under another name (ALL_PROXY, HTTP_PROXY).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "states/context.hpp"

namespace states::checkouts {

// Takes all proxies out of an environment, and puts the agent's in.
void use_proxies(const DownloadSettings& settings, std::vector<std::string>& environment);

struct ProxyPlace {
  std::string host;
  std::string port;
  bool has_login = false;
};
// The proxy for an address, by its scheme; nothing for other schemes than http and https.
std::optional<ProxyPlace> proxy_for(std::string_view address, const DownloadSettings& settings);

}  // namespace states::checkouts

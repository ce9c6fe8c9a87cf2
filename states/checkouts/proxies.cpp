#include "states/checkouts/proxies.hpp"

#include "base/text.hpp"

namespace states::checkouts {

namespace {

constexpr std::string_view kEnding = "_proxy";
constexpr const char* kDefaultPort = "80";

bool is_proxy(std::string_view variable) {
  const std::string_view name = variable.substr(0, variable.find('='));
  return name.size() > kEnding.size() &&
         base::equal_ignoring_case(name.substr(name.size() - kEnding.size()), kEnding);
}

}  // namespace

void use_proxies(const DownloadSettings& settings, std::vector<std::string>& environment) {
  std::erase_if(environment, is_proxy);
  const auto add = [&](const char* name, const std::string& own) {
    const std::string& value = settings.proxy.empty() ? own : settings.proxy;
    if (value.empty()) return;
    const char* const scheme = value.find("://") == std::string::npos ? "http://" : "";
    environment.push_back(std::string(name) + "=" + scheme + value);
  };
  add("http_proxy", settings.http_proxy);
  add("https_proxy", settings.https_proxy);
  if (!settings.no_proxy.empty()) environment.push_back("no_proxy=" + settings.no_proxy);
}

std::optional<ProxyPlace> proxy_for(std::string_view address, const DownloadSettings& settings) {
  const std::string_view scheme = address.substr(0, address.find("://"));
  const bool is_secure = base::equal_ignoring_case(scheme, "https");
  if (!is_secure && !base::equal_ignoring_case(scheme, "http")) return std::nullopt;
  std::string_view text = !settings.proxy.empty() ? settings.proxy
                          : is_secure             ? settings.https_proxy
                                                  : settings.http_proxy;
  if (const std::size_t at = text.find("://"); at != text.npos) text.remove_prefix(at + 3);
  text = text.substr(0, text.find('/'));
  if (text.empty()) return std::nullopt;
  ProxyPlace place;
  if (const std::size_t at = text.rfind('@'); at != text.npos) {
    place.has_login = true;
    text.remove_prefix(at + 1);
  }
  const std::size_t colon = text.rfind(':');
  const bool has_port = colon != text.npos && text.find(']', colon) == text.npos;
  place.host = text.substr(0, has_port ? colon : text.npos);
  place.port = has_port ? std::string(text.substr(colon + 1)) : kDefaultPort;
  return place;
}

}  // namespace states::checkouts

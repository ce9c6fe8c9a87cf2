#include "states/downloads/way.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "states/downloads/download.hpp"
#include "transport/http.hpp"

namespace states::downloads {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

// In Context::notes.
struct Trust {
  std::shared_ptr<transport::TlsClient> tls;
};

std::string_view path_of(std::string_view url) {
  const std::size_t scheme = url.find("://");
  if (scheme == std::string_view::npos) return {};
  std::string_view rest = url.substr(scheme + 3);
  rest = rest.substr(0, rest.find_first_of("?#"));
  const std::size_t slash = rest.find('/');
  return slash == std::string_view::npos ? std::string_view() : rest.substr(slash);
}

}  // namespace

Result<transport::FetchOptions> fetch_options(Context& context) {
  const DownloadSettings& settings = context.host.downloads;
  auto proxies = transport::Proxies::parse({.proxy = settings.proxy,
                                            .http_proxy = settings.http_proxy,
                                            .https_proxy = settings.https_proxy,
                                            .no_proxy = settings.no_proxy});
  if (!proxies) return std::move(proxies).error();
  auto& trust = context.notes.get<Trust>();
  if (!trust.tls) {
    auto made = transport::system_trust(settings.ca_file);
    if (!made) return std::move(made).error();
    trust.tls = std::move(*made);
  }
  const auto longest = std::chrono::duration_cast<std::chrono::milliseconds>(kLongest);
  return transport::FetchOptions{.proxies = std::move(*proxies),
                                 .tls = trust.tls,
                                 .deadline = std::min(longest, context.commands.time_left()),
                                 .rate_window = settings.patience,
                                 .interrupt = &context.interrupt};
}

Error cannot_download(const Error& why, std::string_view url, const Context& context) {
  return {why.code(), "Cannot download " + shown_url(url, context) + ": " + why.message()};
}

Result<void> check_url(std::string_view url) {
  const std::size_t scheme = url.find("://");
  const std::string_view name = url.substr(0, scheme == std::string_view::npos ? 0 : scheme);
  const std::string shown = transport::without_credentials(url.substr(0, url.find('?')));
  if (base::equal_ignoring_case(name, "ftp"))
    return Error(ErrorCode::invalid,
                 "Cannot download " + shown + ": ftp is not supported; offer the file by https or http");
  if (!base::equal_ignoring_case(name, "http") && !base::equal_ignoring_case(name, "https"))
    return Error(ErrorCode::invalid,
                 "Cannot download " + shown + ": an address begins with https:// or http://");
  const std::string plain = transport::without_credentials(url.substr(0, url.find('#')));
  auto uri = transport::parse_uri(plain);
  if (!uri) return Error(ErrorCode::invalid, "Cannot download " + shown + ": " + uri.error().message());
  return {};
}

std::string shown_url(std::string_view url, const Context& context) {
  return transport::without_credentials(context.sensitive ? url.substr(0, url.find('?')) : url);
}

std::string file_name_in(std::string_view url) {
  const std::string_view path = path_of(url);
  if (path.empty()) return {};
  const std::string_view name = path.substr(path.rfind('/') + 1);
  auto decoded = transport::percent_decode(name, false);
  const bool is_name =
      decoded && *decoded != "." && *decoded != ".." && decoded->find('/') == std::string::npos;
  return is_name ? std::move(*decoded) : std::string();
}

}  // namespace states::downloads

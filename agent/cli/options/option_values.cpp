#include "agent/cli/options/option_values.hpp"

#include <algorithm>

#include "agent/metadata/metadata.hpp"
#include "agent/runtime/allowed_hosts.hpp"
#include "pki/join_token.hpp"
#include "transport/client/proxies.hpp"
#include "transport/uri.hpp"

namespace agent::cli {

using base::Error;
using base::ErrorCode;
using base::Result;
using terminal::must_be;

Result<void> store_color(Options& options, std::string_view value) {
  if (value == "auto")
    options.color = ColorWhen::automatic;
  else if (value == "always")
    options.color = ColorWhen::always;
  else if (value == "never")
    options.color = ColorWhen::never;
  else
    return must_be("auto, always or never", value);
  return {};
}

Result<void> store_log_level(Options& options, std::string_view value) {
  if (value == "debug")
    options.log_level = terminal::LogLevel::debug;
  else if (value == "info")
    options.log_level = terminal::LogLevel::info;
  else if (value == "warning")
    options.log_level = terminal::LogLevel::warning;
  else if (value == "error")
    options.log_level = terminal::LogLevel::error;
  else
    return must_be("debug, info, warning or error", value);
  return {};
}

Result<void> store_on_change(Options& options, std::string_view value) {
  if (value == "finish")
    options.on_change = engine::OnChange::finish;
  else if (value == "kill")
    options.on_change = engine::OnChange::kill;
  else
    return must_be("finish or kill", value);
  return {};
}

Result<void> store_language(Options& options, std::string_view value) {
  if (value != "sh" && value != "python" && value != "c++") return must_be("sh, python or c++", value);
  options.language = value;
  return {};
}

Result<void> store_round_delay(Options& options, std::string_view value) {
  constexpr std::int64_t kLongest = 30LL * 24 * 3600;
  const auto seconds = base::parse_integer(value);
  if (!seconds || *seconds < 1 || *seconds > kLongest)
    return must_be("a number of seconds from 1 to 2592000", value);
  options.round_delay = std::chrono::seconds(*seconds);
  return {};
}

Result<void> store_ws_uri(Options& options, std::string_view value) {
  auto uri = transport::parse_uri(value);
  if (!uri) return std::move(uri).error();
  if (uri->scheme != "ws" && uri->scheme != "wss") return must_be("a ws:// or wss:// address", value);
  // Given twice, in the file and on the command line say, it is still one backend.
  if (std::ranges::find(options.ws_uris, value) == options.ws_uris.end()) options.ws_uris.emplace_back(value);
  return {};
}

Result<void> store_join_token(Options& options, std::string_view value) {
  if (!value.starts_with('/'))
    if (auto token = pki::parse_join_token(value); !token) return std::move(token).error();
  options.join_token = value;
  return {};
}

Result<void> store_var(Options& options, std::string_view value) {
  const std::size_t equals = value.find('=');
  if (equals == std::string_view::npos || equals == 0) return must_be("NAME=VALUE", value);
  options.vars.emplace_back(value);
  return {};
}

Result<void> store_tag(Options& options, std::string_view value) {
  constexpr std::size_t kLongest = 1024;
  const std::size_t equals = value.find('=');
  if (equals == std::string_view::npos || value.size() > kLongest) return must_be("key=value", value);
  if (auto fine = identity::check_instance_id(value.substr(0, equals)); !fine)
    return std::move(fine).error().with_context("the key of a tag");
  options.tags.emplace_back(value);
  return {};
}

Result<void> store_proxy(Options& options, std::string_view value) {
  if (auto proxy = transport::parse_proxy(value); !proxy) return std::move(proxy).error();
  options.proxy = value;
  return {};
}

Result<void> store_unverified_host(Options& options, std::string_view value) {
  auto uri = transport::parse_uri("http://" + transport::join_host_port(value, 80) + "/");
  if (!uri || value.find('/') != value.npos) return must_be("the name or IP address of a host", value);
  options.allow_unverified_http.push_back(std::move(uri->host));
  return {};
}

Result<void> store_release(Options& options, std::string_view value) {
  const auto number = base::parse_integer(value);
  if (!number || *number < 1) return must_be("a number from 1 on", value);
  options.release = *number;
  return {};
}

Result<void> store_protocol_min(Options& options, std::string_view value) {
  if (value != "1" && value != "2") return must_be("1 or 2", value);
  options.protocol_min = value == "1" ? 1 : 2;
  return {};
}

Result<void> store_allowed_host(Options& options, std::string_view value) {
  auto host = runtime::parse_allowed_host(value);
  if (!host) return std::move(host).error();
  options.allowed_hosts.push_back(std::move(*host));
  return {};
}

Result<void> store_allow(Options& options, std::string_view value) {
  const std::vector<std::string_view> known = base::split_words(kAllowable);
  if (std::ranges::find(known, value) == known.end())
    return must_be("one of " + std::string(kAllowable), value);
  options.allow.emplace_back(value);
  return {};
}

Result<void> store_identity_source(Options& options, std::string_view value) {
  if (auto sources = metadata::parse_sources(value); !sources) return std::move(sources).error();
  options.identity_source = value;
  return {};
}

Result<void> store_metadata_url(Options& options, std::string_view value) {
  auto uri = transport::parse_uri(value);
  if (!uri) return std::move(uri).error();
  if (uri->scheme != "http") return must_be("an http:// address", value);
  options.metadata_url = value;
  return {};
}

Result<void> store_module_scheme(Options& options, std::string_view value) {
  if (value != "file" && value != "git") return must_be("file or git", value);
  options.module_schemes.emplace_back(value);
  return {};
}

}  // namespace agent::cli

#include "modules/fetch/repository_address.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace modules::fetch {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

constexpr std::size_t kLongestAddress = 2048;
constexpr std::size_t kLongestTag = 200;

Error bad_address(std::string_view text, const std::string& why) {
  return Error(ErrorCode::invalid, "the repository '" + base::quote_of(text) + "' " + why);
}

bool is_host_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_' || c == ':';
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return out;
}

// "git@host:path", as people copy it.
std::string with_scheme(std::string_view text) {
  if (text.find("://") != std::string_view::npos) return std::string(text);
  const std::size_t colon = text.find(':');
  const std::size_t slash = text.find('/');
  if (colon == std::string_view::npos || colon == 0 || slash < colon) return std::string(text);
  std::string_view path = text.substr(colon + 1);
  while (path.starts_with('/'))
    path.remove_prefix(1);
  return "ssh://" + std::string(text.substr(0, colon)) + '/' + std::string(path);
}

// "[user@]host[:port]"
Result<void> read_authority(std::string_view authority, std::string_view text, RepositoryAddress& address) {
  if (const std::size_t at = authority.rfind('@'); at != std::string_view::npos) {
    const std::string_view user = authority.substr(0, at);
    if (address.scheme != Scheme::ssh || user.find(':') != std::string_view::npos)
      return Error(ErrorCode::invalid,
                   "the repository's address has a name or password in it: credentials belong to the "
                   "configuration (module_credentials)");
    if (user.empty() || user.starts_with('-')) return bad_address(text, "has no proper user name");
    authority.remove_prefix(at + 1);
  }
  std::string host = lower(authority);
  if (host.starts_with('[')) {
    const std::size_t bracket = host.find(']');
    if (bracket == std::string::npos) return bad_address(text, "has no proper host");
    authority.remove_prefix(bracket + 1);
    host = host.substr(1, bracket - 1);
  } else {
    const std::size_t colon = host.find(':');
    authority.remove_prefix(std::min(colon, authority.size()));
    host = host.substr(0, colon);
  }
  if (!authority.empty()) {
    const auto port = authority.front() == ':' ? base::parse_integer(authority.substr(1)) : std::nullopt;
    if (!port || *port < 1 || *port > 65535) return bad_address(text, "has no proper port");
    address.port = static_cast<std::uint16_t>(*port);
  }
  if (host.empty() || host.starts_with('-') || !std::ranges::all_of(host, is_host_character))
    return bad_address(text, "has no proper host");
  address.host = std::move(host);
  return {};
}

}  // namespace

Result<RepositoryAddress> parse_repository(std::string_view given,
                                           const std::vector<std::string>& also_allowed) {
  if (given.empty()) return Error(ErrorCode::invalid, "no repository is given");
  if (given.size() > kLongestAddress)
    return Error(ErrorCode::limit, "the repository's address has more than 2048 bytes");
  if (given.starts_with('-')) return bad_address(given, "begins with a dash");
  if (std::ranges::any_of(
          given, [](char c) { return static_cast<unsigned char>(c) <= ' ' || c == 0x7f || c == '\\'; }))
    return bad_address(given, "has blanks or control characters in it");
  if (given.substr(0, given.find('/')).find("::") != std::string_view::npos && !given.starts_with("ssh://["))
    return bad_address(given, "names a helper program, which is never started");

  RepositoryAddress address{.text = with_scheme(given)};
  const std::string_view text = address.text;
  const std::size_t colon = text.find("://");
  const std::string scheme = lower(text.substr(0, colon));
  if (colon == std::string_view::npos)
    return bad_address(given, "is no address: https://host/path, ssh://git@host/path or git@host:path");
  if (scheme == "https") {
    address.scheme = Scheme::https;
    address.port = 443;
  } else if (scheme == "ssh") {
    address.scheme = Scheme::ssh;
    address.port = 22;
  } else if ((scheme == "file" || scheme == "git") &&
             std::ranges::find(also_allowed, scheme) != also_allowed.end()) {
    address.scheme = scheme == "file" ? Scheme::file : Scheme::git;
    address.port = scheme == "file" ? 0 : 9418;
  } else if (scheme == "file" || scheme == "git") {
    return bad_address(
        given, "needs module_scheme = " + scheme + " in the configuration: it is not allowed otherwise");
  } else {
    return bad_address(given, "is neither https nor ssh");
  }
  const std::string_view rest = text.substr(colon + 3);
  const std::size_t slash = rest.find('/');
  if (slash == std::string_view::npos || slash + 1 == rest.size()) return bad_address(given, "has no path");
  address.path = rest.substr(slash);
  if (address.scheme == Scheme::file) {
    if (slash != 0) return bad_address(given, "must be file:///path");
    return address;
  }
  if (auto read = read_authority(rest.substr(0, slash), given, address); !read)
    return std::move(read).error();
  return address;
}

Result<void> check_tag_name(std::string_view tag) {
  const auto is_odd = [](char c) {
    return static_cast<unsigned char>(c) <= ' ' || c == 0x7f ||
           std::string_view("~^:?*[\\").find(c) != std::string_view::npos;
  };
  const bool fine = !tag.empty() && tag.size() <= kLongestTag && std::ranges::none_of(tag, is_odd) &&
                    tag.find("..") == std::string_view::npos && tag.find("//") == std::string_view::npos &&
                    tag.find("@{") == std::string_view::npos && tag.find("/.") == std::string_view::npos &&
                    tag.front() != '-' && tag.front() != '/' && tag.front() != '.' && tag.back() != '/' &&
                    tag.back() != '.' && !tag.ends_with(".lock") && base::is_utf8(tag);
  if (fine) return {};
  return Error(ErrorCode::invalid, "'" + base::quote_of(tag) + "' cannot be the name of a tag");
}

}  // namespace modules::fetch

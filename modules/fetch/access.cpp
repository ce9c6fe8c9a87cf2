#include "modules/fetch/access.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <optional>

#include "base/files/file_read.hpp"
#include "base/files/others.hpp"
#include "base/text.hpp"
#include "base/unique_fd.hpp"
#include "modules/git/known_host_name.hpp"

namespace modules::fetch {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

constexpr std::size_t kLargestSecret = 1024 * 1024;

// "host,[host]:port,|1|salt|hash": whether the names of a line mean this one. Patterns with * and ? and
// exclusions do not count: a key is for a name that somebody wrote out.
bool names_host(std::string_view names, const std::string& label) {
  for (const std::string_view name : base::split(names, ','))
    if (base::equal_ignoring_case(name, label) || ::modules::git::is_hashed_name_of(name, label)) return true;
  return false;
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

std::string percent_decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && hex_digit(text[i + 1]) >= 0 && hex_digit(text[i + 2]) >= 0) {
      out += static_cast<char>(hex_digit(text[i + 1]) << 4 | hex_digit(text[i + 2]));
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

}  // namespace

Result<std::string> read_secret_file(const std::string& path) {
  const base::UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (!file) return base::os_error(errno, "reading " + path);
  struct stat found {};
  if (::fstat(file.get(), &found) != 0 || !S_ISREG(found.st_mode))
    return Error(ErrorCode::invalid, path + " is not a file");
  if (base::is_other(found.st_uid) || (found.st_mode & 077) != 0)
    return Error(ErrorCode::permission,
                 path + " has a secret in it and is open to others: chown root and chmod 600 it");
  return base::read_all(file.get(), kLargestSecret, path);
}

std::string host_keys_for(std::string_view known_hosts, const RepositoryAddress& address) {
  const std::string label =
      address.port == 22 ? address.host : "[" + address.host + "]:" + std::to_string(address.port);
  std::string keys, revoked;
  for (const std::string_view raw : base::split(known_hosts, '\n')) {
    std::vector<std::string_view> words = base::split_words(raw);
    if (words.empty() || words[0].starts_with('#')) continue;
    const bool is_revoked = words[0] == "@revoked";
    if (words[0].starts_with('@')) {
      if (!is_revoked) continue;
      words.erase(words.begin());
    }
    if (words.size() < 3) continue;
    const std::string line = std::string(words[1]) + ' ' + std::string(words[2]) + '\n';
    // A key that is revoked is so under every name.
    if (is_revoked)
      revoked += line;
    else if (names_host(words[0], label))
      keys += line;
  }
  std::string good;
  for (const std::string_view line : base::split(keys, '\n'))
    if (!line.empty() && revoked.find(std::string(line) + '\n') == std::string::npos)
      good += std::string(line) + '\n';
  return good;
}

Result<Login> login_for(std::string_view credentials, const RepositoryAddress& address) {
  std::size_t number = 0;
  for (const std::string_view raw : base::split(credentials, '\n')) {
    ++number;
    std::string_view line = base::trim(raw);
    if (line.empty() || line.starts_with('#')) continue;
    constexpr std::string_view kScheme = "https://";
    const std::size_t at = line.rfind('@');
    const std::size_t colon = line.find(':', kScheme.size());
    if (!line.starts_with(kScheme) || at == std::string_view::npos || colon == std::string_view::npos ||
        colon > at)
      return Error(ErrorCode::invalid,
                   "line " + std::to_string(number) + " is not https://USER:PASSWORD@HOST");
    const std::string place = "https://" + std::string(line.substr(at + 1));
    const auto meant = parse_repository(place.find('/', kScheme.size()) == std::string::npos
                                            ? place + "/."
                                            : place + (place.ends_with('/') ? "." : ""),
                                        {});
    if (!meant) return Error(ErrorCode::invalid, "line " + std::to_string(number) + " has no proper host");
    std::string path = meant->path;
    if (path.ends_with("/.")) path.resize(path.size() - 2);
    const bool is_above = address.path == path || (address.path.starts_with(path + '/'));
    if (meant->host != address.host || meant->port != address.port || !is_above) continue;
    return Login{.user = percent_decoded(line.substr(kScheme.size(), colon - kScheme.size())),
                 .password = percent_decoded(line.substr(colon + 1, at - colon - 1))};
  }
  return Login{};
}

}  // namespace modules::fetch

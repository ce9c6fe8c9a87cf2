#include "states/downloads/source.hpp"

#include <algorithm>
#include <array>

#include "base/text.hpp"
#include "base/tree/tree.hpp"
#include "states/downloads/download.hpp"
#include "transport/client/web_file.hpp"
#include "transport/uri.hpp"

namespace states::downloads {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

// "sha256=…" in a fragment that is meant as a checksum.
bool names_digest(std::string_view fragment) {
  const std::size_t separator = fragment.find_first_of(":=");
  if (separator == std::string_view::npos) return false;
  using enum base::DigestKind;
  return std::ranges::any_of(std::array{md5, sha1, sha256, sha512}, [&](base::DigestKind kind) {
    return base::equal_ignoring_case(fragment.substr(0, separator), base::digest_name(kind));
  });
}

// The checksum behind the text, if there is one.
Result<std::optional<Checksum>> checksum_behind(std::string_view text) {
  const std::string_view before = without_checksum(text);
  if (before.size() == text.size()) return std::optional<Checksum>();
  auto checksum = parse_checksum(text.substr(before.size() + 1));
  if (!checksum) return std::move(checksum).error();
  if (checksum->kind != base::DigestKind::sha256 && checksum->kind != base::DigestKind::sha512)
    return Error(ErrorCode::invalid, "'" + checksum->text() +
                                         "' is too weak to say which file it must be: give sha256 or sha512");
  return std::optional(std::move(*checksum));
}

}  // namespace

std::string_view without_checksum(std::string_view text) {
  const std::size_t hash = text.rfind('#');
  const bool has_one = hash != std::string_view::npos && names_digest(text.substr(hash + 1));
  return has_one ? text.substr(0, hash) : text;
}

Result<Source> parse_source(std::string_view text) {
  if (auto fine = check_url(text); !fine) return std::move(fine).error();
  auto checksum = checksum_behind(text);
  if (!checksum) return std::move(checksum).error();
  return Source{.url = std::string(text.substr(0, text.find('#'))), .checksum = std::move(*checksum)};
}

Result<Source> parse_local(std::string_view text) {
  auto checksum = checksum_behind(text);
  if (!checksum) return std::move(checksum).error();
  std::string_view file = without_checksum(text);
  if (file.starts_with("file://")) file.remove_prefix(std::string_view("file://").size());
  auto path = base::clean_path(file);
  if (!path) return std::move(path).error();
  return Source{.url = std::move(*path), .checksum = std::move(*checksum)};
}

Result<void> check_vouched(std::string_view url, bool has_checksum, const Context& context,
                           std::string_view how) {
  if (has_checksum) return {};
  const std::string plain = transport::without_credentials(url.substr(0, url.find('#')));
  auto uri = transport::parse_uri(plain);
  if (!uri) return std::move(uri).error();
  if (uri->secure()) return {};
  const auto& allowed = context.host.downloads.allow_unverified_http;
  if (std::ranges::find(allowed, uri->host) != allowed.end()) return {};
  return Error(ErrorCode::permission,
               "Cannot download " + shown_url(url, context) +
                   ": over http anybody on the way can send another file. Use https; or " + std::string(how) +
                   "; or let the agent's configuration trust the way to this host: allow_unverified_http = " +
                   uri->host);
}

}  // namespace states::downloads

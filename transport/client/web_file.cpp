#include "transport/client/web_file.hpp"

#include <cstdlib>

#include "base/files/file_read.hpp"
#include "base/text.hpp"
#include "transport/client/transfer.hpp"
#include "transport/http_text.hpp"

namespace transport {
namespace {

constexpr std::size_t kLargestBundle = 4 * 1024 * 1024;
constexpr std::size_t kLongestValidator = 1024;

// An address as the user wrote it, taken apart.
struct Place {
  Uri uri;
  std::string authorization;  // for the user's host; empty: none
};

// Where "name:password@" is; empty: there is none.
std::string_view credentials_in(std::string_view url) {
  const std::size_t scheme = url.find("://");
  if (scheme == std::string_view::npos) return {};
  std::string_view authority = url.substr(scheme + 3);
  authority = authority.substr(0, authority.find_first_of("/?#"));
  return authority.substr(0, authority.rfind('@') + 1);
}

base::Result<Place> parse_place(const std::string& url) {
  const std::string_view credentials = credentials_in(url);
  std::string plain = without_credentials(url);
  plain.resize(std::min(plain.size(), plain.find('#')));
  auto uri = parse_uri(plain);
  if (!uri) return std::move(uri).error();
  if (uri->scheme != "https" && uri->scheme != "http")
    return base::Error(base::ErrorCode::invalid,
                       uri->scheme + ":// is not supported, only https:// and http://");
  Place place{.uri = std::move(*uri)};
  if (credentials.empty()) return place;
  const auto login = percent_decode(credentials.substr(0, credentials.size() - 1), false);
  if (!login) return base::Error(base::ErrorCode::invalid, "the name or password has a malformed %xx");
  place.authorization = basic_authorization(*login);
  return place;
}

// A Location, which may be relative (RFC 3986, section 4.2), as an address.
base::Result<Uri> resolve(const Uri& from, const std::string& location) {
  const std::string_view plain = std::string_view(location).substr(0, location.find('#'));
  if (plain.empty()) return base::Error(base::ErrorCode::invalid, "a redirect to nowhere");
  base::Result<Uri> to = [&] {
    if (plain.find("://") != std::string_view::npos) return parse_uri(plain);
    if (plain.starts_with("//")) return parse_uri(from.scheme + ":" + std::string(plain));
    const std::string base = from.scheme + "://" + from.authority();
    if (plain.starts_with('/')) return parse_uri(base + std::string(plain));
    const std::string path = from.target.substr(0, from.target.find('?'));
    return parse_uri(plain.starts_with('?')
                         ? base + path + std::string(plain)
                         : base + path.substr(0, path.rfind('/') + 1) + std::string(plain));
  }();
  if (!to) return std::move(to).error().with_context("a redirect that cannot be followed");
  if (to->scheme != "https" && to->scheme != "http")
    return base::Error(base::ErrorCode::invalid,
                       "a redirect to " + to->scheme + "://, which is not followed");
  if (from.secure() && !to->secure())
    return base::Error(base::ErrorCode::invalid,
                       "a redirect from https to http (" + to->text() + "), which is not followed");
  return to;
}

bool same_host(const Uri& a, const Uri& b) {
  return a.scheme == b.scheme && a.host == b.host && a.port == b.port;
}

// A validator that can be sent back. What a server says that cannot is not kept.
std::string usable(const std::string& text) {
  const bool fits = text.size() <= kLongestValidator &&
                    text.find_first_of(std::string_view("\r\n\0", 3)) == std::string::npos;
  return fits ? text : std::string();
}

// What a beginning can be told by (RFC 9110, section 13.1.5): weak tags do not count.
std::string if_range(const Validators& begun) {
  if (begun.etag.empty()) return begun.last_modified;
  return begun.etag.starts_with("W/") ? std::string() : begun.etag;
}

class Adapter final : public BodySink {
 public:
  Adapter(WebFileSink& sink, const TransferHead& head) : sink_(sink), head_(head) {}
  base::Result<void> begin(std::uint64_t at) override { return sink_.begin(at, validators()); }
  base::Result<void> take(std::string_view bytes) override { return sink_.take(bytes); }
  Validators validators() const { return {usable(head_.etag), usable(head_.last_modified)}; }

 private:
  WebFileSink& sink_;
  const TransferHead& head_;
};

TransferRequest question(const WebFileRequest& request, const Uri& uri, const std::string& authorization) {
  TransferRequest ask{.uri = uri, .limit = request.limit, .reports_redirects = true};
  if (!authorization.empty()) ask.headers.push_back({"Authorization", authorization});
  if (!request.known.etag.empty()) ask.headers.push_back({"If-None-Match", request.known.etag});
  if (!request.known.last_modified.empty())
    ask.headers.push_back({"If-Modified-Since", request.known.last_modified});
  const std::string range = if_range(request.begun);
  if (request.from > 0 && request.from < request.limit && !range.empty()) {
    ask.from = request.from;
    ask.headers.push_back({"If-Range", range});
  }
  return ask;
}

// The reason without the address, which the caller names.
base::Error reason(const base::Error& error, const Uri& uri, unsigned status) {
  if (status >= 300 && status != 304) return {error.code(), "HTTP " + std::to_string(status)};
  std::string_view text = error.message();
  const std::string where = uri.text() + ": ";
  if (text.starts_with(where)) text.remove_prefix(where.size());
  return {error.code(), std::string(text)};
}

}  // namespace

base::Result<WebFileAnswer> fetch_web_file(const WebFileRequest& request, const FetchOptions& options,
                                           WebFileSink& sink) {
  auto place = parse_place(request.url);
  if (!place) return std::move(place).error();
  const auto deadline = std::chrono::steady_clock::now() + options.deadline;
  Uri uri = place->uri;
  bool resumes = true;
  bool refuses_near = false;
  for (int redirects = 0; redirects <= kMostRedirects;) {
    FetchOptions limited = options;
    limited.deadline = std::chrono::duration_cast<std::chrono::milliseconds>(
        std::max(deadline - std::chrono::steady_clock::now(), std::chrono::steady_clock::duration()));
    TransferRequest ask =
        question(request, uri, same_host(uri, place->uri) ? place->authorization : std::string());
    if (!resumes)
      ask.from = 0, std::erase_if(ask.headers, [](const Header& h) { return h.name == "If-Range"; });
    ask.refuses_near = refuses_near;
    TransferHead head;
    Adapter adapter(sink, head);
    auto end = transfer(ask, limited, adapter, &head);
    if (!end) return reason(end.error(), uri, head.status);
    if (*end == TransferEnd::complete) return WebFileAnswer{.validators = adapter.validators()};
    if (*end == TransferEnd::not_modified)
      return WebFileAnswer{.not_modified = true, .validators = request.known};
    if (*end == TransferEnd::no_such_range) {
      resumes = false;  // asked without a range, nobody answers so again
      continue;
    }
    auto next = resolve(uri, head.location);
    if (!next) return std::move(next).error();
    // A server elsewhere must not choose what of this machine is asked, such as a cloud's metadata service.
    refuses_near = refuses_near || !head.is_near;
    uri = std::move(*next);
    ++redirects;
  }
  return base::Error(base::ErrorCode::invalid, "more than " + std::to_string(kMostRedirects) + " redirects");
}

std::string without_credentials(std::string_view url) {
  const std::string_view credentials = credentials_in(url);
  std::string text(url);
  if (!credentials.empty())
    text.erase(static_cast<std::size_t>(credentials.data() - url.data()), credentials.size());
  return text;
}

std::string system_authorities() {
  for (const char* path : {"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
                           "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"})
    if (auto text = base::read_file(path, kLargestBundle)) return std::move(*text);
  return "";
}

base::Result<std::shared_ptr<TlsClient>> system_trust(const std::string& ca_file) {
  const char* const given = std::getenv("SSL_CERT_FILE");
  const std::string file = !ca_file.empty() ? ca_file : given ? given : "";
  if (file.empty()) return TlsClient::make({.ca = system_authorities()});
  auto text = base::read_file(file, kLargestBundle);
  if (!text) return std::move(text).error();
  return TlsClient::make({.ca = std::move(*text)});
}

}  // namespace transport

#include "transport/server/head_rules.hpp"

#include <algorithm>
#include <array>

#include "base/text.hpp"
#include "transport/http_text.hpp"

namespace transport {
namespace {

constexpr std::string_view kLineEnd = "\r\n";
constexpr std::size_t kMostMethod = 32;
constexpr std::size_t kMostHost = 255;
constexpr std::size_t kMostLengthDigits = 18;  // no overflow, whatever they are

using Problem = std::optional<HeadProblem>;

constexpr HeadProblem bad(std::string_view words) {
  return {400, words};
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool is_hex(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}
bool is_control(char c) {
  return (static_cast<unsigned char>(c) < ' ' && c != '\t') || c == 0x7f;
}
bool all_digits(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, is_digit);
}

// Takes the text up to the separator, which must be there, off the front.
std::optional<std::string_view> take_until(std::string_view& rest, std::string_view separator) {
  const std::size_t end = rest.find(separator);
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view part = rest.substr(0, end);
  rest.remove_prefix(end + separator.size());
  return part;
}

// What a head says about its body and its way.
struct Seen {
  bool is_modern = false;  // HTTP/1.1
  std::size_t hosts = 0;
  std::size_t lengths = 0;
  std::size_t encodings = 0;
};

Problem problem_with_version(std::string_view version, Seen& seen) {
  const bool is_http = version.size() == 8 && version.starts_with("HTTP/") && is_digit(version[5]) &&
                       version[6] == '.' && is_digit(version[7]);
  if (!is_http) return bad("the request line is not METHOD TARGET HTTP/1.1");
  seen.is_modern = version == "HTTP/1.1";
  if (!seen.is_modern && version != "HTTP/1.0")
    return HeadProblem{505, "HTTP/1.1 and HTTP/1.0 are spoken here"};
  return std::nullopt;
}

Problem problem_with_target(std::string_view method, std::string_view target) {
  if (target.empty() || !std::ranges::all_of(target, [](char c) { return c > ' ' && c < 0x7f && c != '#'; }))
    return bad("the target of the request is malformed");
  if (method == "CONNECT") return HeadProblem{501, "this server is no proxy"};
  if (target == "*" && method == "OPTIONS") return std::nullopt;
  if (target.starts_with('/')) return std::nullopt;
  // As to a proxy: its host counts, and Host is as if it were not there.
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!base::equal_ignoring_case(target.substr(0, scheme.size()), scheme)) continue;
    const std::string_view rest = target.substr(scheme.size());
    if (is_authority(rest.substr(0, rest.find_first_of("/?")))) return std::nullopt;
  }
  return bad("the target of a request is a path, like /healthz");
}

Problem problem_with_line(std::string_view line, Seen& seen) {
  const auto method = take_until(line, " ");
  const auto target = take_until(line, " ");
  if (!method || !target || !is_token(*method) || method->size() > kMostMethod)
    return bad("the request line is not METHOD TARGET HTTP/1.1");
  if (auto problem = problem_with_version(line, seen)) return problem;
  return problem_with_target(*method, *target);
}

Problem problem_with_encoding(std::string_view value) {
  if (base::equal_ignoring_case(value, "chunked")) return std::nullopt;
  // Codings that there are, and that we do not undo; chunked last, so that its end would be known.
  constexpr std::array<std::string_view, 5> kOthers = {"gzip", "x-gzip", "deflate", "compress", "x-compress"};
  const auto codings = base::split(value, ',');
  const bool is_known = codings.size() > 1 &&
                        base::equal_ignoring_case(base::trim(codings.back()), "chunked") &&
                        std::all_of(codings.begin(), codings.end() - 1, [&](std::string_view coding) {
                          return std::ranges::any_of(kOthers, [&](std::string_view known) {
                            return base::equal_ignoring_case(base::trim(coding), known);
                          });
                        });
  if (is_known) return HeadProblem{501, "the only Transfer-Encoding that is taken here is chunked"};
  return bad("Transfer-Encoding must be chunked: where the request ends is not clear");
}

Problem problem_with_field(std::string_view name, std::string_view value, Seen& seen) {
  const auto is = [&](std::string_view known) { return base::equal_ignoring_case(name, known); };
  if (is("Host")) {
    if (++seen.hosts > 1) return bad("there are two Hosts");
    if (!is_authority(value)) return bad("Host is malformed");
  } else if (is("Content-Length")) {
    if (++seen.lengths > 1) return bad("there are two Content-Lengths");
    if (!all_digits(value)) return bad("Content-Length is not a number");
    if (value.size() > kMostLengthDigits) return HeadProblem{413, "the body is too large"};
  } else if (is("Transfer-Encoding")) {
    if (++seen.encodings > 1) return bad("there are two Transfer-Encodings");
    return problem_with_encoding(value);
  } else if (is("Expect")) {
    if (seen.is_modern && !base::equal_ignoring_case(value, "100-continue"))
      return HeadProblem{417, "the only expectation that is met here is 100-continue"};
  }
  return std::nullopt;
}

Problem problem_with_fields(std::string_view fields, Seen& seen) {
  for (std::size_t count = 0; !fields.empty(); ++count) {
    if (count == kMostFields) return HeadProblem{431, "the request has too many header fields"};
    std::string_view line = take_until(fields, kLineEnd).value_or("");
    if (line.starts_with(' ') || line.starts_with('\t')) return bad("a header field goes over two lines");
    const auto name = take_until(line, ":");
    // A blank before the colon is none of a token's characters.
    if (!name || !is_token(*name)) return bad("a header field is not NAME: VALUE");
    if (std::ranges::any_of(line, is_control)) return bad("a header field has a control character");
    const std::size_t first = line.find_first_not_of(" \t");
    const std::size_t last = line.find_last_not_of(" \t");
    const std::string_view value =
        first == std::string_view::npos ? std::string_view() : line.substr(first, last - first + 1);
    if (auto problem = problem_with_field(*name, value, seen)) return problem;
  }
  return std::nullopt;
}

}  // namespace

HeadScan::Outcome HeadScan::feed(std::string_view text) {
  for (; at_ < text.size(); ++at_) {
    const char c = text[at_];
    const bool after_return = at_ > 0 && text[at_ - 1] == '\r';
    if (after_return != (c == '\n')) return Outcome::malformed;
    if (c != '\r' && c != '\n' && is_control(c)) return Outcome::malformed;
    if (c != '\n' || at_ < 3 || text.substr(at_ - 3, 4) != "\r\n\r\n") continue;
    ++at_;
    return Outcome::whole;
  }
  return Outcome::more;
}

std::optional<HeadProblem> problem_with_head(std::string_view head) {
  HeadScan scan;
  if (scan.feed(head) != HeadScan::Outcome::whole || scan.size() != head.size())
    return bad("lines end with CR LF, and there are no control characters");
  head.remove_suffix(kLineEnd.size());
  Seen seen;
  const std::string_view line = take_until(head, kLineEnd).value_or("");
  if (auto problem = problem_with_line(line, seen)) return problem;
  if (auto problem = problem_with_fields(head, seen)) return problem;
  if (seen.is_modern && seen.hosts == 0) return bad("Host is missing");
  if (seen.encodings > 0 && seen.lengths > 0)
    return bad("there are a Content-Length and a Transfer-Encoding: where the request ends is not clear");
  if (seen.encodings > 0 && !seen.is_modern) return bad("there is no Transfer-Encoding in HTTP/1.0");
  return std::nullopt;
}

bool is_good_chunk_extension(std::string_view text) {
  return text.size() <= kMostChunkExtension && std::ranges::none_of(text, is_control);
}

bool is_authority(std::string_view text) {
  if (text.empty() || text.size() > kMostHost) return false;
  std::string_view port;
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos || end < 3) return false;
    const std::string_view address = text.substr(1, end - 1);
    if (!std::ranges::all_of(address, [](char c) { return is_hex(c) || c == ':' || c == '.'; })) return false;
    port = text.substr(end + 1);
  } else {
    const std::size_t colon = std::min(text.find(':'), text.size());
    const std::string_view host = text.substr(0, colon);
    const auto is_allowed = [](char c) {
      return is_letter(c) || is_digit(c) || c == '-' || c == '.' || c == '_' || c == '~';
    };
    if (host.empty() || !std::ranges::all_of(host, is_allowed)) return false;
    port = text.substr(colon);
  }
  if (port.empty()) return true;
  // An empty port is the scheme's own.
  return port.front() == ':' && port.size() <= 6 && (port.size() == 1 || all_digits(port.substr(1)));
}

}  // namespace transport

#include "transport/http.hpp"

#include "base/text.hpp"

namespace transport {
namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

std::string_view find_header(const Headers& headers, std::string_view name) {
  for (const Header& header : headers)
    if (base::equal_ignoring_case(header.name, name)) return header.value;
  return {};
}

std::optional<std::string> percent_decode(std::string_view text, bool plus_is_blank) {
  std::string result;
  result.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && plus_is_blank) {
      result += ' ';
    } else if (text[i] != '%') {
      result += text[i];
    } else {
      if (i + 2 >= text.size()) return std::nullopt;
      const int high = hex_digit(text[i + 1]);
      const int low = hex_digit(text[i + 2]);
      if (high < 0 || low < 0 || (high == 0 && low == 0)) return std::nullopt;
      result += static_cast<char>(high * 16 + low);
      i += 2;
    }
  }
  return result;
}

std::string percent_encode(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  constexpr std::string_view kPlain = "-._~";
  std::string result;
  for (const char c : text) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (letter || kPlain.find(c) != std::string_view::npos) {
      result += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      result.append({'%', kDigits[byte >> 4], kDigits[byte & 15]});
    }
  }
  return result;
}

std::string_view HttpRequest::parameter(const std::string& name) const {
  const auto found = query.find(name);
  return found == query.end() ? std::string_view() : std::string_view(found->second);
}

bool split_target(std::string_view target, HttpRequest& request) {
  if (target == "*") {
    request.path = target;
    return true;
  }
  // As to a proxy: what comes before the path says where to, and that is here.
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!base::equal_ignoring_case(target.substr(0, scheme.size()), scheme)) continue;
    const std::string_view rest = target.substr(scheme.size());
    const std::size_t path = rest.find_first_of("/?");
    if (path != std::string_view::npos && rest[path] == '/')
      target = rest.substr(path);
    else
      return split_target("/" + std::string(path == std::string_view::npos ? "" : rest.substr(path)),
                          request);
    break;
  }
  const std::size_t mark = target.find('?');
  auto path = percent_decode(target.substr(0, mark), false);
  if (!path || !path->starts_with('/')) return false;
  request.path = std::move(*path);
  if (mark == std::string_view::npos) return true;
  for (const std::string_view part : base::split(target.substr(mark + 1), '&')) {
    if (part.empty()) continue;
    const std::size_t equals = part.find('=');
    auto name = percent_decode(part.substr(0, equals), true);
    auto value = percent_decode(equals == std::string_view::npos ? "" : part.substr(equals + 1), true);
    if (!name || !value) return false;
    request.query.emplace(std::move(*name), std::move(*value));
  }
  return true;
}

}  // namespace transport

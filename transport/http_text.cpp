#include "transport/http_text.hpp"

#include <algorithm>
#include <array>
#include <boost/beast/http/status.hpp>
#include <charconv>
#include <ctime>

#include "base/base64.hpp"
#include "base/text.hpp"

namespace transport {
namespace {

bool is_field_value(std::string_view value) {
  return std::ranges::none_of(
      value, [](char c) { return (static_cast<unsigned char>(c) < ' ' && c != '\t') || c == 0x7f; });
}

// "Sun, 06 Nov 1994 08:49:37 GMT", in English whatever the locale.
std::string http_date(std::time_t now) {
  constexpr std::array kDays = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  constexpr std::array kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                  "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  std::tm utc{};
  ::gmtime_r(&now, &utc);
  std::array<char, 64> text{};
  const int length = std::snprintf(text.data(), text.size(), "%s, %02d %s %d %02d:%02d:%02d GMT",
                                   kDays.at(static_cast<std::size_t>(utc.tm_wday)), utc.tm_mday,
                                   kMonths.at(static_cast<std::size_t>(utc.tm_mon)), utc.tm_year + 1900,
                                   utc.tm_hour, utc.tm_min, utc.tm_sec);
  return {text.data(), static_cast<std::size_t>(std::max(length, 0))};
}

// The server's own to say.
bool is_framing(std::string_view name) {
  constexpr std::array<std::string_view, 5> kNames = {"Content-Length", "Transfer-Encoding", "Connection",
                                                      "Date", "Server"};
  return std::ranges::any_of(kNames,
                             [&](std::string_view own) { return base::equal_ignoring_case(own, name); });
}

}  // namespace

bool is_token(std::string_view name) {
  constexpr std::string_view kSeparators = "()<>@,;:\\\"/[]?={} \t";
  return !name.empty() && std::ranges::all_of(name, [&](char c) {
    return c > ' ' && c < 0x7f && kSeparators.find(c) == std::string_view::npos;
  });
}

bool append_header(std::string& head, std::string_view name, std::string_view value) {
  if (!is_token(name) || !is_field_value(value)) return false;
  head.append(name).append(": ").append(value).append("\r\n");
  return true;
}

std::string format_head(const ResponseHead& head, const Headers& headers) {
  std::string text = "HTTP/1.1 " + std::to_string(head.status) + " ";
  text.append(reason_phrase(head.status)).append("\r\n");
  append_header(text, "Date", http_date(std::time(nullptr)));
  append_header(text, "Server", head.server_name);
  for (const Header& header : headers)
    if (!is_framing(header.name)) append_header(text, header.name, header.value);
  if (!head.keep_alive) append_header(text, "Connection", "close");
  const bool bodiless = head.status == 204 || head.status == 304 || head.status < 200;
  if (head.chunked)
    append_header(text, "Transfer-Encoding", "chunked");
  else if (!head.until_close && !bodiless)
    append_header(text, "Content-Length", std::to_string(head.body_size));
  return text += "\r\n";
}

std::string format_chunk(std::string_view data) {
  std::array<char, 16> size{};
  const auto end = std::to_chars(size.data(), size.data() + size.size(), data.size(), 16).ptr;
  std::string text(size.data(), end);
  return text.append("\r\n").append(data).append("\r\n");
}

bool has_token(std::string_view list, std::string_view token) {
  for (const std::string_view part : base::split(list, ','))
    if (base::equal_ignoring_case(base::trim(part), token)) return true;
  return false;
}

std::string_view reason_phrase(unsigned status) {
  const auto text = boost::beast::http::obsolete_reason(boost::beast::http::int_to_status(status));
  return {text.data(), text.size()};
}

std::string basic_authorization(std::string_view login) {
  const bool has_password = login.find(':') != std::string_view::npos;
  return "Basic " + base::base64(std::string(login) + (has_password ? "" : ":"));
}

}  // namespace transport

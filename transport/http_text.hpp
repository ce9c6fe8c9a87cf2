// Inside transport/: the text of HTTP/1.1 messages that we send.
#pragma once

#include <string>
#include <string_view>

#include "transport/http.hpp"

namespace transport {

// Appends "name: value\r\n"; false, and nothing appended, when either holds what could start another header.
bool append_header(std::string& head, std::string_view name, std::string_view value);

// Status line and headers of a response, with the blank line at the end. Headers that are malformed are left
// out.
struct ResponseHead {
  unsigned status = 200;
  std::string_view server_name;
  bool keep_alive = true;
  bool chunked = false;      // else Content-Length, unless `until_close`
  bool until_close = false;  // the body ends with the connection (HTTP/1.0 streams)
  std::size_t body_size = 0;
};
std::string format_head(const ResponseHead& head, const Headers& headers);

// One chunk of a chunked body; the last is empty.
std::string format_chunk(std::string_view data);

// Whether this can be the name of a method or of a header.
bool is_token(std::string_view name);

// Whether a header's value, a list with commas, has this word.
bool has_token(std::string_view list, std::string_view token);

// "Not Found".
std::string_view reason_phrase(unsigned status);

// The value of an Authorization header: "Basic …", for "name:password" or "name".
std::string basic_authorization(std::string_view login);

}  // namespace transport

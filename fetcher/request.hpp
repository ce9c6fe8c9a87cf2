// What the agent asks opsagent-fetch for, and how that is written on its standard input.
//
// The text is "opsagent-fetch-request 1\n", then for each field "NAME SIZE\n", its bytes and "\n", then
// "end\n". On a descriptor and not among the arguments, which everybody on the machine can read: there are
// credentials in it. Header only: both programs use it, and only one of them links libgit2. Pure.
#pragma once

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fetcher {

struct Request {
  std::string url;
  std::string tag;
  bool allow_branch = false;  // without such a tag, a branch of this name will do
  bool stay = false;          // do not follow where the server sends us first
  // https
  std::string ca_certificates;  // PEM; "": the system's
  std::string user, password;   // "": none
  std::string proxy;            // "http://…"; "": none
  // ssh
  std::string host_keys;  // what the host may have: lines "TYPE BASE64"
  std::string ssh_key;    // the private key, as its file has it
  // What is there already: commits in hexadecimal, separated by blanks.
  std::string present;
  // Beyond these the fetcher gives up with words. The agent does not rely on it.
  std::uint64_t most_bytes = 0, most_objects = 0, largest_file = 0;
};

inline constexpr std::string_view kRequestGreeting = "opsagent-fetch-request 1\n";
inline constexpr std::size_t kLargestRequest = 16 * 1024 * 1024;

namespace request_detail {

// Calls visit(name, text) for every field.
template <class AnyRequest, class Visit>
void each_text(AnyRequest& request, Visit visit) {
  visit("url", request.url);
  visit("tag", request.tag);
  visit("ca_certificates", request.ca_certificates);
  visit("user", request.user);
  visit("password", request.password);
  visit("proxy", request.proxy);
  visit("host_keys", request.host_keys);
  visit("ssh_key", request.ssh_key);
  visit("present", request.present);
}

template <class AnyRequest, class Visit>
void each_number(AnyRequest& request, Visit visit) {
  visit("most_bytes", request.most_bytes);
  visit("most_objects", request.most_objects);
  visit("largest_file", request.largest_file);
}

inline bool read_number(std::string_view text, std::uint64_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

}  // namespace request_detail

inline std::string to_text(const Request& request) {
  std::string text(kRequestGreeting);
  const auto add = [&](std::string_view name, std::string_view value) {
    text.append(name)
        .append(" ")
        .append(std::to_string(value.size()))
        .append("\n")
        .append(value)
        .append("\n");
  };
  request_detail::each_text(request, add);
  request_detail::each_number(
      request, [&](std::string_view name, std::uint64_t value) { add(name, std::to_string(value)); });
  add("allow_branch", request.allow_branch ? "1" : "0");
  add("stay", request.stay ? "1" : "0");
  return text.append("end\n");
}

// False for anything but such a text.
inline bool parse_request(std::string_view text, Request& request) {
  if (!text.starts_with(kRequestGreeting)) return false;
  text.remove_prefix(kRequestGreeting.size());
  while (text != "end\n") {
    const std::size_t newline = text.find('\n');
    const std::string_view line = text.substr(0, newline);
    const std::size_t blank = line.find(' ');
    std::uint64_t size = 0;
    if (newline == std::string_view::npos || blank == std::string_view::npos ||
        !request_detail::read_number(line.substr(blank + 1), size))
      return false;
    text.remove_prefix(newline + 1);
    if (size >= text.size() || text[size] != '\n') return false;
    const std::string_view name = line.substr(0, blank), value = text.substr(0, size);
    text.remove_prefix(size + 1);
    bool known = false, fine = true;
    request_detail::each_text(request, [&](std::string_view field, std::string& place) {
      if (field != name) return;
      known = true;
      place = value;
    });
    request_detail::each_number(request, [&](std::string_view field, std::uint64_t& place) {
      if (field != name) return;
      known = true;
      fine = request_detail::read_number(value, place);
    });
    if (name == "allow_branch" || name == "stay") {
      known = true;
      (name == "stay" ? request.stay : request.allow_branch) = value == "1";
    }
    if (!known || !fine) return false;
  }
  return !request.url.empty() && !request.tag.empty();
}

}  // namespace fetcher

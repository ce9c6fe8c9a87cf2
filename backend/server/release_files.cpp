#include "backend/server/release_files.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>
#include <utility>

#include "backend/api/access.hpp"
#include "backend/api/reply.hpp"
#include "base/files/file_read.hpp"
#include "base/text.hpp"
#include "base/utc_text.hpp"
#include "base/values/json.hpp"

namespace backend::server {

using base::UniqueFd;
using transport::HttpRequest;
using transport::HttpResponse;

namespace {

constexpr std::size_t kLongestPath = 1024;
constexpr unsigned kPartial = 206;
constexpr const char* kRetryAfter = "10";  // seconds

// A file below the folder, without following anything. No descriptor: there is no such file.
UniqueFd open_beneath(const std::string& folder, std::string_view path) {
  if (path.empty() || path.size() > kLongestPath || path.find('\0') != std::string_view::npos) return {};
  UniqueFd at(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  const auto parts = base::split(path, '/');
  for (std::size_t i = 0; at && i < parts.size(); ++i) {
    // "", "." and "..", and what somebody is still writing.
    if (parts[i].empty() || parts[i].starts_with('.')) return {};
    const bool is_last = i + 1 == parts.size();
    const int flags = is_last ? O_RDONLY | O_NONBLOCK : O_PATH | O_DIRECTORY;
    at.reset(::openat(at.get(), std::string(parts[i]).c_str(), flags | O_NOFOLLOW | O_CLOEXEC));
  }
  return at;
}

std::string_view type_of(std::string_view path) {
  if (path.ends_with(".json")) return "application/json";
  if (path.ends_with(".sig") || path.ends_with(".txt")) return "text/plain; charset=utf-8";
  if (path.ends_with(".gz")) return "application/gzip";
  return "application/octet-stream";
}

// Another file under the name, or another content, has another one.
std::string etag_of(const struct stat& st) {
  std::array<char, 80> text{};
  std::snprintf(text.data(), text.size(), "\"%llx-%llx-%llx.%lx\"",
                static_cast<unsigned long long>(st.st_ino), static_cast<unsigned long long>(st.st_size),
                static_cast<unsigned long long>(st.st_mtim.tv_sec),
                static_cast<unsigned long>(st.st_mtim.tv_nsec));
  return text.data();
}

struct Part {
  std::uint64_t first = 0;
  std::uint64_t size = 0;
};

std::optional<std::uint64_t> number(std::string_view text) {
  const bool digits = !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
  const auto value = digits ? base::parse_integer(text) : std::nullopt;
  return value ? std::optional(static_cast<std::uint64_t>(*value)) : std::nullopt;
}

// "bytes=5-9", "bytes=5-", "bytes=-5". Nothing: not a range that we know, which means the whole (RFC 9110);
// size 0: there is no such part.
std::optional<Part> part_of(std::string_view range, std::uint64_t size) {
  if (!range.starts_with("bytes=")) return std::nullopt;
  range.remove_prefix(6);
  const auto dash = range.find('-');
  if (dash == std::string_view::npos || range.find(',') != std::string_view::npos) return std::nullopt;
  const auto first = number(base::trim(range.substr(0, dash)));
  const auto last = number(base::trim(range.substr(dash + 1)));
  if (!first) {
    if (!base::trim(range.substr(0, dash)).empty() || !last) return std::nullopt;
    const std::uint64_t count = std::min(*last, size);
    return Part{size - count, count};
  }
  if (!last && !base::trim(range.substr(dash + 1)).empty()) return std::nullopt;
  if (last && *last < *first) return std::nullopt;
  if (*first >= size) return Part{};
  return Part{*first, std::min(last.value_or(size - 1), size - 1) - *first + 1};
}

HttpResponse refusal(unsigned status, std::string_view words, transport::Headers headers = {}) {
  HttpResponse response = api::problem(status, words);
  for (transport::Header& header : headers)
    response.headers.push_back(std::move(header));
  return response;
}

}  // namespace

ReleaseFiles::ReleaseFiles(std::string folder, telemetry::Metrics& metrics, ReleaseLimits limits)
    : folder_(std::move(folder)), metrics_(metrics), limits_(limits) {}

// Null when there is none.
std::shared_ptr<void> ReleaseFiles::take_place(const std::string& address) {
  const auto taken = places_->by_address.find(address);
  const std::size_t of_address = taken == places_->by_address.end() ? 0 : taken->second;
  if (places_->in_all >= limits_.downloads || of_address >= limits_.downloads_per_address) return nullptr;
  ++places_->in_all;
  ++places_->by_address[address];
  return std::shared_ptr<void>(places_.get(), [places = places_, address](void*) {
    --places->in_all;
    if (--places->by_address[address] == 0) places->by_address.erase(address);
  });
}

std::optional<std::chrono::system_clock::time_point> ReleaseFiles::timestamp_expires() const {
  constexpr std::size_t kMostBytes = 256 * 1024;
  const UniqueFd fd = folder_.empty() ? UniqueFd() : open_beneath(folder_, "timestamp.json");
  struct stat st {};
  if (!fd || ::fstat(fd.get(), &st) != 0 || !S_ISREG(st.st_mode)) return std::nullopt;
  const auto text = base::read_all(fd.get(), kMostBytes, "timestamp.json");
  if (!text) return std::nullopt;
  base::Arena arena;
  const auto parsed = base::parse_json(*text, arena);
  const auto* document = std::get_if<base::Value>(&parsed);
  const base::Value* expires = document ? document->find("expires") : nullptr;
  return expires ? base::parse_utc(expires->text()) : std::nullopt;
}

HttpResponse ReleaseFiles::answer(const HttpRequest& request) {
  if (folder_.empty())
    return refusal(api::kNotFound, "this backend serves no releases: start it with --releases DIR");
  if (request.method != "GET" && request.method != "HEAD")
    return refusal(api::kMethodNotAllowed, request.path + " takes GET and HEAD", {{"Allow", "GET, HEAD"}});
  const std::string_view path = std::string_view(request.path).substr(kReleasesPrefix.size());
  UniqueFd fd = open_beneath(folder_, path);
  struct stat st {};
  if (!fd || ::fstat(fd.get(), &st) != 0 || !S_ISREG(st.st_mode))
    return refusal(api::kNotFound, "there is no file " + request.path);
  const auto size = static_cast<std::uint64_t>(st.st_size);
  const std::string etag = etag_of(st);
  // Files never change under their name. Documents do, and have to be looked at anew.
  const bool is_kept = path.starts_with("files/");
  HttpResponse response;
  response.headers = {{"Content-Type", std::string(type_of(path))},
                      {"ETag", etag},
                      {"Accept-Ranges", "bytes"},
                      {"X-Content-Type-Options", "nosniff"},
                      {"Cache-Control", is_kept ? "public, max-age=86400, immutable" : "no-cache"}};
  if (const auto known = request.header("If-None-Match"); !known.empty() && api::names_etag(known, etag)) {
    response.status = api::kNotModified;
    return response;
  }
  Part part{0, size};
  const std::string_view condition = request.header("If-Range");
  if (request.method == "GET" && (condition.empty() || condition == etag))
    if (const auto asked = part_of(request.header("Range"), size)) {
      part = *asked;
      if (part.size == 0)
        return refusal(api::kNoSuchRange, request.path + " has " + std::to_string(size) + " bytes",
                       {{"Content-Range", "bytes */" + std::to_string(size)}});
      response.status = kPartial;
      response.headers.push_back({"Content-Range", "bytes " + std::to_string(part.first) + "-" +
                                                       std::to_string(part.first + part.size - 1) + "/" +
                                                       std::to_string(size)});
    }
  auto file = std::make_shared<transport::FileBody>();
  if (request.method == "GET" && part.size > limits_.small) {
    file->held = take_place(api::address_of(request.peer));
    if (!file->held) {
      metrics_.downloads_refused.add();
      return refusal(api::kUnavailable, "too many downloads at the moment", {{"Retry-After", kRetryAfter}});
    }
  }
  metrics_.downloads.add();
  file->fd = std::move(fd);
  file->first = part.first;
  file->size = part.size;
  file->sent = [&metrics = metrics_](std::size_t bytes) { metrics.download_bytes.add(bytes); };
  response.file = std::move(file);
  return response;
}

}  // namespace backend::server

#include "transport/client/download.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "base/files/file_read.hpp"
#include "base/unique_fd.hpp"
#include "transport/client/transfer.hpp"
#include "transport/uri.hpp"

namespace transport {
namespace {

constexpr std::size_t kPiece = 64 * 1024;

// The .part file as a sink.
class PartFile final : public BodySink {
 public:
  explicit PartFile(const DownloadRequest& request) : request_(request) {}

  base::Result<void> open() {
    fd_.reset(::open(request_.file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600));
    if (!fd_) return base::os_error(errno, "opening " + request_.file);
    struct stat st {};
    if (::fstat(fd_.get(), &st) != 0) return base::os_error(errno, "looking at " + request_.file);
    if (!S_ISREG(st.st_mode))
      return base::Error(base::ErrorCode::exists, request_.file + " is in the way: it is not a file");
    size_ = static_cast<std::uint64_t>(st.st_size);
    if (size_ > request_.limit) return begin(0);
    return {};
  }

  base::Result<void> begin(std::uint64_t at) override {
    if (::ftruncate(fd_.get(), static_cast<off_t>(at)) != 0)
      return base::os_error(errno, "shortening " + request_.file);
    size_ = at;
    return {};
  }

  base::Result<void> take(std::string_view bytes) override {
    while (!bytes.empty()) {
      const ssize_t written = ::pwrite(fd_.get(), bytes.data(), bytes.size(), static_cast<off_t>(size_));
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) return base::os_error(written < 0 ? errno : EIO, "writing " + request_.file);
      bytes.remove_prefix(static_cast<std::size_t>(written));
      size_ += static_cast<std::uint64_t>(written);
    }
    if (request_.progress) request_.progress(size_);
    return {};
  }

  void remove() const { ::unlink(request_.file.c_str()); }
  std::uint64_t size() const { return size_; }

 private:
  const DownloadRequest& request_;
  base::UniqueFd fd_;
  std::uint64_t size_ = 0;
};

class TextSink final : public BodySink {
 public:
  base::Result<void> begin(std::uint64_t) override { return {}; }
  base::Result<void> take(std::string_view bytes) override {
    text.append(bytes);
    return {};
  }
  std::string text;
};

base::Result<Uri> web_address(const std::string& url) {
  auto uri = parse_uri(url);
  if (uri && uri->scheme != "https" && uri->scheme != "http")
    return base::Error(
        base::ErrorCode::invalid,
        "\"" + url + "\" is no place to download from: https://…, http://… or an absolute path");
  return uri;
}

// Local files: always from the beginning, it costs nothing.
base::Result<void> copy(const DownloadRequest& request, const FetchOptions& options, PartFile& part) {
  const base::UniqueFd from(::open(request.url.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!from) return base::os_error(errno, "opening " + request.url);
  struct stat st {};
  if (::fstat(from.get(), &st) != 0) return base::os_error(errno, "looking at " + request.url);
  if (!S_ISREG(st.st_mode)) return base::Error(base::ErrorCode::invalid, request.url + " is not a file");
  const auto size = static_cast<std::uint64_t>(st.st_size);
  if (size > request.limit)
    return base::Error(base::ErrorCode::limit, request.url + " is larger than the " +
                                                   std::to_string(request.limit) + " bytes allowed");
  if (request.exact && size != request.limit)
    return base::Error(base::ErrorCode::invalid, request.url + " has " + std::to_string(size) +
                                                     " bytes where " + std::to_string(request.limit) +
                                                     " were expected");
  if (auto begun = part.begin(0); !begun) return begun;
  std::vector<char> piece(kPiece);
  while (part.size() < size) {
    if (options.interrupt && options.interrupt->requested())
      return base::Error(base::ErrorCode::cancelled, "copying " + request.url + " was interrupted");
    const auto most = static_cast<std::size_t>(std::min<std::uint64_t>(kPiece, size - part.size()));
    const ssize_t got = ::read(from.get(), piece.data(), most);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return base::os_error(errno, "reading " + request.url);
    if (got == 0) return base::Error(base::ErrorCode::io, request.url + " became shorter while it was read");
    auto taken = part.take({piece.data(), static_cast<std::size_t>(got)});
    if (!taken) return taken;
  }
  return {};
}

base::Result<void> fetch(const DownloadRequest& request, const FetchOptions& options, PartFile& part) {
  auto uri = web_address(request.url);
  if (!uri) return std::move(uri).error();
  if (request.exact && part.size() == request.limit && request.limit > 0) return {};  // there already
  TransferRequest ask{
      .uri = std::move(*uri), .from = part.size(), .limit = request.limit, .exact = request.exact};
  // Nothing may be left to ask for, and the server would say so with 416.
  if (ask.from >= ask.limit) ask.from = 0;
  auto end = transfer(ask, options, part);
  if (!end) return std::move(end).error();
  if (*end == TransferEnd::complete) return {};
  ask.from = 0;
  end = transfer(ask, options, part);
  if (!end) return std::move(end).error();
  return {};
}

}  // namespace

base::Result<std::uint64_t> download(const DownloadRequest& request, const FetchOptions& options) {
  PartFile part(request);
  if (auto opened = part.open(); !opened) return std::move(opened).error();
  auto done = request.url.starts_with('/') ? copy(request, options, part) : fetch(request, options, part);
  if (done) return part.size();
  const base::ErrorCode code = done.error().code();
  if (code == base::ErrorCode::invalid || code == base::ErrorCode::limit) part.remove();
  return std::move(done).error();
}

base::Result<std::string> fetch_small(const std::string& url, std::size_t limit,
                                      const FetchOptions& options) {
  if (url.starts_with('/')) return base::read_file(url, limit);
  auto uri = web_address(url);
  if (!uri) return std::move(uri).error();
  TextSink sink;
  const TransferRequest ask{.uri = std::move(*uri), .limit = limit};
  auto end = transfer(ask, options, sink);
  if (!end) return std::move(end).error();
  return std::move(sink.text);
}

}  // namespace transport

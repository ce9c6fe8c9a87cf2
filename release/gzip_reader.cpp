#include "release/gzip_reader.hpp"

#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>

#include <array>
#include <cerrno>

#include "base/unique_fd.hpp"

namespace release {

using base::Error;
using base::ErrorCode;
using base::Result;

namespace {

constexpr int kGzipOnly = 16 + MAX_WBITS;  // zlib's way to ask for gzip, with its checksum and length

Error damaged(const std::string& what) {
  return Error(ErrorCode::invalid, "the archive is damaged: " + what + "; download or make it again");
}

}  // namespace

struct GzipReader::State {
  base::UniqueFd file;
  std::string path;
  z_stream stream{};
  bool is_open = false;
  bool is_at_end = false;
  std::array<unsigned char, 64 * 1024> input;

  ~State() {
    if (is_open) ::inflateEnd(&stream);
  }

  // More input; false when the file has no more.
  Result<bool> fill() {
    ssize_t got = 0;
    do {
      got = ::read(file.get(), input.data(), input.size());
    } while (got < 0 && errno == EINTR);
    if (got < 0) return base::os_error(errno, "reading " + path);
    stream.next_in = input.data();
    stream.avail_in = static_cast<unsigned>(got);
    return got > 0;
  }

  Result<void> check_end() {
    is_at_end = true;
    if (stream.avail_in == 0) {
      auto more = fill();
      if (!more) return std::move(more).error();
    }
    if (stream.avail_in != 0) return damaged("something follows its end");
    return {};
  }
};

GzipReader::GzipReader(std::unique_ptr<State> state) : state_(std::move(state)) {}
GzipReader::GzipReader(GzipReader&&) noexcept = default;
GzipReader& GzipReader::operator=(GzipReader&&) noexcept = default;
GzipReader::~GzipReader() = default;

Result<GzipReader> GzipReader::open(const std::string& path) {
  auto state = std::make_unique<State>();
  state->file.reset(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!state->file) return base::os_error(errno, "opening " + path);
  state->path = path;
  if (::inflateInit2(&state->stream, kGzipOnly) != Z_OK)
    return Error(ErrorCode::internal, "zlib cannot be used");
  state->is_open = true;
  return GzipReader(std::move(state));
}

Result<std::size_t> GzipReader::read(std::span<char> to) {
  z_stream& stream = state_->stream;
  stream.next_out = reinterpret_cast<unsigned char*>(to.data());
  stream.avail_out = static_cast<unsigned>(to.size());
  while (stream.avail_out > 0 && !state_->is_at_end) {
    if (stream.avail_in == 0) {
      auto more = state_->fill();
      if (!more) return std::move(more).error();
      if (!*more) return damaged("it ends too early");
    }
    const int status = ::inflate(&stream, Z_NO_FLUSH);
    if (status == Z_STREAM_END) {
      if (auto end = state_->check_end(); !end) return std::move(end).error();
    } else if (status != Z_OK) {
      return damaged(stream.msg ? stream.msg : "it is not gzip");
    }
  }
  return to.size() - stream.avail_out;
}

}  // namespace release

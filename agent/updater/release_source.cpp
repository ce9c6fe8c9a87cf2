#include "agent/updater/release_source.hpp"

#include <poll.h>

#include <algorithm>

#include "release/documents.hpp"

namespace agent::updater {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;
using std::chrono::milliseconds;

// 1, 2, 4 … 30, 30 s: about three minutes, which a server needs to restart.
constexpr int kMostTries = 10;
constexpr milliseconds kFirstPause{1'000};
constexpr milliseconds kLongestPause{30'000};

bool is_worth_another_try(const Error& error) {
  return error.code() == ErrorCode::io || error.code() == ErrorCode::timed_out;
}

}  // namespace

bool sleep_unless(base::Interrupt& interrupt, milliseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (!interrupt.requested()) {
    const auto left = std::chrono::ceil<milliseconds>(end - std::chrono::steady_clock::now());
    if (left.count() <= 0) return true;
    pollfd wake{interrupt.wait_fd(), POLLIN, 0};
    ::poll(&wake, wake.fd >= 0 ? 1 : 0, static_cast<int>(left.count()));
  }
  return false;
}

ReleaseSource::ReleaseSource(std::string base, transport::FetchOptions options, base::Interrupt& interrupt)
    : base_(std::move(base)), options_(std::move(options)), interrupt_(interrupt) {
  options_.interrupt = &interrupt;
}

template <class T>
Result<T> ReleaseSource::patiently(const std::function<Result<T>()>& ask) {
  milliseconds pause = kFirstPause;
  for (int tries = 1;; ++tries) {
    Result<T> answer = ask();
    if (answer || !is_worth_another_try(answer.error()) || tries == kMostTries) return answer;
    if (!sleep_unless(interrupt_, pause)) return Error(ErrorCode::cancelled, "the agent ends");
    pause = std::min(pause * 2, kLongestPause);
  }
}

Result<ReleaseSource::Signed> ReleaseSource::document(const std::string& path) {
  const auto fetch = [&](const std::string& name) {
    return patiently<std::string>([&]() -> Result<std::string> {
      return transport::fetch_small(base_ + "/" + name, release::kLargestDocument, options_);
    });
  };
  auto text = fetch(path);
  if (!text) return std::move(text).error();
  auto signatures = fetch(path + ".sig");
  if (!signatures) return std::move(signatures).error();
  return Signed{std::move(*text), std::move(*signatures)};
}

Result<ReleaseSource::Signed> ReleaseSource::document_again(const std::string& path) {
  if (!sleep_unless(interrupt_, kFirstPause)) return Error(ErrorCode::cancelled, "the agent ends");
  return document(path);
}

Result<void> ReleaseSource::archive(const std::string& path, const std::string& file, std::uint64_t size,
                                    const std::function<void(std::uint64_t)>& progress) {
  const transport::DownloadRequest request{
      .url = base_ + "/" + path, .file = file, .limit = size, .exact = true, .progress = progress};
  auto done = patiently<std::uint64_t>([&] { return transport::download(request, options_); });
  if (!done) return std::move(done).error();
  return {};
}

}  // namespace agent::updater

// download() and fetch_small(): files and documents of a release base, for the updater.
//
// Blocking, with a loop of their own that runs inside the call; from any thread that has no loop. Memory does
// not grow with what is sent. The server is not trusted: whatever it says about sizes and ranges must agree
// with what was asked for, redirects are not followed, compression is refused. That the bytes are the right
// ones is for the caller to verify.
//
// Addresses are https://…, http://… or an absolute path, which is read from this machine.
//
// Errors: `not_found` nothing is there (404, no such file); `permission` refused (401, 403, or not the server
// that TLS should lead to); `cancelled` interrupted; `timed_out` too slow; `io` not reached, hung up,
// overloaded: worth another attempt; `no_space`, `read_only` of the file that is written; `limit` more than
// may be sent; `invalid` an answer that contradicts itself or the question, a redirect; or an address that is
// none.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/interrupt.hpp"
#include "base/result.hpp"
#include "transport/client/proxies.hpp"
#include "transport/tls.hpp"

namespace transport {

// How servers are reached, and how long they may take.
struct FetchOptions {
  Proxies proxies = {};
  std::shared_ptr<TlsClient> tls = {};  // for https://
  std::string user_agent = "opsagent";
  std::chrono::milliseconds deadline = std::chrono::minutes(30);  // for all of it
  // Fewer bytes than this per second over the window end it: a server that sends one byte now and then would
  // hold an update for days. The answer must begin within the window, too.
  std::uint64_t min_rate = 1024;
  std::chrono::milliseconds rate_window = std::chrono::seconds(30);
  base::Interrupt* interrupt = nullptr;  // asked several times a second, on the calling thread; may be null
};

struct DownloadRequest {
  std::string url;
  // Where it is written to (PREFIX/staging/NAME.part); its folder is there. What it holds already is taken
  // for the beginning of the same file, and the rest asked for by range; a server that has no ranges sends it
  // anew.
  std::string file;
  std::uint64_t limit = 0;                           // bytes
  bool exact = true;                                 // exactly so many; else at most
  std::function<void(std::uint64_t)> progress = {};  // bytes that are there, after each piece; may be empty
};

// The whole file is in request.file when it returns, written but not synced; the answer is its size. After
// `invalid` or `limit` the file is gone, for what it held came from a server that lies; after all other
// errors the next call continues it.
base::Result<std::uint64_t> download(const DownloadRequest& request, const FetchOptions& options);

// A document of at most `limit` bytes.
base::Result<std::string> fetch_small(const std::string& url, std::size_t limit, const FetchOptions& options);

}  // namespace transport

// What the tests of downloads share: a server that sends exactly what it is told, and somebody who asks it.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/loopback.hpp"
#include "tests/support/scratch_folder.hpp"
#include "transport/client/download.hpp"

namespace tests {

// Answers each connection with what `answer` sends; keeps the heads that it was sent.
class RawServer {
 public:
  using Answer = std::function<void(const RawPeer&, const std::string& head)>;
  explicit RawServer(Answer answer)
      : thread_([this, answer = std::move(answer)] {
          while (true) {
            const RawPeer peer = listener_.accept();
            if (peer.fd() < 0) return;
            const std::string head = peer.read_until("\r\n\r\n");
            {
              const std::scoped_lock lock(mutex_);
              heads_.push_back(head);
            }
            answer(peer, head);
          }
        }) {}
  RawServer(const RawServer&) = delete;
  RawServer& operator=(const RawServer&) = delete;
  ~RawServer() {
    listener_.shutdown();
    thread_.join();
  }
  std::string url(const std::string& path = "/f") const {
    return "http://127.0.0.1:" + std::to_string(listener_.port()) + path;
  }
  std::vector<std::string> heads() const {
    const std::scoped_lock lock(mutex_);
    return heads_;
  }

 private:
  RawListener listener_;
  mutable std::mutex mutex_;
  std::vector<std::string> heads_;
  std::thread thread_;
};

// One fixed answer, then the server hangs up.
inline RawServer::Answer says(std::string text) {
  return [text = std::move(text)](const RawPeer& peer, const std::string&) { peer.send(text); };
}

// The beginning, then `piece` for ever.
inline RawServer::Answer never_ends(std::string beginning, std::string piece) {
  while (piece.size() < 4096)
    piece += piece;
  return
      [beginning = std::move(beginning), piece = std::move(piece)](const RawPeer& peer, const std::string&) {
        if (!peer.send(beginning)) return;
        while (peer.send(piece)) {
        }
      };
}

// The beginning, then a byte at a time.
inline RawServer::Answer trickles(std::string beginning, std::string rest, std::chrono::milliseconds pause) {
  return [beginning = std::move(beginning), rest = std::move(rest), pause](const RawPeer& peer,
                                                                           const std::string&) {
    if (!peer.send(beginning)) return;
    for (const char c : rest) {
      if (!peer.send({&c, 1})) return;
      std::this_thread::sleep_for(pause);
    }
  };
}

class Flag final : public base::Interrupt {
 public:
  bool requested() override { return raised; }
  int wait_fd() const override { return -1; }
  std::atomic<bool> raised = false;
};

// Ten bytes, "0123456789", are what everybody wants.
struct DownloadBench {
  base::Result<std::uint64_t> get(const std::string& url) {
    request.url = url;
    return transport::download(request, options);
  }
  // The error of that, or "".
  std::string problem(const std::string& url) { return noted(get(url)); }
  // The same for a document of up to ten bytes.
  std::string document_problem(const std::string& url) {
    return noted(transport::fetch_small(url, static_cast<std::size_t>(request.limit), options));
  }

  ScratchFolder folder;
  transport::DownloadRequest request{.url = {}, .file = folder / "f.part", .limit = 10};
  transport::FetchOptions options;
  base::ErrorCode code = base::ErrorCode::internal;  // of the last problem

 private:
  template <class T>
  std::string noted(const base::Result<T>& got) {
    if (got) return "";
    code = got.error().code();
    return got.error().message();
  }
};

}  // namespace tests

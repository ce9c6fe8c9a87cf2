// What the tests of downloads share: a server that sends exactly what it is told, and somebody who asks it.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/loopback.hpp"
#include "tests/support/scratch_folder.hpp"
#include "transport/download.hpp"

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
  std::string problem(const std::string& url) {
    const auto got = get(url);
    if (got) return "";
    code = got.error().code();
    return got.error().message();
  }

  ScratchFolder folder;
  transport::DownloadRequest request{.url = {}, .file = folder / "f.part", .limit = 10};
  transport::FetchOptions options;
  base::ErrorCode code = base::ErrorCode::internal;
};

}  // namespace tests

// WebFiles: a server of files on loopback that does what it is told, with entity tags and ranges, and counts
// what it has sent. Bodies can be cut off, or held back.
#pragma once

#include <map>
#include <mutex>
#include <string>

#include "tests/support/download_bench.hpp"

namespace tests {

struct WebFile {
  std::string body{};
  std::string etag{};                         // with its quotes; empty: none
  std::string last_modified{};                // empty: none
  std::string location{};                     // a redirect to there
  unsigned status = 200;                      // anything else is sent without the body
  std::size_t cut_after = std::string::npos;  // hang up after so many bytes of an answer
  bool stalls = false;                        // then go silent instead of hanging up
};

class WebFiles {
 public:
  WebFiles() : server_([this](const RawPeer& peer, const std::string& head) { answer(peer, head); }) {}

  void serve(const std::string& path, WebFile file) {
    const std::scoped_lock lock(mutex_);
    files_[path] = std::move(file);
  }
  void put(const std::string& path, std::string body, std::string etag = {}) {
    serve(path, WebFile{.body = std::move(body), .etag = std::move(etag)});
  }
  std::string url(const std::string& path) const { return server_.url(path); }
  std::vector<std::string> heads() const { return server_.heads(); }
  std::size_t requests() const { return server_.heads().size(); }
  std::size_t bodies() const {
    const std::scoped_lock lock(mutex_);
    return bodies_;
  }

 private:
  static std::string header(const std::string& head, const std::string& name) {
    const std::size_t at = head.find("\r\n" + name + ": ");
    if (at == std::string::npos) return {};
    const std::size_t from = at + name.size() + 4;
    return head.substr(from, head.find("\r\n", from) - from);
  }

  void answer(const RawPeer& peer, const std::string& head) {
    std::string path = head.substr(4, head.find(' ', 4) - 4);
    if (path.starts_with("http://")) path = path.substr(path.find('/', 7));  // as a proxy is asked
    WebFile file{.status = 404};
    {
      const std::scoped_lock lock(mutex_);
      if (const auto found = files_.find(path); found != files_.end()) file = found->second;
    }
    std::string said;
    if (!file.etag.empty()) said += "ETag: " + file.etag + "\r\n";
    if (!file.last_modified.empty()) said += "Last-Modified: " + file.last_modified + "\r\n";
    if (!file.location.empty()) {
      peer.send("HTTP/1.1 302 Found\r\nLocation: " + file.location + "\r\nContent-Length: 0\r\n\r\n");
      return;
    }
    if (file.status != 200) {
      peer.send("HTTP/1.1 " + std::to_string(file.status) + " So\r\nContent-Length: 0\r\n\r\n");
      return;
    }
    const bool same_tag = !file.etag.empty() && header(head, "If-None-Match") == file.etag;
    const bool same_time = file.etag.empty() && !file.last_modified.empty() &&
                           header(head, "If-Modified-Since") == file.last_modified;
    if (same_tag || same_time) {
      peer.send("HTTP/1.1 304 Not Modified\r\n" + said + "\r\n");
      return;
    }
    std::size_t from = 0;
    const std::string range = header(head, "Range");
    if (!range.empty() && header(head, "If-Range") == file.etag) from = std::stoul(range.substr(6));
    {
      const std::scoped_lock lock(mutex_);
      ++bodies_;
    }
    const std::string total = std::to_string(file.body.size());
    const std::string length = std::to_string(file.body.size() - from);
    const std::string status = from == 0 ? "200 OK\r\n"
                                         : "206 Part\r\nContent-Range: bytes " + std::to_string(from) + "-" +
                                               std::to_string(file.body.size() - 1) + "/" + total + "\r\n";
    peer.send("HTTP/1.1 " + status + said + "Content-Length: " + length + "\r\n\r\n");
    peer.send(std::string_view(file.body).substr(from).substr(0, file.cut_after));
    if (file.stalls) std::this_thread::sleep_for(std::chrono::seconds(2));
  }

  mutable std::mutex mutex_;
  std::map<std::string, WebFile> files_;
  std::size_t bodies_ = 0;
  RawServer server_;  // last: its thread uses what is above
};

}  // namespace tests

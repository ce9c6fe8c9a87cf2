// BackendHistory: what the backend has said last about its history (docs/protocol.md, "A backend that was put
// back"), word by word. The agent does not read it: it says it again in its next handshakes.
//
// One file, replaced whole, 0600. One that cannot be read counts as empty. One thread: the loop's.
#pragma once

#include <string>

#include "base/result.hpp"

namespace agent::runtime {

class BackendHistory {
 public:
  explicit BackendHistory(std::string path) : path_(std::move(path)) {}

  void load();
  const std::string& text() const { return text_; }
  // On disk when it returns; on an Error it holds until the restart.
  base::Result<void> keep(std::string text);

 private:
  const std::string path_;
  std::string text_;
};

}  // namespace agent::runtime

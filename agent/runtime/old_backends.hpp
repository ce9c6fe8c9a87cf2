// OldBackends: the addresses of backends that have spoken version 1 to this agent the last time that they
// spoke. Such a one that is silent after a handshake has nothing to say; a new one that is silent is broken.
//
// One file, replaced whole, 0600, an address on each line. One that cannot be read counts as empty: then the
// agent waits until such a backend says something. One thread: the loop's.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace agent::runtime {

class OldBackends {
 public:
  static constexpr std::size_t kMost = 64;  // the oldest is forgotten first

  explicit OldBackends(std::string path) : path_(std::move(path)) {}

  void load();
  bool contains(std::string_view uri) const;
  // What the backend at this address speaks now. On disk when it returns; on an Error it holds until the
  // restart.
  base::Result<void> note(const std::string& uri, bool speaks_version_1);

 private:
  const std::string path_;
  std::vector<std::string> uris_;
};

}  // namespace agent::runtime

#include "agent/watch_store.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "base/file_read.hpp"
#include "base/sha256.hpp"
#include "base/tree_writer.hpp"

namespace agent {

std::string WatchStore::record_path(std::string_view state_id, std::string_view path) const {
  std::string name = std::string(state_id) + "-" + std::string(path) + ".cksum";
  std::ranges::replace(name, '/', '-');
  return dir_ + "/" + name;
}

base::Result<WatchState> WatchStore::evaluate(std::string_view state_id, const states::WatchRequest& request,
                                              const std::string& root) {
  constexpr std::size_t kLargest = 64 * 1024 * 1024;
  WatchState state{.triggered = request.always};
  for (std::string_view path : request.paths) {
    const auto text = base::read_file(root + std::string(path), kLargest);
    const std::string now = text ? base::sha256_hex(*text) : "";
    const auto record = base::read_file(record_path(state_id, path), 128);
    const std::string then = record ? *record : "";
    if (now != then && (record || request.first_counts)) {
      state.triggered = true;
      state.changed.emplace_back(path);
    }
    state.seen.push_back({std::string(path), now});
  }
  return state;
}

base::Result<void> WatchStore::store(std::string_view state_id, const WatchState& state) {
  base::Tree tree;
  base::SyncGroup sync;
  base::TreeWriter writer(tree, sync);
  if (!state.seen.empty() && ::mkdir(dir_.c_str(), 0700) != 0 && errno != EEXIST)
    return base::os_error(errno, dir_);
  for (const auto& seen : state.seen)
    if (auto written = writer.write_file(record_path(state_id, seen.path), seen.digest, {.mode = 0600});
        !written)
      return written;
  return sync.flush();
}

}  // namespace agent

// OnceStore: which states have succeeded under which `once` key, so that they are not done again.
//
// One small file for the machine, replaced as a whole and on disk when it was written (docs/formats.md). A
// daemon, an `apply` and `opsagent once` use it at the same time: each change is made under a lock of its own
// (`once.lock`), and each question reads what is there. One thread per object.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace agent::engine {

struct DoneOnce {
  std::string root;  // that the state worked below; "": the running system
  std::string id;    // of the state
  std::string key;
  std::chrono::system_clock::time_point at{};
  std::string report;  // the key of the result with which it succeeded (report_key)
};

class OnceStore {
 public:
  explicit OnceStore(std::string state_dir)
      : path_(state_dir + "/once"), lock_path_(state_dir + "/once.lock") {}

  // Nothing: not done yet. An Error: there is a file and it cannot be read, or it is damaged; whoever took
  // that for "not done" would do it again.
  base::Result<std::optional<DoneOnce>> find(const std::string& root, std::string_view id,
                                             std::string_view key);
  // Whether one more can be remembered. Ask before anything is done that is to be done once.
  base::Result<void> has_room();
  // Whether the disk takes one more: a full one must be noticed before, or what is to be done once would be
  // done in every attempt. Writes nothing that stays.
  base::Result<void> has_disk();
  // On disk when it returns.
  base::Result<void> add(const DoneOnce& done);
  base::Result<std::vector<DoneOnce>> list();
  // Forgets what is remembered of the state with this id, for all roots; only under `key`, if that is not
  // empty. Answers how many.
  base::Result<std::size_t> forget(std::string_view id, std::string_view key);

  // Never forgotten by themselves: whoever needs more removes some.
  static constexpr std::size_t kMost = 10'000;

 private:
  base::Result<void> read();
  base::Result<void> write(const std::vector<DoneOnce>& all);

  const std::string path_;
  const std::string lock_path_;
  std::vector<DoneOnce> known_;  // what was read
  // Of the file that it was read from.
  ino_t inode_ = 0;
  off_t size_ = 0;
  std::int64_t changed_ns_ = -1;
};

// "done once, on 2026-11-19 06:10 UTC"
std::string once_text(const DoneOnce& done);

}  // namespace agent::engine

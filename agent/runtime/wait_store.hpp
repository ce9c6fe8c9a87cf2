// WaitStore: the wait states that the backend has said to be done, so that a restart does not ask again. The
// file `waits` of the state folder has no other reader or writer in this process.
//
// One file, replaced whole, 0600. A file that cannot be read counts as empty: the backend is asked again. One
// thread: the loop's. Writing can fail; what was said holds until the next restart then.
#pragma once

#include <string>

#include "agent/engine/satisfied_waits.hpp"
#include "base/result.hpp"

namespace agent::runtime {

class WaitStore {
 public:
  explicit WaitStore(std::string path) : path_(std::move(path)) {}

  void load();
  const engine::SatisfiedWaits& waits() const { return waits_; }

  // On disk when it returns.
  base::Result<void> mark_done(std::int64_t version, const std::string& state_id);
  base::Result<void> forget_all_but(std::int64_t version);
  base::Result<void> forget(std::int64_t version);
  base::Result<void> forget_all();

 private:
  base::Result<void> write() const;

  const std::string path_;
  engine::SatisfiedWaits waits_;
};

}  // namespace agent::runtime

// SatisfiedWaits: which wait states have been said to be done, per recipe version, across restarts. One
// thread: the worker's.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace agent::engine {

class SatisfiedWaits {
 public:
  // `path`: where it is kept; read now when it is there. Empty: nowhere.
  explicit SatisfiedWaits(std::string path);

  // Heard from the backend; kept durably.
  base::Result<void> mark_done(std::int64_t version, const std::string& state_id);
  bool is_done(std::int64_t version, std::string_view state_id) const;
  // A recipe was loaded: what was heard for older versions is of no use any more.
  base::Result<void> forget_before(std::int64_t version);

 private:
  base::Result<void> store() const;

  const std::string path_;
  std::map<std::int64_t, std::set<std::string, std::less<>>> done_;
};

}  // namespace agent::engine

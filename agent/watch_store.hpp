// WatchStore: what watched files looked like at the last success of the state that watches them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "states/state.hpp"

namespace agent {

struct WatchState {
  struct Seen {
    std::string path;
    std::string digest;  // "" for what is not a readable file
  };
  bool triggered = false;
  std::vector<std::string> changed;
  std::vector<Seen> seen;
};

class WatchStore {
 public:
  explicit WatchStore(std::string dir) : dir_(std::move(dir)) {}
  base::Result<WatchState> evaluate(std::string_view state_id, const states::WatchRequest& request,
                                    const std::string& root);
  base::Result<void> store(std::string_view state_id, const WatchState& state);

 private:
  std::string record_path(std::string_view state_id, std::string_view path) const;
  const std::string dir_;
};

}  // namespace agent

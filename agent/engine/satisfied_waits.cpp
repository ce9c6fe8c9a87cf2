#include "agent/engine/satisfied_waits.hpp"

namespace agent::engine {

bool SatisfiedWaits::mark_done(std::int64_t version, const std::string& state_id) {
  return done_[version].insert(state_id).second;
}

bool SatisfiedWaits::is_done(std::int64_t version, std::string_view state_id) const {
  const auto found = done_.find(version);
  return found != done_.end() && found->second.contains(state_id);
}

std::vector<std::string> SatisfiedWaits::done_in(std::int64_t version) const {
  const auto found = done_.find(version);
  if (found == done_.end()) return {};
  return {found->second.begin(), found->second.end()};
}

bool SatisfiedWaits::forget_all_but(std::int64_t version) {
  return std::erase_if(done_, [&](const auto& each) { return each.first != version; }) > 0;
}

bool SatisfiedWaits::forget(std::int64_t version) {
  return done_.erase(version) > 0;
}

bool SatisfiedWaits::forget_all() {
  const bool had_any = !done_.empty();
  done_.clear();
  return had_any;
}

}  // namespace agent::engine

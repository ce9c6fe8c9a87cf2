#include "backend/domain/model.hpp"

namespace backend::domain {

Tags Instance::tags() const {
  Tags all = operator_tags;
  all.insert(agent_tags.begin(), agent_tags.end());  // does not replace what is there
  return all;
}

bool is_whole(const protocol::RoundEnd& end) {
  const auto none = [&](const char* outcome) {
    const auto found = end.counts.find(outcome);
    return found == end.counts.end() || found->second == 0;
  };
  return end.not_reached == 0 && !end.counts.empty() && none("failed") && none("cancelled") &&
         none("timed_out");
}

}  // namespace backend::domain

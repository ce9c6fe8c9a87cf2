#include "states/context.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace states {

std::string reasons_text(const Context& context) {
  std::vector<std::string> reasons(context.watch_changed.begin(), context.watch_changed.end());
  if (context.orders)
    for (const std::vector<std::string>* ids : {&context.orders->restart_for, &context.orders->reload_for})
      for (const std::string& id : *ids) {
        std::string quoted = "'" + id + "'";
        if (std::ranges::find(reasons, quoted) == reasons.end()) reasons.push_back(std::move(quoted));
      }
  return base::join(reasons, ", ");
}

}  // namespace states

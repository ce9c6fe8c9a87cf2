#include "backend/store/housekeeping.hpp"

#include "backend/domain/instants.hpp"
#include "backend/store/audit.hpp"

namespace backend::store {

base::Result<domain::Purged> purge(Store& store, const domain::Retention& retention) {
  const domain::Millis now = domain::now_millis();
  if (auto noted = add_missed_refusals(store, now); !noted) return std::move(noted).error();
  constexpr domain::Millis kJoinTokensKept = 30LL * 24 * 3600 * 1000;  // after their end, for those who look
  if (auto ended = store.remove_join_tokens(now - kJoinTokensKept); !ended) return std::move(ended).error();
  // With its machines: some ten thousand rows at the most.
  auto over = store.remove_ended_rollout(retention.oldest);
  if (!over) return std::move(over).error();
  auto purged = store.remove_reports(retention);
  if (!purged) return purged;
  purged->rows += *over;
  if (purged->more) return purged;
  auto unused = store.remove_unused_placements(retention.batch);
  if (!unused) return std::move(unused).error();
  purged->rows += *unused;
  return purged;
}

}  // namespace backend::store

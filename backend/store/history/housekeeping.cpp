#include "backend/store/history/housekeeping.hpp"

#include "backend/domain/access/certificate_rules.hpp"
#include "backend/domain/access/instants.hpp"
#include "backend/store/history/audit.hpp"

namespace backend::store {

namespace {

// Report streams, certificates and enrolments that are of no use any more.
base::Result<domain::Purged> purge_identities(Store& store, domain::Millis now, std::size_t batch,
                                              PurgeCursor& cursor) {
  const domain::Millis before = now - domain::kCertificatesKeptAfterEnd;
  domain::Purged purged;
  auto certificates = store.remove_dead_certificates(before, batch);
  if (!certificates) return std::move(certificates).error();
  auto enrolments =
      store.remove_dead_enrolments({.after = cursor.enrolments, .batch = batch, .before = before});
  if (!enrolments) return std::move(enrolments).error();
  auto agents = store.remove_dead_agents({.after = cursor.agents, .batch = batch, .before = before});
  if (!agents) return std::move(agents).error();
  cursor = {.agents = agents->next, .enrolments = enrolments->next};
  purged.rows = *certificates + enrolments->rows + agents->rows;
  purged.more = *certificates == batch;
  return purged;
}

}  // namespace

base::Result<domain::Purged> purge(Store& store, const domain::Retention& retention) {
  PurgeCursor cursor;
  return purge(store, retention, cursor);
}

base::Result<domain::Purged> purge(Store& store, const domain::Retention& retention, PurgeCursor& cursor) {
  const domain::Millis now = domain::now_millis();
  if (auto noted = add_missed_refusals(store, now); !noted) return std::move(noted).error();
  constexpr domain::Millis kJoinTokensKept = 30LL * 24 * 3600 * 1000;  // after their end, for those who look
  if (auto ended = store.remove_join_tokens(now - kJoinTokensKept); !ended) return std::move(ended).error();
  constexpr domain::Millis kPendingKept = 7LL * 24 * 3600 * 1000;  // strangers; they may come again
  if (auto gone = store.remove_pending(now - kPendingKept); !gone) return std::move(gone).error();
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
  auto dead = purge_identities(store, now, retention.batch, cursor);
  if (!dead) return dead;
  purged->rows += dead->rows;
  purged->more = dead->more;
  return purged;
}

}  // namespace backend::store

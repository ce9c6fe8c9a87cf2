#include "backend/store/history/audit.hpp"

#include "backend/store/transaction.hpp"

namespace backend::store {

using base::Result;

namespace {

Result<void> append_row(Store& store, const domain::AuditRow& row) {
  return store.transact([&]() -> Result<void> {
    auto head = store.audit_head();
    if (!head) return std::move(head).error();
    return store.append_audit(*head, domain::next_audit_row(*head, row));
  });
}

}  // namespace

Result<void> add_audit(Store& store, const domain::AuditRow& row, std::string_view peer) {
  const auto taken = store.refusals().take(row, peer);
  return taken ? append_row(store, *taken) : Result<void>();
}

Result<void> add_missed_refusals(Store& store, domain::Millis now) {
  for (const domain::AuditRow& row : store.refusals().take_missed(now))
    if (auto added = append_row(store, row); !added) return added;
  return {};
}

}  // namespace backend::store

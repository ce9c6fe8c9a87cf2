// AuditStore: the rows of the audit, which are only ever added. What is added is decided in
// domain/audit_rules.hpp; callers use add_audit() (audit.hpp). See store.hpp for threads and errors.
#pragma once

#include "backend/domain/model.hpp"
#include "base/result.hpp"

namespace backend::store {

class AuditStore {
 public:
  virtual ~AuditStore() = default;

  // From what is remembered apart from the rows: if the last one is gone, the next one shows it.
  virtual base::Result<domain::AuditHead> audit_head() = 0;
  // The row is the new head. `exists`: `head` is not the head any more, another writer was there first.
  virtual base::Result<void> append_audit(const domain::AuditHead& head, const domain::AuditRow& row) = 0;
  enum class Order { newest_first, oldest_first };
  virtual base::Result<domain::Page<domain::AuditRow>> list_audit(const domain::PageRequest& page,
                                                                  Order order = Order::newest_first) = 0;
};

}  // namespace backend::store

// HistoryStore: which history of the database this is (domain/history_rules.hpp). Callers use history.hpp.
// See store.hpp for threads and errors.
#pragma once

#include <string>
#include <string_view>

#include "backend/domain/reports/history_rules.hpp"
#include "base/result.hpp"

namespace backend::store {

class HistoryStore {
 public:
  virtual ~HistoryStore() = default;

  virtual base::Result<domain::StoreHistory> history() = 0;
  // The present one, or one that has ended.
  virtual base::Result<bool> knows_history(std::string_view id) = 0;
  // `id` is the present one from now on; the one before has ended, and so has `other`, of another life.
  virtual base::Result<void> begin_history(std::string_view id, std::string_view other,
                                           domain::Millis now) = 0;
  // Of that row of the audit; "": there is none.
  virtual base::Result<std::string> audit_chain(std::int64_t id) = 0;
};

}  // namespace backend::store

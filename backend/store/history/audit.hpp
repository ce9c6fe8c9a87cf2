// Adding to the audit. For the writer thread; fails when the database does.
#pragma once

#include "backend/store/store.hpp"

namespace backend::store {

// Chains it to the row before. Of rows with the result "denied" only so many are added; the next one that is
// says how many were not (domain/audit_rules.hpp).
// `peer`: whom a row about an agent is counted to, if it has proved something.
base::Result<void> add_audit(Store& store, const domain::AuditRow& row, std::string_view peer = {});

// Adds what is known of refusals that were not added and that no later row has told of.
base::Result<void> add_missed_refusals(Store& store, domain::Millis now);

}  // namespace backend::store

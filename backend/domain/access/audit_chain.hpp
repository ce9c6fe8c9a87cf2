// The chain of the audit: each row carries a hash over itself and over the hash of the row before, so that an
// edited, removed or inserted row shows in all that follow. docs/formats.md has the format; opsctl computes
// the same on its own (ctl/audit_chain.hpp).
#pragma once

#include <string>
#include <string_view>

#include "backend/domain/model.hpp"

namespace backend::domain {

// What the first row is chained to.
inline constexpr std::string_view kNoChain =
    "0000000000000000000000000000000000000000000000000000000000000000";

// The `chain` of a row that follows one with the chain `previous`.
std::string chain_after(std::string_view previous, const AuditRow& row);

}  // namespace backend::domain

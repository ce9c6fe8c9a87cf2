// The history of a store, by which a database that was put back from a backup is noticed. Pure; any thread.
//
// Agents are told a mark: which history this is, and how far its audit has come. They say it again at their
// next handshake. A mark that we have made, of an audit row that we do not have, was made by a later life of
// this database. Only we can make one (a keyed hash), so no machine can say that of itself: it stops
// rollouts, see store/history/history.hpp.
//
// Once noticed, another history begins: marks of the one before say nothing new any more.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "backend/domain/model.hpp"

namespace backend::domain {

struct StoreHistory {
  std::string key;  // secret; the same in all lives of a database
  std::string id;   // of the present history
};

struct HistoryMark {
  std::string history;
  std::int64_t audit_id = 0;
  std::string chain;  // the beginning of that row's
};

std::string mark_text(const StoreHistory& history, const AuditHead& head);
// Nothing: we have not made it.
std::optional<HistoryMark> read_mark(std::string_view text, const StoreHistory& history);

// Whether the mark is of this database as it is: `chain` is that of the audit row that it names; "": there is
// no such row.
bool is_of(const HistoryMark& mark, std::string_view chain);

}  // namespace backend::domain

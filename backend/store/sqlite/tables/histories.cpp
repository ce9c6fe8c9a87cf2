// Which history of the database this is.
#include "backend/store/sqlite/tables/tables.hpp"

namespace backend::store::sqlite {

using base::Result;

Result<domain::StoreHistory> SqliteStore::history() {
  Query row(database_, "SELECT key, present FROM history");
  if (auto found = expect_row(row, "the history of the database is missing"); !found)
    return std::move(found).error();
  return domain::StoreHistory{.key = row.text(0), .id = row.text(1)};
}

Result<bool> SqliteStore::knows_history(std::string_view id) {
  Query row(database_,
            "SELECT 1 FROM history WHERE present=?1 UNION ALL SELECT 1 FROM ended_histories WHERE id=?1", id);
  return row.next();
}

Result<void> SqliteStore::begin_history(std::string_view id, std::string_view other, domain::Millis now) {
  auto ended = write("INSERT OR IGNORE INTO ended_histories SELECT present, ?1 FROM history", now);
  if (!ended) return ended;
  if (auto noted = write("INSERT OR IGNORE INTO ended_histories VALUES (?,?)", other, now); !noted)
    return noted;
  return write("UPDATE history SET present=?", id);
}

Result<std::string> SqliteStore::audit_chain(std::int64_t id) {
  Query row(database_, "SELECT chain FROM audit WHERE id=?", id);
  auto found = row.next();
  if (!found) return std::move(found).error();
  return *found ? row.text(0) : std::string();
}

}  // namespace backend::store::sqlite

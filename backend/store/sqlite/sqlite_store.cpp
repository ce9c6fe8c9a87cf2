#include "backend/store/sqlite/sqlite_store.hpp"

#include <algorithm>

#include "backend/store/sqlite/schema/schema.hpp"
#include "backend/store/sqlite/tables/tables.hpp"
#include "base/text.hpp"

namespace backend::store::sqlite {

using base::Error;
using base::ErrorCode;
using base::Result;

namespace {

constexpr int kProbeBytes = 256 * 1024;

}  // namespace

Result<std::unique_ptr<Store>> open_sqlite_store(const std::string& path, Access access) {
  const bool writes = access == Access::write;
  auto database = Database::open(path, writes ? Database::Mode::write : Database::Mode::read_only);
  if (!database) return std::move(database).error();
  auto ready = writes ? migrate(*database) : check_version(*database);
  if (!ready) return std::move(ready).error().with_context(path);
  return std::unique_ptr<Store>(std::make_unique<SqliteStore>(std::move(*database)));
}

Opener opener(std::string path) {
  return [path = std::move(path)](Access access) { return open_sqlite_store(path, access); };
}

Result<void> SqliteStore::transact(const std::function<Result<void>()>& work) {
  return database_.transact(work);
}

// A transaction of its own is somebody else's to commit: StoreThread does.
Result<void> SqliteStore::probe_room(domain::Millis now) {
  return write(
      "INSERT INTO room_probe VALUES (1, zeroblob(?1), ?2) ON CONFLICT DO UPDATE SET "
      "filler=excluded.filler, at=excluded.at",
      kProbeBytes, now);
}

Result<domain::Swept> SqliteStore::remove_swept(std::string_view select, std::string_view remove,
                                                const domain::Sweep& sweep) {
  domain::Swept swept;
  std::vector<std::int64_t> dead;
  std::size_t seen = 0;
  {
    Query rows(database_, select, sweep.before, sweep.after, sweep.batch);
    auto done = for_each_row(rows, [&] {
      swept.next = rows.integer(0);
      ++seen;
      if (rows.integer(1) != 0) dead.push_back(swept.next);
    });
    if (!done) return std::move(done).error();
  }
  if (seen < sweep.batch) swept.next = 0;
  for (const std::int64_t id : dead)
    if (auto done = write(remove, id); !done) return std::move(done).error();
  swept.rows = dead.size();
  return swept;
}

Result<void> expect_row(Query& query, const std::string& not_found) {
  auto row = query.next();
  if (!row) return std::move(row).error();
  if (!*row) return Error(ErrorCode::not_found, not_found);
  return {};
}

Result<std::int64_t> read_cursor(const domain::PageRequest& page, std::int64_t none) {
  if (page.after.empty()) return none;
  const auto number = base::parse_integer(page.after);
  if (!number) return Error(ErrorCode::invalid, "'" + page.after + "' is not a cursor of this list");
  return *number;
}

std::size_t page_size(const domain::PageRequest& page) {
  return std::clamp<std::size_t>(page.limit, 1, domain::kLargestPage);
}

std::string sql_list(std::span<const std::string_view> words) {
  std::string list;
  for (const std::string_view word : words)
    list += (list.empty() ? "('" : ", '") + std::string(word) + "'";
  return list + ")";
}

}  // namespace backend::store::sqlite

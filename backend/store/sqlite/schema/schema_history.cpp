// A step of the schema: which history of the database this is.
#include "backend/store/sqlite/schema/schema.hpp"

namespace backend::store::sqlite {

namespace {

// One row; the key is made once and is in all backups, the present history changes when one was put back.
constexpr std::string_view kHistory = R"sql(
CREATE TABLE history (only_one INTEGER PRIMARY KEY CHECK (only_one = 1), key TEXT NOT NULL, present TEXT NOT NULL);
INSERT INTO history VALUES (1, lower(hex(randomblob(32))), lower(hex(randomblob(8))));
CREATE TABLE ended_histories (id TEXT PRIMARY KEY, ended INTEGER NOT NULL) WITHOUT ROWID;
)sql";

}  // namespace

SchemaStep history_step() {
  return {.sql = kHistory};
}

}  // namespace backend::store::sqlite

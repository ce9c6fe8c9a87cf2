// A step of the schema: whose each recipe is.
#include "backend/store/sqlite/schema/schema.hpp"

namespace backend::store::sqlite {

namespace {

// Recipes from before there were owners belong to tokens without a scope: nobody knows who may have meant
// them, and who is in doubt refuses. `opsctl recipe owner` hands them on.
constexpr std::string_view kOwnerTable = R"sql(
CREATE TABLE recipe_owners (
  name TEXT PRIMARY KEY, scope TEXT NOT NULL  -- a selector; '': of tokens without a scope
) WITHOUT ROWID;
INSERT INTO recipe_owners SELECT DISTINCT name, '' FROM revisions;
)sql";

}  // namespace

SchemaStep owner_step() {
  return {.sql = kOwnerTable};
}

}  // namespace backend::store::sqlite

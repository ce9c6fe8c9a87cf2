// Steps of the schema: how large each revision of a recipe is; who has pushed it, and why.
#include "backend/store/sqlite/schema.hpp"

namespace backend::store::sqlite {

namespace {

// The index has all that adding up the revisions of an owner needs: the rows themselves are megabytes.
constexpr std::string_view kRecipeSizes = R"sql(
ALTER TABLE revisions ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;
UPDATE revisions SET bytes=length(CAST(content AS BLOB))+length(CAST(states AS BLOB));
CREATE INDEX revision_sizes ON revisions (name, bytes);
)sql";

// Of revisions from before, both are "".
constexpr std::string_view kRecipeAuthors = R"sql(
ALTER TABLE revisions ADD COLUMN author TEXT NOT NULL DEFAULT '';
ALTER TABLE revisions ADD COLUMN message TEXT NOT NULL DEFAULT '';
)sql";

}  // namespace

SchemaStep recipe_size_step() {
  return {.sql = kRecipeSizes};
}

SchemaStep recipe_author_step() {
  return {.sql = kRecipeAuthors};
}

}  // namespace backend::store::sqlite

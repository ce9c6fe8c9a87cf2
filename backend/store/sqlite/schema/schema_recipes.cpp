// Steps of the schema: how large each revision of a recipe is; who has pushed it, and why; which assignments
// `apply` has made; where modules come from.
#include "backend/store/sqlite/schema/schema.hpp"

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

// What is there from before was made by itself: nothing prunes it.
constexpr std::string_view kAppliedSets = R"sql(
ALTER TABLE assignments ADD COLUMN applied_set TEXT NOT NULL DEFAULT '';
)sql";

// No repository: ''. unchecked: why the modules were not looked at.
constexpr std::string_view kModules = R"sql(
ALTER TABLE apps ADD COLUMN module_repo TEXT NOT NULL DEFAULT '';
ALTER TABLE apps ADD COLUMN module_tag TEXT NOT NULL DEFAULT '';
ALTER TABLE revisions ADD COLUMN module_repo TEXT NOT NULL DEFAULT '';
ALTER TABLE revisions ADD COLUMN module_tag TEXT NOT NULL DEFAULT '';
ALTER TABLE revisions ADD COLUMN module_commit TEXT NOT NULL DEFAULT '';
ALTER TABLE revisions ADD COLUMN unchecked TEXT NOT NULL DEFAULT '';
ALTER TABLE placements ADD COLUMN module_repo TEXT NOT NULL DEFAULT '';
ALTER TABLE placements ADD COLUMN module_tag TEXT NOT NULL DEFAULT '';
ALTER TABLE placements ADD COLUMN module_commit TEXT NOT NULL DEFAULT '';
)sql";

// Whether an app's recipes are of version 1: 'v1', or ''.
constexpr std::string_view kCompat = R"sql(
ALTER TABLE apps ADD COLUMN compat TEXT NOT NULL DEFAULT '';
)sql";

}  // namespace

SchemaStep recipe_size_step() {
  return {.sql = kRecipeSizes};
}

SchemaStep recipe_author_step() {
  return {.sql = kRecipeAuthors};
}

SchemaStep set_step() {
  return {.sql = kAppliedSets};
}

SchemaStep module_step() {
  return {.sql = kModules};
}

SchemaStep compat_step() {
  return {.sql = kCompat};
}

}  // namespace backend::store::sqlite

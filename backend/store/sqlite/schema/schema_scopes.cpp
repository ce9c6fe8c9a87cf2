// A step of the schema: the scope of whoever has set a tag, written an assignment, started a rollout.
#include "backend/store/sqlite/schema/schema.hpp"

namespace backend::store::sqlite {

namespace {

// What is there from before is of tokens without a scope. Tags go on to count for everybody, as they did;
// assignments and rollouts are changed by those alone: nobody knows who else may have meant them.
constexpr std::string_view kScopeColumns = R"sql(
ALTER TABLE instances ADD COLUMN tag_scopes TEXT NOT NULL DEFAULT '{}';  -- of tags set by a token with a scope
ALTER TABLE assignments ADD COLUMN owner TEXT NOT NULL DEFAULT '';       -- a scope; '': a token without one
ALTER TABLE rollouts ADD COLUMN owner TEXT NOT NULL DEFAULT '';
)sql";

}  // namespace

SchemaStep scope_step() {
  return {.sql = kScopeColumns};
}

}  // namespace backend::store::sqlite

// A step of the schema: which authority has issued a certificate, and whose hash a join token has, so that it
// is known who relies on one that is to be retired.
#include "backend/store/sqlite/schema/schema.hpp"

namespace backend::store::sqlite {

namespace {

// What is there has no issuer yet: it gets the one that the backend has, see adopt_authority().
constexpr std::string_view kAuthorityColumns = R"sql(
ALTER TABLE certificates ADD COLUMN issuer TEXT NOT NULL DEFAULT '';
ALTER TABLE certificates ADD COLUMN kept INTEGER NOT NULL DEFAULT 0;  -- the agent has said that it is on its disk
ALTER TABLE join_tokens ADD COLUMN ca_hash TEXT NOT NULL DEFAULT '';
)sql";

}  // namespace

SchemaStep authority_step() {
  return {.sql = kAuthorityColumns};
}

}  // namespace backend::store::sqlite

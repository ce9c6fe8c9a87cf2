// A step of the schema: machines that operators have paused.
#include "backend/store/sqlite/schema/schema.hpp"

namespace backend::store::sqlite {

namespace {

// pause_until: 0: there was none; an instant that has passed: it is over since then. takes_holds: the
// machine's agent knows what a pause is. said_holds: what the machine says of itself, as JSON; '': nothing.
constexpr std::string_view kPauses = R"sql(
ALTER TABLE instances ADD COLUMN pause_by TEXT NOT NULL DEFAULT '';
ALTER TABLE instances ADD COLUMN pause_reason TEXT NOT NULL DEFAULT '';
ALTER TABLE instances ADD COLUMN pause_since INTEGER NOT NULL DEFAULT 0;
ALTER TABLE instances ADD COLUMN pause_until INTEGER NOT NULL DEFAULT 0;
ALTER TABLE instances ADD COLUMN takes_holds INTEGER NOT NULL DEFAULT 0;
ALTER TABLE instances ADD COLUMN said_holds TEXT NOT NULL DEFAULT '';
)sql";

}  // namespace

SchemaStep pause_step() {
  return {.sql = kPauses};
}

}  // namespace backend::store::sqlite

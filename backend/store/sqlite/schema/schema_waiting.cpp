// A step of the schema: where machines that wait to be approved come from.
#include "backend/store/sqlite/schema/schema.hpp"

namespace backend::store::sqlite {

namespace {

// pending_from: the network (domain::network_of()) of a machine that waits; '': it is not known, or does not.
constexpr std::string_view kWaiting = R"sql(
ALTER TABLE instances ADD COLUMN pending_from TEXT NOT NULL DEFAULT '';
)sql";

}  // namespace

SchemaStep waiting_step() {
  return {.sql = kWaiting};
}

}  // namespace backend::store::sqlite

// The tables of the SQLite store, and how a file of an older version becomes one of the present.
#pragma once

#include <span>
#include <string_view>

#include "backend/store/sqlite/sqlite.hpp"

namespace backend::store::sqlite {

// Step n brings a file of version n to n+1: the statements, then what SQL cannot do, then more statements.
// Steps that were released are never edited; new ones are added.
struct SchemaStep {
  std::string_view sql;
  base::Result<void> (*compute)(Database& database) = nullptr;
  std::string_view after = {};
};
std::span<const SchemaStep> schema_steps();
SchemaStep identity_step();       // the second one (schema_identity.cpp)
SchemaStep rollout_step();        // the third one (schema_rollouts.cpp)
SchemaStep owner_step();          // whose recipes are (schema_owners.cpp)
SchemaStep limits_step();         // what reports take (schema_limits.cpp)
SchemaStep authority_step();      // who has issued what (schema_authorities.cpp)
SchemaStep trust_step();          // what machines are relied on for (schema_trust.cpp)
SchemaStep waiting_step();        // where machines come from that wait (schema_waiting.cpp)
SchemaStep scope_step();          // whose tags, assignments and rollouts are (schema_scopes.cpp)
SchemaStep recipe_size_step();    // what recipes take (schema_recipes.cpp)
SchemaStep recipe_author_step();  // who has pushed what, and why (schema_recipes.cpp)
SchemaStep history_step();        // which history of the database this is (schema_history.cpp)
SchemaStep cause_step();          // why results were changes (schema_limits.cpp)
SchemaStep set_step();            // which set has made an assignment (schema_recipes.cpp)
SchemaStep change_step();         // rollouts of recipes and assignments (schema_changes.cpp)
SchemaStep module_step();         // where modules come from (schema_recipes.cpp)
SchemaStep variable_step();       // variables (schema_variables.cpp)
SchemaStep pause_step();          // machines that operators have paused (schema_pauses.cpp)
SchemaStep compat_step();         // apps with recipes of version 1 (schema_recipes.cpp)

// Brings the file to the present version, each step in a transaction. A file of a newer one is refused.
base::Result<void> migrate(Database& database, std::span<const SchemaStep> steps = schema_steps());

// Refuses a file that migrate() would have something to do for.
base::Result<void> check_version(Database& database);

}  // namespace backend::store::sqlite

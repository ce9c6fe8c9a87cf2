#include "agent/cli/commands/commands.hpp"
#include "agent/cli/commands/recipe_reader.hpp"
#include "recipe/json_schema.hpp"

namespace agent::cli {

int schema_command(const Options& options, terminal::Console& console) {
  auto reader = RecipeReader::open(options, fetch_lines(options, console));
  if (!reader) {
    console.complain(reader.error().message());
    return kFailure;
  }
  const auto sources = reader->sources();
  if (!sources) {
    console.complain(sources.error().message());
    return kFailure;
  }
  console.out.json(recipe::recipe_json_schema(*(*sources)->registry()));
  return kOk;
}

}  // namespace agent::cli

#include "agent/cli/commands/commands.hpp"
#include "agent/cli/commands/recipe_reader.hpp"
#include "agent/cli/input/recipe_input.hpp"
#include "agent/cli/output/apply_view.hpp"
#include "agent/cli/output/event_json.hpp"

namespace agent::cli {

int validate_command(const Options& options, terminal::Console& console) {
  auto reader = RecipeReader::open(options, fetch_lines(options, console), true);
  if (!reader) {
    console.complain(reader.error().message());
    return kFailure;
  }
  const recipe::Loaded loaded = reader->load_file(options.argument());
  const bool ok = loaded.recipe != nullptr;
  if (options.json) {
    console.out.json(problems_json(options.argument(), loaded.problems, loaded.warnings));
  } else {
    show_problems(loaded, options.argument(), console);
    if (ok && !options.quiet)
      console.out.line(options.argument() + ": fine, " + states_text(loaded.recipe->states().size()));
  }
  return ok ? kOk : kFailure;
}

}  // namespace agent::cli

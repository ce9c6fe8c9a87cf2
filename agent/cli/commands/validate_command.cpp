#include "agent/cli/commands/commands.hpp"
#include "agent/cli/commands/state_sources.hpp"
#include "agent/cli/input/recipe_input.hpp"
#include "agent/cli/output/apply_view.hpp"
#include "agent/cli/output/event_json.hpp"

namespace agent::cli {

int validate_command(const Options& options, terminal::Console& console) {
  auto sources = StateSources::open(options);
  if (!sources) {
    console.complain(sources.error().message());
    return kFailure;
  }
  const recipe::Loaded loaded = recipe::load_file(options.argument(), sources->registry());
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

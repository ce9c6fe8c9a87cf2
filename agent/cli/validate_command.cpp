#include "agent/cli/apply_view.hpp"
#include "agent/cli/commands.hpp"
#include "agent/cli/event_json.hpp"
#include "agent/cli/recipe_input.hpp"
#include "agent/cli/state_sources.hpp"

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

#include <unistd.h>

#include <algorithm>

#include "agent/cli/commands/commands.hpp"
#include "agent/cli/commands/recipe_reader.hpp"
#include "agent/cli/input/plan_file.hpp"
#include "agent/cli/input/recipe_input.hpp"
#include "agent/cli/output/event_json.hpp"
#include "agent/cli/output/plan_text.hpp"
#include "agent/engine/execution/planner.hpp"
#include "agent/engine/secrets.hpp"
#include "base/host/accounts.hpp"
#include "base/text.hpp"
#include "base/token.hpp"
#include "base/values/json_text.hpp"
#include "terminal/wrap.hpp"

namespace agent::cli {

namespace {

void show(const engine::PlannedState& state, const Options& options, terminal::Console& console) {
  const bool is_calm = state.skipped || state.verdict == states::Verdict::kept;
  if (is_calm ? !options.verbose : options.quiet && state.verdict != states::Verdict::fail) return;
  const std::size_t width = terminal::output_width();
  console.out.write(is_calm ? kept_line(state, console.paint, width)
                            : plan_block(state, console.paint, width) + "\n");
}

base::Result<void> save_plan(const engine::PlanResult& plan, const recipe::Recipe& recipe,
                             const std::optional<modules::FetchedSource>& fetched, const std::string& root,
                             const std::string& salt, const Options& options) {
  auto path = absolute_path(options.argument());
  if (!path) return std::move(path).error();
  PlanFile file = make_plan_file(plan, std::move(*path), recipe.text_digest(), root, salt);
  if (fetched)
    file.modules = {.repo = fetched->named.repo, .tag = fetched->named.tag, .commit = fetched->commit};
  return save(file, options.out);
}

// Which variables a state uses, and where they come from.
int explain(const recipe::Recipe& recipe, const std::vector<recipe::ExplainedVariable>& variables,
            const Options& options, terminal::Console& console) {
  const auto state = std::ranges::find(recipe.states(), options.explain, &recipe::State::id);
  if (state == recipe.states().end()) {
    std::vector<std::string_view> ids;
    for (const recipe::State& each : recipe.states())
      ids.push_back(each.id);
    console.complain("the recipe has no state '" + options.explain + "'" +
                     base::did_you_mean(options.explain, ids));
    return kFailure;
  }
  const auto redacted = [&](const std::string& text) { return console.redactor->redact(text); };
  if (options.json) {
    base::JsonText json;
    json.begin_object().member("state", options.explain).key("variables").begin_list();
    for (const recipe::ExplainedVariable& each : variables)
      json.begin_object()
          .member("name", each.name)
          .member("value", redacted(each.value))
          .member("origin", each.origin)
          .end_object();
    console.out.json(json.end_list().end_object().take());
    return kOk;
  }
  if (variables.empty()) console.out.line(options.explain + " uses no variables");
  for (const recipe::ExplainedVariable& each : variables)
    console.out.line(terminal::printable(each.name + " = " + redacted(each.value) +
                                         (each.origin.empty() ? "" : "   (" + each.origin + ")")));
  return kOk;
}

}  // namespace

int plan_command(const Options& options, terminal::Console& console) {
  if (!options.out.empty() && options.argument() == "-") {
    console.complain("a saved plan names its recipe's file; give a file instead of standard input");
    return kFailure;
  }
  auto host = make_host(options.root, options.state_dir);
  if (!host) {
    console.complain(host.error().message());
    return kFailure;
  }
  host->downloads = download_settings(options);
  auto reader = RecipeReader::open(options, fetch_lines(options, console));
  if (!reader) {
    console.complain(reader.error().message());
    return kFailure;
  }
  recipe::Loaded loaded = reader->load_file(options.argument());
  const std::vector<recipe::ExplainedVariable> explained = std::move(loaded.explained);
  const auto recipe = usable_recipe(std::move(loaded), options.argument(), options, console);
  if (!recipe) return kFailure;
  for (const std::string& warning : engine::follow_secrets(nullptr, *recipe, *console.redactor))
    console.warn(warning);

  if (!options.explain.empty()) return explain(*recipe, explained, options, console);

  if (::geteuid() != 0 && !options.json && !options.quiet)
    console.out.line(
        not_root_line(base::Accounts().user_name(::geteuid()), console.paint, terminal::output_width()));
  base::NoInterrupt interrupt;  // Ctrl-C simply ends a plan: it changes nothing
  constexpr std::size_t kSaltBytes = 16;
  const engine::PlanOptions plan_options{
      .salt = options.out.empty() ? std::string() : base::random_hex(kSaltBytes),
      .state_dir = options.state_dir,
      .done_waits = options.assume_done};
  const engine::PlanResult plan = engine::plan_recipe(*recipe, *host, *console.redactor, interrupt,
                                                      plan_options, [&](const engine::PlannedState& state) {
                                                        if (options.json) return;
                                                        show(state, options, console);
                                                        if (console.live) console.out.flush();
                                                      });
  const PlanCounts counts = count(plan);
  if (options.json)
    console.out.json(plan_json(plan, options.argument(), recipe->text_digest(), host->root));
  else if (!options.quiet)
    console.out.line(counts_line(counts, console.paint, terminal::output_width()));

  if (options.out.empty()) return counts.exit_status();
  if (counts.fail > 0) {
    console.complain("the plan was not saved: not all of it can work");
    return kFailure;
  }
  if (auto saved = save_plan(plan, *recipe, reader->fetched(), host->root, plan_options.salt, options);
      !saved) {
    console.complain(saved.error().message());
    return kFailure;
  }
  if (!options.json && !options.quiet) {
    const std::vector<std::string> parts{"Saved; apply it with:", "opsagent apply " + options.out};
    console.out.line(terminal::wrap_parts(parts, "", "    ", terminal::output_width()));
  }
  return counts.exit_status();
}

}  // namespace agent::cli

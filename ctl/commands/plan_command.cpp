
#include "base/text.hpp"
#include "base/values/json.hpp"
#include "base/values/json_text.hpp"
#include "ctl/commands/commands.hpp"
#include "ctl/output/plan_view.hpp"
#include "ctl/output/show.hpp"
#include "ctl/output/table.hpp"
#include "ctl/recipe_file.hpp"

namespace ctl {

namespace {

using base::Result;

constexpr std::int64_t kPlanTimeout = 30;

// A name has no slash, no dot, and is not in this folder.
bool is_file(const std::string& argument) {
  return argument == "-" || argument.find('/') != std::string::npos || argument.ends_with(".yaml") ||
         argument.ends_with(".yml") || argument.ends_with(".json") || ::access(argument.c_str(), F_OK) == 0;
}

}  // namespace

Result<int> plan_command(Session& session) {
  const Options& options = session.options;
  const std::string selector = selector_of(options);
  base::JsonText body;
  body.begin_object()
      .member("app_id", app_of(options))
      .member("selector", selector.empty() ? std::string("*") : selector);
  std::string source;
  if (!options.arguments.empty()) {
    const std::string& what = options.arguments.front();
    if (is_file(what)) {
      auto text = read_recipe(what);
      if (!text) return std::move(text).error();
      body.member("recipe", *text);
      source = what == "-" ? "<stdin>" : what;
    } else {
      body.key("recipe").begin_object().member("name", what);
      if (const auto revision = base::parse_integer(options.revision)) body.member("revision", *revision);
      body.end_object();
    }
  }
  body.member("timeout_s", options.timeout.value_or(kPlanTimeout));
  auto reply = session.api.send(
      {.method = "POST", .path = "/plan", .body = body.end_object().take(), .source = source});
  if (!reply) return std::move(reply).error();
  const FleetPlan plan = fleet_plan(reply->document.root());
  if (!show_document(session, reply->document.root()))
    session.console.out.write(plan_text(plan, options.verbose, session.console.paint, output_width()));
  if (plan.cannot_work > 0 || !plan.silent.empty()) return kFailed;
  return options.exit_code && plan.to_change > 0 ? kChanges : kOk;
}

}  // namespace ctl

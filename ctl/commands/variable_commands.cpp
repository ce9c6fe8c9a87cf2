// `opsctl var …`, and which variables a recipe has.
#include <algorithm>

#include "base/files/file_read.hpp"
#include "base/text.hpp"
#include "base/values/json.hpp"
#include "base/values/json_text.hpp"
#include "ctl/commands/change_rollouts.hpp"
#include "ctl/commands/commands.hpp"
#include "ctl/commands/convergence.hpp"
#include "ctl/fields.hpp"
#include "ctl/output/show.hpp"
#include "ctl/time_text.hpp"
#include "recipe/document.hpp"
#include "terminal/wrap.hpp"

namespace ctl {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;
using base::Value;

constexpr std::size_t kLargestValueFile = std::size_t{1} << 20;

// What variables are for, as members of a body.
struct Target {
  std::string app, selector, machine;
};

Result<Target> target_of(const Options& options) {
  if (!options.selector.empty() && !options.machine.empty())
    return Error(ErrorCode::invalid, "give --selector or --machine, not both");
  Target target{.app = options.app, .selector = options.selector};
  if (!options.machine.empty()) {
    const Machine machine = machine_of(options.machine, options);
    target.app = machine.app;
    target.machine = machine.instance;
  }
  if (target.app.empty() && target.selector.empty())
    return Error(ErrorCode::invalid, "say for what: --app APP, -l SELECTOR or --machine NAME");
  if (target.app.empty()) target.app = app_of(options);
  return target;
}

void add_target(base::JsonText& body, const Target& target) {
  body.member("app_id", target.app).optional("selector", target.selector);
  body.optional("instance_id", target.machine);
}

std::string described(const Value& layer) {
  const std::string kind = text_field(layer, "kind");
  if (kind == "machine") return "machine " + text_field(layer, "instance_id");
  if (kind == "selector") return text_field(layer, "selector");
  return "app " + text_field(layer, "app_id");
}

// What stands behind = or :=, or in the file that it names.
Result<std::string> value_of(const std::string& argument, std::string_view value, bool is_json) {
  std::string text(value);
  if (text.starts_with('@')) {
    auto read = base::read_file(text.substr(1), kLargestValueFile);
    if (!read) return std::move(read).error();
    text = std::move(*read);
  }
  if (!is_json) return base::json_quote(text);
  recipe::Document document;
  document.text = std::move(text);
  document.syntax = recipe::Syntax::json;
  if (auto wrong = recipe::parse(document))
    return Error(ErrorCode::invalid, "'" + argument + "' is not JSON behind ':=': " + wrong->message);
  return base::to_json(document.root);
}

// NAME=TEXT, NAME:=JSON, each also =@FILE.
Result<std::string> values_from(std::span<const std::string> arguments) {
  base::JsonText json;
  json.begin_object();
  for (const std::string& argument : arguments) {
    const std::size_t equals = argument.find('=');
    const bool is_json = equals != std::string::npos && equals > 0 && argument[equals - 1] == ':';
    const std::size_t end = is_json ? equals - 1 : equals;
    if (equals == std::string::npos || end == 0)
      return Error(ErrorCode::invalid, "'" + argument + "' is neither NAME=TEXT nor NAME:=JSON");
    auto value = value_of(argument, std::string_view(argument).substr(equals + 1), is_json);
    if (!value) return std::move(value).error();
    json.key(argument.substr(0, end)).json(*value);
  }
  return json.end_object().take();
}

Result<int> send_change(Session& session, const Target& target, std::string body, std::string_view verb) {
  auto reply = session.api.send({.method = "POST", .path = "/variables", .body = std::move(body)});
  if (!reply) return std::move(reply).error();
  const Value& answer = reply->document.root();
  if (!show_document(session, answer)) {
    const std::size_t count = items_field(answer, "changes").size();
    const bool is_dry = session.options.dry_run;
    std::string line =
        count == 0
            ? "Nothing to change for " + described(answer) + "."
            : std::string(is_dry ? "Would have " : "Has ") + std::string(verb) + " " +
                  count_text(count, "variable") + " for " + described(answer) + " in " + target.app + "; " +
                  count_text(static_cast<std::size_t>(number_field(answer, "changed")), "machine") +
                  (is_dry ? " would change." : " changed.");
    session.console.out.line(terminal::printable(line));
    session.console.out.flush();
    show_rollouts(session, answer);
  }
  show_warnings(session, answer);
  if (!session.options.wait || session.options.dry_run) return kOk;
  auto followed = follow_rollouts(session, answer);
  if (!followed) return std::move(followed).error();
  if (*followed) return **followed;
  std::string selector = text_field(answer, "selector");
  if (!target.machine.empty()) selector = "instance=\"" + target.machine + "\"";
  return wait_for_convergence(session, {{.app = target.app, .selector = selector.empty() ? "*" : selector}});
}

Result<std::string> begin_body(const Options& options, const Target& target, base::JsonText& body) {
  auto terms = rollout_terms(options);
  if (!terms) return terms;
  body.begin_object();
  add_target(body, target);
  if (options.order) body.member("order", *options.order);
  if (options.dry_run) body.member("dry_run", true);
  if (!terms->empty()) body.key("rollout").json(*terms);
  return std::string();
}

// The layer of the target; null when there is none.
Result<Value> find_layer(const Listing& layers, const Target& target) {
  for (const Value& each : layers.items) {
    const std::string kind = text_field(each, "kind");
    const bool is_it = !target.machine.empty()    ? text_field(each, "instance_id") == target.machine
                       : !target.selector.empty() ? text_field(each, "selector") == target.selector
                                                  : kind == "app";
    if (is_it) return each;
  }
  return Value();
}

std::string where_from(const Value& value) {
  const std::string kind = text_field(value, "kind");
  if (kind == "selector") return text_field(value, "selector");
  return kind;
}

}  // namespace

Result<int> var_set_command(Session& session) {
  auto target = target_of(session.options);
  if (!target) return std::move(target).error();
  auto values = values_from(session.options.arguments);
  if (!values) return std::move(values).error();
  base::JsonText body;
  if (auto begun = begin_body(session.options, *target, body); !begun) return std::move(begun).error();
  body.key("set").json(*values);
  return send_change(session, *target, body.end_object().take(), "set");
}

Result<int> var_unset_command(Session& session) {
  auto target = target_of(session.options);
  if (!target) return std::move(target).error();
  base::JsonText body;
  if (auto begun = begin_body(session.options, *target, body); !begun) return std::move(begun).error();
  body.key("unset").begin_list();
  for (const std::string& name : session.options.arguments)
    body.value(name);
  body.end_list();
  return send_change(session, *target, body.end_object().take(), "unset");
}

Result<int> var_get_command(Session& session) {
  auto target = target_of(session.options);
  if (!target) return std::move(target).error();
  auto layers = session.api.list("/variables", {{"app", target->app}}, kMostMachines);
  if (!layers) return std::move(layers).error();
  auto layer = find_layer(*layers, *target);
  if (!layer) return std::move(layer).error();
  const std::string& name = session.options.arguments.front();
  const Value& variables = field(*layer, "variables");
  const Value* variable = variables.find(name);
  if (!variable)
    return Error(ErrorCode::not_found,
                 "'" + name + "' is not set there; 'opsctl var explain MACHINE' shows what a machine has");
  const Value& value = field(*variable, "value");
  if (show_document(session, value)) return kOk;
  session.console.out.line(terminal::printable(text_of(value), true));
  return kOk;
}

Result<int> var_list_command(Session& session) {
  Parameters parameters;
  if (!session.options.app.empty()) parameters.emplace_back("app", session.options.app);
  auto layers =
      session.api.list("/variables", std::move(parameters), session.options.limit.value_or(kMostRows));
  if (!layers) return std::move(layers).error();
  if (session.options.format != Format::table) {
    show_list(session, *layers, Table({}), nullptr, "");
    return kOk;
  }
  Table table({"FOR", "NAME", "VALUE", "APP", ">ORDER", "BY", "SET"});
  const Instant now = ctl::now();
  for (const Value& layer : layers->items)
    for (const base::Member& each : field(layer, "variables").members())
      table.add({{described(layer)},
                 {std::string(each.key)},
                 {text_field(each.value, "value")},
                 {text_field(layer, "app_id")},
                 {text_field(layer, "order")},
                 {text_field(each.value, "author")},
                 {age_text(field(each.value, "at"), now)}});
  if (table.empty())
    session.console.out.line("no variables are set; 'opsctl var set NAME=VALUE -l SELECTOR' does it");
  else
    show_table(session, table);
  if (!layers->next.empty()) session.console.warn("there are more: --limit shows them");
  return kOk;
}

Result<int> var_history_command(Session& session) {
  const Options& options = session.options;
  if (!options.selector.empty() && !options.machine.empty())
    return Error(ErrorCode::invalid, "give --selector or --machine, not both");
  Parameters parameters;
  std::string app = options.app;
  if (!options.machine.empty()) {
    const Machine machine = machine_of(options.machine, options);
    app = machine.app;
    parameters.emplace_back("instance", machine.instance);
  }
  if (!app.empty()) parameters.emplace_back("app", app);
  if (!options.selector.empty()) parameters.emplace_back("selector", options.selector);
  if (!options.arguments.empty()) parameters.emplace_back("name", options.arguments.front());
  constexpr std::size_t kMostShown = 100;
  auto changes =
      session.api.list("/variables/history", std::move(parameters), options.limit.value_or(kMostShown));
  if (!changes) return std::move(changes).error();
  const Instant now = ctl::now();
  show_list(
      session, *changes, Table({"SET", "BY", "FOR", "NAME", "BEFORE", "AFTER", "APP"}),
      [&](const Value& each) {
        return std::vector<Cell>{
            {age_text(field(each, "at"), now)}, {text_field(each, "author")}, {described(each)},
            {text_field(each, "name")},         {text_field(each, "before")}, {text_field(each, "after")},
            {text_field(each, "app_id")}};
      },
      "no variable was ever changed");
  return kOk;
}

Result<int> var_explain_command(Session& session) {
  const Machine machine = machine_of(session.options.arguments.front(), session.options);
  const std::string_view wanted =
      session.options.arguments.size() > 1 ? std::string_view(session.options.arguments[1]) : "";
  Parameters parameters;
  if (!wanted.empty()) parameters.emplace_back("name", wanted.substr(0, wanted.find('.')));
  auto reply = session.api.send(
      {.path = "/instances/" + path_part(machine.app) + "/" + path_part(machine.instance) + "/variables",
       .parameters = std::move(parameters)});
  if (!reply) return std::move(reply).error();
  const Value& answer = reply->document.root();
  if (show_document(session, answer)) return kOk;
  Table table({"VARIABLE", "VALUE", "FROM", "BY", "SET"});
  const Instant now = ctl::now();
  for (const Value& each : items_field(answer, "values")) {
    const std::string path = text_field(each, "path");
    if (!wanted.empty() && path != wanted && !path.starts_with(std::string(wanted) + ".")) continue;
    table.add({{path},
               {text_field(each, "value")},
               {where_from(each)},
               {text_field(each, "author")},
               {age_text(field(each, "at"), now)}});
  }
  if (table.empty())
    session.console.out.line(
        "no such variable is set for it; a recipe's own defaults are in 'opsctl recipe vars'");
  else
    show_table(session, table);
  return kOk;
}

Result<int> recipe_vars_command(Session& session) {
  Parameters parameters;
  if (base::parse_integer(session.options.revision))
    parameters.emplace_back("revision", session.options.revision);
  auto reply =
      session.api.send({.path = "/recipes/" + path_part(session.options.arguments.front()) + "/variables",
                        .parameters = std::move(parameters)});
  if (!reply) return std::move(reply).error();
  const Value& answer = reply->document.root();
  if (show_document(session, answer)) return kOk;
  Table table({"VARIABLE", "TYPE", "DEFAULT", "USED", "NEEDED", "MEANING"});
  for (const Value& each : items_field(answer, "variables"))
    table.add({{text_field(each, "name")},
               {text_field(each, "declaration.type")},
               {text_field(each, "default")},
               {flag_field(each, "used") ? "yes" : "no"},
               {flag_field(each, "required") ? "yes" : "no"},
               {text_field(each, "declaration.doc")}});
  if (table.empty())
    session.console.out.line("the recipe uses no variables");
  else
    show_table(session, table);
  if (flag_field(answer, "uses_all_variables"))
    session.console.out.line("It computes which variables it reads, so its machines get all of theirs.");
  std::string tags;
  for (const Value& tag : items_field(answer, "tags"))
    tags += (tags.empty() ? "" : ", ") + text_of(tag);
  if (flag_field(answer, "uses_all_tags")) tags = "all";
  if (!tags.empty()) session.console.out.line(terminal::printable("Tags that it reads: " + tags));
  return kOk;
}

}  // namespace ctl

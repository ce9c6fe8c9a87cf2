#include "base/text.hpp"
#include "base/values/json.hpp"
#include "base/values/json_text.hpp"
#include "ctl/commands/change_rollouts.hpp"
#include "ctl/commands/commands.hpp"
#include "ctl/commands/convergence.hpp"
#include "ctl/fields.hpp"
#include "ctl/output/show.hpp"
#include "terminal/wrap.hpp"

namespace ctl {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;
using base::Value;

// The fields of an assignment: those that the options give, over those that it has.
std::string body_of(const Options& options, const Value& current, const std::string& terms) {
  base::JsonText body;
  body.begin_object();
  const auto add_text = [&](std::string_view name, const std::string& given) {
    const std::string text = given.empty() ? text_field(current, name) : given;
    if (!text.empty()) body.member(name, text);
  };
  const auto add_number = [&](std::string_view name, std::optional<std::int64_t> given) {
    if (!given) given = field(current, name).as_integer();
    if (given) body.member(name, *given);
  };
  add_text("app_id", current.is_null() ? app_of(options) : "");
  add_text("selector", selector_of(options));
  add_text("recipe", current.is_null() ? options.arguments.front() : options.recipe);
  if (options.revision == "newest")
    body.key("revision").null();
  else if (const auto revision = options.revision.empty() ? field(current, "revision").as_integer()
                                                          : base::parse_integer(options.revision))
    body.member("revision", *revision);
  else
    body.key("revision").null();
  add_number("order", options.order);
  add_text("on_change", options.on_change);
  add_number("round_delay_s", options.round_delay);
  if (!terms.empty()) body.key("rollout").json(terms);
  return body.end_object().take();
}

std::string revision_text(const Value& assignment) {
  const std::string revision = text_field(assignment, "revision");
  return revision.empty() ? "newest" : revision;
}

Result<int> show_placed(Session& session, const Value& assignment, std::string_view verb) {
  if (!show_document(session, assignment)) {
    session.console.out.line(terminal::printable(
        std::string(verb) + " assignment " + text_field(assignment, "id") + ": '" +
        text_field(assignment, "recipe") + "' (" + revision_text(assignment) + ") for " +
        text_field(assignment, "selector") + " in " + text_field(assignment, "app_id") + "; " +
        count_text(static_cast<std::size_t>(number_field(assignment, "matched")), "machine") + " matched, " +
        std::to_string(number_field(assignment, "changed")) + " changed."));
    session.console.out.flush();
    show_rollouts(session, assignment);
  }
  if (const std::string notice = text_field(assignment, "notice"); !notice.empty())
    session.console.warn(terminal::printable(notice));
  show_warnings(session, assignment);
  if (!session.options.wait) return kOk;
  auto followed = follow_rollouts(session, assignment);
  if (!followed) return std::move(followed).error();
  if (*followed) return **followed;
  return wait_for_convergence(
      session, {{.app = text_field(assignment, "app_id"), .selector = text_field(assignment, "selector")}});
}

Result<std::string> path_of_assignment(const std::string& id) {
  const auto number = base::parse_integer(id);
  if (!number)
    return Error(ErrorCode::invalid,
                 "'" + id + "' is not the number of an assignment; 'opsctl assign list' shows them");
  return "/assignments/" + std::to_string(*number);
}

}  // namespace

Result<int> assign_list_command(Session& session) {
  Parameters parameters;
  if (!session.options.app.empty()) parameters.emplace_back("app", session.options.app);
  auto assignments =
      session.api.list("/assignments", std::move(parameters), session.options.limit.value_or(kMostRows));
  if (!assignments) return std::move(assignments).error();
  show_list(
      session, *assignments,
      Table({">ID", "APP", "SELECTOR", "RECIPE", ">REVISION", ">ORDER", "ON CHANGE", ">MACHINES"}),
      [](const Value& each) {
        return std::vector<Cell>{{text_field(each, "id")},        {text_field(each, "app_id")},
                                 {text_field(each, "selector")},  {text_field(each, "recipe")},
                                 {revision_text(each)},           {text_field(each, "order")},
                                 {text_field(each, "on_change")}, {text_field(each, "matched")}};
      },
      "nothing is assigned; 'opsctl assign create RECIPE --selector SELECTOR' does it");
  return kOk;
}

Result<int> assign_create_command(Session& session) {
  if (auto selector = required_selector(session.options); !selector) return std::move(selector).error();
  auto terms = rollout_terms(session.options);
  if (!terms) return std::move(terms).error();
  auto reply = session.api.send(
      {.method = "POST", .path = "/assignments", .body = body_of(session.options, Value(), *terms)});
  if (!reply) return std::move(reply).error();
  return show_placed(session, reply->document.root(), "Created");
}

Result<int> assign_edit_command(Session& session) {
  auto path = path_of_assignment(session.options.arguments.front());
  if (!path) return std::move(path).error();
  auto terms = rollout_terms(session.options);
  if (!terms) return std::move(terms).error();
  auto current = session.api.send({.path = *path});
  if (!current) return std::move(current).error();
  auto reply = session.api.send({.method = "PUT",
                                 .path = *path,
                                 .body = body_of(session.options, current->document.root(), *terms),
                                 .if_match = current->etag});
  if (!reply) return std::move(reply).error();
  return show_placed(session, reply->document.root(), "Changed");
}

Result<int> assign_remove_command(Session& session) {
  auto path = path_of_assignment(session.options.arguments.front());
  if (!path) return std::move(path).error();
  auto current = session.api.send({.path = *path});
  if (!current) return std::move(current).error();
  auto terms = rollout_terms(session.options);
  if (!terms) return std::move(terms).error();
  Parameters parameters;
  if (!terms->empty()) parameters.emplace_back("rollout", *terms);
  auto reply = session.api.send(
      {.method = "DELETE", .path = *path, .parameters = std::move(parameters), .if_match = current->etag});
  if (!reply) return std::move(reply).error();
  if (show_document(session, reply->document.root())) return kOk;
  const Value& changed = field(reply->document.root(), "changed");
  session.console.out.line("Removed assignment " + session.options.arguments.front() +
                           (changed.is_null() ? "." : "; " + text_of(changed) + " changed."));
  show_rollouts(session, reply->document.root());
  if (!session.options.wait) return kOk;
  auto followed = follow_rollouts(session, reply->document.root());
  if (!followed) return std::move(followed).error();
  if (*followed) return **followed;
  return kOk;
}

}  // namespace ctl

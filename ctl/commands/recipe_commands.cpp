
#include <algorithm>

#include "base/diff.hpp"
#include "base/text.hpp"
#include "base/values/json.hpp"
#include "base/values/json_text.hpp"
#include "ctl/commands/change_rollouts.hpp"
#include "ctl/commands/commands.hpp"
#include "ctl/commands/convergence.hpp"
#include "ctl/fields.hpp"
#include "ctl/output/show.hpp"
#include "ctl/recipe_file.hpp"
#include "ctl/time_text.hpp"
#include "terminal/diff_text.hpp"
#include "terminal/wrap.hpp"

namespace ctl {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;
using base::Value;

constexpr std::size_t kLargestRecipePage = 1000;  // of revisions; older ones are seldom asked for
constexpr std::size_t kMostDiffLines = 10'000;

// "site/web.yaml" -> "web"
std::string name_of_file(std::string_view file) {
  if (const std::size_t slash = file.rfind('/'); slash != std::string_view::npos)
    file.remove_prefix(slash + 1);
  return std::string(file.substr(0, file.rfind('.')));
}

bool is_json(std::string_view file, std::string_view text) {
  if (file.ends_with(".json")) return true;
  if (file.ends_with(".yaml") || file.ends_with(".yml")) return false;
  const std::string_view trimmed = base::trim(text);
  return trimmed.starts_with('{') || trimmed.starts_with('[');
}

std::string path_of_recipe(std::string_view name) {
  return "/recipes/" + path_part(name);
}

Result<std::int64_t> newest_revision(Session& session, const std::string& name) {
  auto reply = session.api.send({.path = path_of_recipe(name)});
  if (!reply && reply.error().code() == ErrorCode::not_found)
    return Error(ErrorCode::not_found, reply.error().message() + "\n'opsctl recipe list' lists the recipes");
  if (!reply) return std::move(reply).error();
  std::int64_t newest = 0;
  for (const Value& each : items_field(reply->document.root(), "revisions"))
    newest = std::max(newest, number_field(each, "revision"));
  return newest;
}

// The text as it was uploaded.
Result<std::string> read_revision(Session& session, const std::string& name, std::int64_t revision) {
  auto reply = session.api.send({.path = path_of_recipe(name) + "/revisions/" + std::to_string(revision)});
  if (!reply) return std::move(reply).error();
  const Value& content = field(reply->document.root(), "content");
  return content.is_text() ? std::string(content.text()) : reply->document.text();
}

struct Side {
  std::string label;
  std::string text;
};

Result<Side> read_side(Session& session, const std::string& name, const std::string& which) {
  if (const auto revision = base::parse_integer(which)) {
    auto text = read_revision(session, name, *revision);
    if (!text) return std::move(text).error();
    return Side{.label = name + " revision " + which, .text = std::move(*text)};
  }
  auto text = read_recipe(which);
  if (!text) return std::move(text).error();
  return Side{.label = which, .text = std::move(*text)};
}

// Who follows the newest revision of it.
Result<std::vector<MachineGroup>> followers(Session& session, const std::string& name) {
  auto assignments = session.api.list("/assignments", {}, kMostRows);
  if (!assignments) return std::move(assignments).error();
  std::vector<MachineGroup> groups;
  for (const Value& each : assignments->items)
    if (text_field(each, "recipe") == name && field(each, "revision").is_null())
      groups.push_back({.app = text_field(each, "app_id"), .selector = text_field(each, "selector")});
  return groups;
}

// Who does not get what was pushed, and what would give it to them.
void show_pinned(Session& session, const Value& pushed) {
  const auto all = static_cast<std::size_t>(number_field(pushed, "pinned"));
  if (all == 0) return;
  const bool has_followers = number_field(pushed, "affected") > 0;
  std::string text = count_text(all, "assignment") + (all == 1 ? " is" : " are") +
                     " pinned to an earlier revision and " + (all == 1 ? "does" : "do") +
                     " not get this one" + (has_followers ? ":" : "; nobody follows the recipe:");
  const auto named = items_field(pushed, "pinned_assignments");
  for (const Value& each : named)
    text += "\n  " + text_field(each, "id") + ": revision " + text_field(each, "revision") + " for " +
            text_field(each, "selector") + " in " + text_field(each, "app_id");
  if (all > named.size()) text += "\n  and " + std::to_string(all - named.size()) + " more";
  if (!named.empty())
    text += "\n'opsctl assign edit " + text_field(named.front(), "id") + " --revision " +
            text_field(pushed, "revision") + "' gives it to them, --revision newest this and all later ones";
  session.console.warn(terminal::printable(text, true));
}

// After a push or what works like one.
Result<int> show_pushed(Session& session, const std::string& name, const Reply& reply) {
  const Value& root = reply.document.root();
  if (!show_document(session, root)) {
    const std::string revision = "revision " + text_field(root, "revision");
    const std::size_t states = static_cast<std::size_t>(number_field(root, "states"));
    if (reply.status == 200)
      session.console.out.line("Recipe '" + terminal::printable(name) + "' is unchanged: " + revision + ".");
    else
      session.console.out.line(
          "Recipe '" + terminal::printable(name) + "' " + revision + ": " + count_text(states, "state") +
          ", " + count_text(static_cast<std::size_t>(number_field(root, "affected")), "machine") +
          " affected.");
    if (const std::string repo = text_field(root, "module.repo"); !repo.empty())
      session.console.out.line(
          "Modules: " + terminal::printable(repo + " at " + text_field(root, "module.tag")) +
          (flag_field(root, "module.checked")
               ? ", commit " + terminal::printable(text_field(root, "module.commit")) + "."
               : ", not checked."));
    session.console.out.flush();
    show_rollouts(session, root);
  }
  show_warnings(session, root);
  show_pinned(session, root);
  if (!session.options.wait) return kOk;
  auto followed = follow_rollouts(session, root);
  if (!followed) return std::move(followed).error();
  if (*followed) return **followed;
  auto groups = followers(session, name);
  if (!groups) return std::move(groups).error();
  return wait_for_convergence(session, *groups);
}

}  // namespace

Result<int> recipe_push_command(Session& session) {
  const std::string& file = session.options.arguments.back();
  if (session.options.arguments.size() == 1 && file == "-")
    return Error(ErrorCode::invalid, "what is it called? opsctl recipe push NAME -");
  const std::string name =
      session.options.arguments.size() == 2 ? session.options.arguments.front() : name_of_file(file);
  auto text = read_recipe(file);
  if (!text) return std::move(text).error();
  Parameters parameters;
  if (!session.options.app.empty()) parameters.emplace_back("app", session.options.app);
  if (!session.options.owner.empty()) parameters.emplace_back("owner", session.options.owner);
  if (!session.options.message.empty()) parameters.emplace_back("message", session.options.message);
  auto terms = rollout_terms(session.options);
  if (!terms) return std::move(terms).error();
  if (!terms->empty()) parameters.emplace_back("rollout", *terms);
  auto reply =
      session.api.send({.method = "POST",
                        .path = path_of_recipe(name) + "/revisions",
                        .parameters = std::move(parameters),
                        .body = *text,
                        .content_type = is_json(file, *text) ? "application/json" : "application/yaml",
                        .source = file == "-" ? "<stdin>" : file});
  if (!reply) return std::move(reply).error();
  return show_pushed(session, name, *reply);
}

Result<int> recipe_rollback_command(Session& session) {
  const Options& options = session.options;
  const std::string& name = options.arguments.front();
  base::JsonText body;
  body.begin_object();
  if (!options.to.empty()) {
    const auto revision = base::parse_integer(options.to);
    if (!revision || *revision < 1)
      return Error(ErrorCode::invalid,
                   "--to must be the number of a revision; 'opsctl recipe list " + name + "' shows them");
    body.member("to", *revision);
  }
  if (!options.owner.empty()) body.member("owner", options.owner);
  if (!options.message.empty()) body.member("message", options.message);
  auto terms = rollout_terms(options);
  if (!terms) return std::move(terms).error();
  if (!terms->empty()) body.key("rollout").json(*terms);
  auto reply = session.api.send(
      {.method = "POST", .path = path_of_recipe(name) + "/rollback", .body = body.end_object().take()});
  if (!reply) return std::move(reply).error();
  return show_pushed(session, name, *reply);
}

Result<int> recipe_list_command(Session& session) {
  const Instant at = now();
  if (session.options.arguments.empty()) {
    auto recipes = session.api.list("/recipes", {}, session.options.limit.value_or(kMostRows));
    if (!recipes) return std::move(recipes).error();
    show_list(
        session, *recipes,
        Table({"RECIPE", ">REVISION", ">STATES", "CREATED", "AUTHOR", "MESSAGE", "OWNER", "DIGEST"}),
        [&](const Value& each) {
          const auto revisions = items_field(each, "revisions");  // newest first; or the newest alone
          const Value& newest = revisions.empty() ? each : revisions.front();
          std::string number = text_field(newest, "revision");
          if (number.empty()) number = text_field(each, "newest");
          return std::vector<Cell>{{text_field(each, "name"), terminal::Style::bold},
                                   {number},
                                   {text_field(newest, "states")},
                                   {age_text(field(newest, "created"), at)},
                                   {text_field(newest, "author")},
                                   {text_field(newest, "message")},
                                   {text_field(each, "owner")},
                                   {text_field(newest, "digest").substr(0, 12)}};
        },
        "there are no recipes; 'opsctl recipe push FILE' uploads one");
    return kOk;
  }
  auto reply = session.api.send(
      {.path = path_of_recipe(session.options.arguments.front()),
       .parameters = {{"limit", std::to_string(std::min(session.options.limit.value_or(kMostRows),
                                                        kLargestRecipePage))}}});
  if (!reply) return std::move(reply).error();
  if (show_document(session, reply->document.root())) return kOk;
  Table table({">REVISION", ">STATES", "CREATED", "AUTHOR", "MESSAGE", "DIGEST"});
  for (const Value& each : items_field(reply->document.root(), "revisions"))
    table.add({{text_field(each, "revision")},
               {text_field(each, "states")},
               {age_text(field(each, "created"), at)},
               {text_field(each, "author")},
               {text_field(each, "message")},
               {text_field(each, "digest").substr(0, 12)}});
  show_table(session, table);
  return kOk;
}

Result<int> recipe_show_command(Session& session) {
  const std::string& name = session.options.arguments.front();
  std::optional<std::int64_t> revision = base::parse_integer(session.options.revision);
  if (!revision) {
    auto newest = newest_revision(session, name);
    if (!newest) return std::move(newest).error();
    revision = *newest;
  }
  auto text = read_revision(session, name, *revision);
  if (!text) return std::move(text).error();
  const std::vector<base::Member> members{{.key = "name", .value = Value::string(name)},
                                          {.key = "revision", .value = Value::integer(*revision)},
                                          {.key = "content", .value = Value::string(*text)}};
  if (show_document(session, Value::object(members))) return kOk;
  // To a file it goes as it is, to a terminal without what could play with it.
  session.console.out.write(::isatty(STDOUT_FILENO) == 1 ? terminal::printable(*text, true) : *text);
  if (!text->ends_with('\n') && ::isatty(STDOUT_FILENO) == 1) session.console.out.write("\n");
  return kOk;
}

Result<int> recipe_owner_command(Session& session) {
  const std::string& name = session.options.arguments.front();
  const std::string& owner = session.options.owner;
  if (owner.empty()) {
    auto reply = session.api.send({.path = path_of_recipe(name), .parameters = {{"limit", "1"}}});
    if (!reply) return std::move(reply).error();
    const std::vector<base::Member> members{
        {.key = "name", .value = Value::string(name)},
        {.key = "owner", .value = field(reply->document.root(), "owner")}};
    if (show_document(session, Value::object(members))) return kOk;
    const std::string scope = text_field(reply->document.root(), "owner");
    session.console.out.line(terminal::printable("Recipe '" + name + "' belongs to " +
                                                 (scope.empty() ? "tokens without a scope" : scope) + "."));
    return kOk;
  }
  base::JsonText body;
  body.begin_object().key("owner");
  if (owner == "none")
    body.null();
  else
    body.value(owner);
  auto reply = session.api.send(
      {.method = "PUT", .path = path_of_recipe(name) + "/owner", .body = body.end_object().take()});
  if (!reply) return std::move(reply).error();
  if (show_document(session, reply->document.root())) return kOk;
  const std::string scope = text_field(reply->document.root(), "owner");
  session.console.out.line(terminal::printable("Recipe '" + name + "' belongs to " +
                                               (scope.empty() ? "tokens without a scope" : scope) +
                                               " from now on."));
  return kOk;
}

Result<int> recipe_diff_command(Session& session) {
  const std::vector<std::string>& arguments = session.options.arguments;
  const std::string& name = arguments.front();
  std::string from = arguments.size() > 1 ? arguments[1] : "";
  std::string to = arguments.size() > 2 ? arguments[2] : "";
  if (to.empty()) {
    auto newest = newest_revision(session, name);
    if (!newest) return std::move(newest).error();
    if (from.empty() && *newest < 2)
      return Error(ErrorCode::not_found, "recipe '" + name + "' has one revision only; 'opsctl recipe diff " +
                                             name + " FILE' compares it");
    if (from.empty()) from = std::to_string(*newest - 1);
    to = std::to_string(*newest);
    if (!base::parse_integer(from)) std::swap(from, to);  // a file: what pushing it would change
  }
  auto before = read_side(session, name, from);
  if (!before) return std::move(before).error();
  auto after = read_side(session, name, to);
  if (!after) return std::move(after).error();
  const std::string diff = base::unified_diff(before->text, after->text, kMostDiffLines);
  const std::vector<base::Member> members{{.key = "from", .value = Value::string(before->label)},
                                          {.key = "to", .value = Value::string(after->label)},
                                          {.key = "diff", .value = Value::string(diff)}};
  if (!show_document(session, Value::object(members)) && !diff.empty()) {
    session.console.out.line(
        session.console.paint(terminal::Style::bold, terminal::printable("--- " + before->label)));
    session.console.out.line(
        session.console.paint(terminal::Style::bold, terminal::printable("+++ " + after->label)));
    session.console.out.write(terminal::diff_text(diff, "", session.console.paint));
  }
  return session.options.exit_code && !diff.empty() ? kChanges : kOk;
}

}  // namespace ctl

#include "base/values/json.hpp"
#include "base/values/json_text.hpp"
#include "ctl/commands/change_rollouts.hpp"
#include "ctl/commands/commands.hpp"
#include "ctl/fields.hpp"
#include "ctl/output/show.hpp"
#include "ctl/time_text.hpp"
#include "terminal/wrap.hpp"

namespace ctl {

namespace {

using base::Value;

// "off", or how far it relies on what its machines say of themselves.
Cell trust_cell(const Value& app) {
  const std::string trust = text_field(app, "trust_self_reported");
  return trust.empty() || trust == "off" ? Cell{trust} : Cell{trust, terminal::Style::yellow};
}

// How changes go out: "10,50,100", or "at once".
std::string pace_text(const Value& app) {
  std::string text;
  for (const Value& part : items_field(app, "rings"))
    text += (text.empty() ? "" : ",") + text_of(part);
  return text.empty() ? "at once" : text;
}

// "web1, web2"; of many the backend names the first.
std::string names_text(const Value& dependence, std::string_view member) {
  constexpr std::size_t kMostNamed = 20;
  std::string text;
  const auto names = items_field(dependence, member);
  for (const Value& name : names)
    text += (text.empty() ? "" : ", ") + text_of(name);
  return names.size() < kMostNamed ? text : text + ", …";
}

// "module", as --module-repo and --module-tag say it; the one that is not given stays. Nothing without both.
base::Result<void> add_module(const Options& options, const Value& app, base::JsonText& body) {
  if (options.module_repo.empty() && options.module_tag.empty()) return {};
  if (options.module_repo == "none") {
    body.member("module", "");
    return {};
  }
  const auto kept = [&](const std::string& given, std::string_view member) {
    return given.empty() ? text_field(app, member) : given;
  };
  const std::string repo = kept(options.module_repo, "module.repo");
  const std::string tag = kept(options.module_tag, "module.tag");
  if (repo.empty() || tag.empty())
    return base::Error(base::ErrorCode::invalid, "--module-repo and --module-tag go together");
  body.key("module").begin_object().member("repo", repo).member("tag", tag).end_object();
  return {};
}

}  // namespace

base::Result<int> app_list_command(Session& session) {
  auto apps = session.api.list("/apps", {}, session.options.limit.value_or(kMostRows));
  if (!apps) return std::move(apps).error();
  const Instant at = now();
  show_list(
      session, *apps, Table({"APP", "REPORTS", "AGENT VERSION", "RELIES ON WORDS", "CHANGES", "CREATED"}),
      [&](const base::Value& app) {
        return std::vector<Cell>{{text_field(app, "app_id")},
                                 {text_field(app, "report")},
                                 {text_field(app, "agent_version")},
                                 trust_cell(app),
                                 {pace_text(app)},
                                 {age_text(field(app, "created"), at)}};
      },
      "there are no apps; 'opsctl app create NAME' makes one");
  return kOk;
}

base::Result<int> app_create_command(Session& session) {
  const std::string& name = session.options.arguments.front();
  Request request{.method = "PUT", .path = "/apps/" + path_part(name)};
  // An app that exists is edited as it was last seen; what was not given stays.
  auto existing = session.api.send({.path = request.path});
  if (existing)
    request.if_match = existing->etag;
  else if (existing.error().code() != base::ErrorCode::not_found)
    return std::move(existing).error();
  const auto kept = [&](const std::string& given, std::string_view member) {
    return given.empty() && existing ? text_field(existing->document.root(), member) : given;
  };
  const std::string report = kept(session.options.report, "report");
  const std::string version = kept(session.options.agent_version, "agent_version");
  base::JsonText body;
  body.begin_object();
  if (!report.empty()) body.member("report", report);
  if (!version.empty()) body.member("agent_version", version == "none" ? "" : version);
  if (!session.options.trust_self_reported.empty())
    body.member("trust_self_reported", session.options.trust_self_reported);
  if (!session.options.compat.empty())
    body.member("compat", session.options.compat == "none" ? "" : session.options.compat);
  if (!session.options.rings.empty()) {
    auto rings = rings_json(session.options.rings);
    if (!rings) return std::move(rings).error();
    body.key("rings").json(*rings);
  }
  if (auto added = add_module(session.options, existing ? existing->document.root() : Value(), body); !added)
    return std::move(added).error();
  request.body = body.end_object().take();
  auto reply = session.api.send(request);
  if (!reply) return std::move(reply).error();
  if (!session.options.trust_self_reported.empty()) show_warnings(session, reply->document.root());
  if (show_document(session, reply->document.root())) return kOk;
  const std::string pinned = terminal::printable(text_field(reply->document.root(), "agent_version"));
  session.console.out.line("App '" + name + "' " + (existing ? "is changed" : "is there") + ": it reports " +
                           text_field(reply->document.root(), "report") +
                           (pinned.empty() ? "" : ", and its agents should have version " + pinned) + ".");
  if (const std::int64_t changed = number_field(reply->document.root(), "changed"); changed > 0)
    session.console.out.line(count_text(static_cast<std::size_t>(changed), "machine") +
                             " get another recipe by that.");
  return kOk;
}

base::Result<int> app_show_command(Session& session) {
  const std::string path = "/apps/" + path_part(session.options.arguments.front());
  auto app = session.api.send({.path = path});
  if (!app) return std::move(app).error();
  auto words = session.api.send({.path = path + "/self-reported"});
  if (!words) return std::move(words).error();
  const Value& root = app->document.root();
  const Value& dependences = words->document.root();
  if (session.options.format != Format::table) {
    std::vector<base::Member> members(root.members().begin(), root.members().end());
    members.push_back({.key = "self_reported", .value = field(dependences, "items")});
    show_document(session, Value::object(members));
    return kOk;
  }
  session.console.out.line(terminal::printable(
      "App '" + text_field(root, "app_id") + "' reports " + text_field(root, "report") +
      "; what its machines say of themselves counts: " + text_field(root, "trust_self_reported") +
      "; changes go out: " + pace_text(root) + "." +
      (text_field(root, "module.repo").empty()
           ? ""
           : " Its recipes use the modules of " + text_field(root, "module.repo") + " at " +
                 text_field(root, "module.tag") + ".")));
  Table table({"WHAT", "RECIPE", "SELECTOR", ">NOW", ">IF OFF", "LOSES", "GAINS", "CLAIMED BY"});
  for (const Value& each : items_field(dependences, "items")) {
    table.add({{text_field(each, "kind") + " " + text_field(each, "assignment")},
               {text_field(each, "recipe")},
               {text_field(each, "selector")},
               {text_field(each, "matched")},
               {text_field(each, "matched_if_off")},
               {names_text(each, "loses"), terminal::Style::red},
               {names_text(each, "gains"), terminal::Style::yellow},
               {names_text(each, "claims"), terminal::Style::dim}});
  }
  if (table.empty()) {
    session.console.out.line("Nothing in it rests on that: --trust-self-reported off would change nothing.");
    return kOk;
  }
  session.console.out.line("What rests on it, and what 'opsctl app create " +
                           terminal::printable(text_field(root, "app_id")) +
                           " --trust-self-reported off' would change:");
  session.console.out.write(table.text(session.console.paint, output_width()));
  return kOk;
}

}  // namespace ctl

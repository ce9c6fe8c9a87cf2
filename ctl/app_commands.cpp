#include "base/json.hpp"
#include "base/json_text.hpp"
#include "ctl/commands.hpp"
#include "ctl/fields.hpp"
#include "ctl/show.hpp"
#include "ctl/time_text.hpp"
#include "terminal/wrap.hpp"

namespace ctl {

namespace {}  // namespace

base::Result<int> app_list_command(Session& session) {
  auto apps = session.api.list("/apps", {}, session.options.limit.value_or(kMostRows));
  if (!apps) return std::move(apps).error();
  const Instant at = now();
  show_list(
      session, *apps, Table({"APP", "REPORTS", "AGENT VERSION", "CREATED"}),
      [&](const base::Value& app) {
        return std::vector<Cell>{{text_field(app, "app_id")},
                                 {text_field(app, "report")},
                                 {text_field(app, "agent_version")},
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
  if (!version.empty() && version != "none") body.member("agent_version", version);
  request.body = body.end_object().take();
  auto reply = session.api.send(request);
  if (!reply) return std::move(reply).error();
  if (show_document(session, reply->document.root())) return kOk;
  const std::string pinned = terminal::printable(text_field(reply->document.root(), "agent_version"));
  session.console.out.line("App '" + name + "' " + (existing ? "is changed" : "is there") + ": it reports " +
                           text_field(reply->document.root(), "report") +
                           (pinned.empty() ? "" : ", and its agents should have version " + pinned) + ".");
  return kOk;
}

}  // namespace ctl

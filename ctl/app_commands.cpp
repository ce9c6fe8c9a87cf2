#include "base/json.hpp"
#include "base/json_text.hpp"
#include "ctl/commands.hpp"
#include "ctl/fields.hpp"
#include "ctl/show.hpp"
#include "ctl/time_text.hpp"

namespace ctl {

namespace {

constexpr std::size_t kAll = 10'000;

}  // namespace

base::Result<int> app_list_command(Session& session) {
  auto apps = session.api.list("/apps", {}, session.options.limit.value_or(kAll));
  if (!apps) return std::move(apps).error();
  const Instant at = now();
  show_list(
      session, *apps, Table({"APP", "REPORTS", "CREATED"}),
      [&](const base::Value& app) {
        return std::vector<Cell>{
            {text_field(app, "app_id")}, {text_field(app, "report")}, {age_text(field(app, "created"), at)}};
      },
      "there are no apps; 'opsctl app create NAME' makes one");
  return kOk;
}

base::Result<int> app_create_command(Session& session) {
  const std::string& name = session.options.arguments.front();
  base::JsonText body;
  body.begin_object();
  if (!session.options.report.empty()) body.member("report", session.options.report);
  Request request{.method = "PUT", .path = "/apps/" + path_part(name), .body = body.end_object().take()};
  // An app that exists is edited as it was last seen.
  auto existing = session.api.send({.path = request.path});
  if (existing)
    request.if_match = existing->etag;
  else if (existing.error().code() != base::ErrorCode::not_found)
    return std::move(existing).error();
  auto reply = session.api.send(request);
  if (!reply) return std::move(reply).error();
  if (show_document(session, reply->document.root())) return kOk;
  session.console.out.line("App '" + name + "' " + (existing ? "is changed" : "is there") + ": it reports " +
                           text_field(reply->document.root(), "report") + ".");
  return kOk;
}

}  // namespace ctl

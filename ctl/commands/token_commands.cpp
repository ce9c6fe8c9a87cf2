// Access tokens of operators, and join tokens of machines.
#include <algorithm>

#include "base/values/json_text.hpp"
#include "ctl/commands/commands.hpp"
#include "ctl/fields.hpp"
#include "ctl/output/show.hpp"
#include "ctl/time_text.hpp"
#include "terminal/wrap.hpp"

namespace ctl {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;
using base::Value;
using terminal::printable;
using terminal::Style;

// Whether its end is near: two weeks, or the last quarter of a shorter life, as the backend has it.
bool ends_soon(const Value& token, Instant at) {
  const auto expires = instant_of(field(token, "expires"));
  if (!expires || *expires <= at || !field(token, "revoked").is_null()) return false;
  const auto created = instant_of(field(token, "created")).value_or(at);
  return *expires - at <= std::min<Instant::duration>(std::chrono::days(14), (*expires - created) / 4);
}

// "good", or how it ended or is about to.
Cell standing_cell(const Value& token, Instant at) {
  if (!field(token, "revoked").is_null())
    return {"revoked " + age_text(field(token, "revoked"), at), Style::red};
  const auto expires = instant_of(field(token, "expires"));
  if (expires && *expires <= at) return {"expired " + age_text(field(token, "expires"), at), Style::red};
  if (token.find("uses_left") && number_field(token, "uses_left") == 0) return {"used up", Style::dim};
  if (ends_soon(token, at)) return {"ends soon", Style::yellow};
  return {"good", Style::green};
}

Result<void> add_life(const Options& options, base::JsonText& body) {
  if (options.ttl.empty()) return {};
  auto life = parse_duration(options.ttl, "--ttl");
  if (!life) return std::move(life).error();
  body.member("ttl_s", life->count());
  return {};
}

// The secret alone on standard output, so that it can go into a file; the rest on standard error.
void show_secret(Session& session, const Value& root, const std::string& about) {
  session.console.err.line(printable(about));
  session.console.out.line(printable(text_field(root, "token")));
}

}  // namespace

Result<int> token_create_command(Session& session) {
  const Options& options = session.options;
  base::JsonText body;
  body.begin_object().member("name", options.arguments.front());
  body.member("role", options.role.empty() ? "viewer" : options.role);
  if (!options.scope.empty()) body.member("scope", options.scope);
  if (options.ttl == "never")
    body.member("ttl_s", "never");
  else if (auto life = add_life(options, body); !life)
    return std::move(life).error();
  auto reply = session.api.send({.method = "POST", .path = "/tokens", .body = body.end_object().take()});
  if (!reply) return std::move(reply).error();
  const Value& root = reply->document.root();
  show_warnings(session, root);
  if (show_document(session, root)) return kOk;
  const std::string scope = text_field(root, "scope");
  const std::string until = until_text(field(root, "expires"), now());
  show_secret(session, root,
              "Token '" + text_field(root, "name") + "', " + text_field(root, "role") +
                  (scope.empty() ? " for all machines" : " for " + scope) +
                  (until.empty() ? ", does not expire" : ", expires " + until) + ". It is shown only now:");
  return kOk;
}

Result<int> token_list_command(Session& session) {
  auto tokens = session.api.list("/tokens", {}, session.options.limit.value_or(kMostRows));
  if (!tokens) return std::move(tokens).error();
  const Instant at = now();
  show_list(
      session, *tokens,
      Table({"NAME", "ROLE", "STANDING", "SCOPE", "EXPIRES", "LAST USED", "MADE", "MADE BY"}),
      [&](const Value& each) {
        return std::vector<Cell>{{text_field(each, "name"), Style::bold},
                                 {text_field(each, "role")},
                                 standing_cell(each, at),
                                 {text_field(each, "scope")},
                                 {until_text(field(each, "expires"), at)},
                                 {age_text(field(each, "last_used"), at)},
                                 {age_text(field(each, "created"), at)},
                                 {text_field(each, "created_by")}};
      },
      "there are no tokens");
  std::string soon;
  for (const Value& each : tokens->items)
    if (ends_soon(each, at))
      soon += (soon.empty() ? "" : ", ") + text_field(each, "name") + " (" +
              until_text(field(each, "expires"), at) + ")";
  if (!soon.empty())
    session.console.warn(
        printable("these end soon: " + soon + "; 'opsctl token create' makes a new one under another name"));
  return kOk;
}

Result<int> token_revoke_command(Session& session) {
  const std::string& name = session.options.arguments.front();
  auto reply = session.api.send({.method = "DELETE", .path = "/tokens/" + path_part(name)});
  if (!reply) return std::move(reply).error();
  session.console.out.line(printable("Token '" + name + "' is revoked."));
  return kOk;
}

Result<int> join_token_create_command(Session& session) {
  const Options& options = session.options;
  if (options.instances.size() > 1)
    return Error(ErrorCode::invalid, "one --instance, or none: a token each for several machines");
  base::JsonText body;
  body.begin_object().member("app_id", app_of(options));
  if (!options.instances.empty())
    body.member("instance_id", machine_of(options.instances.front(), options).instance);
  if (!options.name_pattern.empty()) body.member("name", options.name_pattern);
  if (options.approve) body.member("approve", true);
  if (!options.tags.empty()) {
    body.key("tags").begin_object();
    for (const std::string& tag : options.tags) {
      const std::size_t equals = tag.find('=');
      if (equals == std::string::npos || equals == 0)
        return Error(ErrorCode::invalid, "--tag must be KEY=VALUE, not '" + tag + "'");
      body.member(tag.substr(0, equals), tag.substr(equals + 1));
    }
    body.end_object();
  }
  if (options.uses) body.member("uses", *options.uses);
  if (auto life = add_life(options, body); !life) return std::move(life).error();
  auto reply = session.api.send({.method = "POST", .path = "/join-tokens", .body = body.end_object().take()});
  if (!reply) return std::move(reply).error();
  const Value& root = reply->document.root();
  if (show_document(session, root)) return kOk;
  const std::string instance = text_field(root, "instance_id"), names = text_field(root, "name");
  show_secret(session, root,
              "Join token " + text_field(root, "id") + " for " +
                  (instance.empty() ? "machines of the app '" + text_field(root, "app_id") + "'"
                                    : text_field(root, "app_id") + "/" + instance) +
                  (names.empty() ? "" : ", names " + names) +
                  (flag_field(root, "approve") ? ", to be approved" : "") + ", " +
                  count_text(static_cast<std::size_t>(number_field(root, "uses")), "use") + ", expires " +
                  until_text(field(root, "expires"), now()) + ". It is shown only now:");
  return kOk;
}

Result<int> join_token_list_command(Session& session) {
  auto tokens = session.api.list("/join-tokens", {}, session.options.limit.value_or(kMostRows));
  if (!tokens) return std::move(tokens).error();
  const Instant at = now();
  show_list(
      session, *tokens,
      Table(
          {"ID", "APP", "INSTANCE", "NAMES", "STANDING", ">USES LEFT", "EXPIRES", "TAGS", "MADE", "MADE BY"}),
      [&](const Value& each) {
        return std::vector<Cell>{{text_field(each, "id"), Style::bold},
                                 {text_field(each, "app_id")},
                                 {text_field(each, "instance_id")},
                                 {text_field(each, "name")},
                                 standing_cell(each, at),
                                 {text_field(each, "uses_left") + " of " + text_field(each, "uses")},
                                 {until_text(field(each, "expires"), at)},
                                 {pairs_text(field(each, "tags"))},
                                 {age_text(field(each, "created"), at)},
                                 {text_field(each, "created_by")}};
      },
      "there are no join tokens; 'opsctl join-token create' makes one");
  return kOk;
}

Result<int> join_token_revoke_command(Session& session) {
  const std::string& id = session.options.arguments.front();
  auto reply = session.api.send({.method = "DELETE", .path = "/join-tokens/" + path_part(id)});
  if (!reply) return std::move(reply).error();
  session.console.out.line(printable("Join token " + id + " is revoked."));
  return kOk;
}

}  // namespace ctl

// The backend's authority: who vouches for it and for its agents, and how one follows the other.
#include "base/values/json_text.hpp"
#include "ctl/commands/commands.hpp"
#include "ctl/fields.hpp"
#include "ctl/output/show.hpp"
#include "ctl/time_text.hpp"
#include "terminal/wrap.hpp"

namespace ctl {

namespace {

using base::Result;
using base::Value;
using terminal::printable;
using terminal::Style;

// Enough to tell them apart.
constexpr std::size_t kShownHash = 16;

void show_authorities(Session& session, const Value& root) {
  const Instant at = now();
  Table table({"ROLE", "AUTHORITY", ">MACHINES", ">JOIN TOKENS", "EXPIRES", "CA HASH"});
  for (const Value& each : items_field(root, "items"))
    table.add({{text_field(each, "role"), Style::bold},
               {text_field(each, "subject")},
               {text_field(each, "machines")},
               {text_field(each, "join_tokens")},
               {until_text(field(each, "expires"), at)},
               {text_field(each, "ca_hash").substr(0, kShownHash)}});
  session.console.out.write(table.text(session.console.paint, output_width()));
}

void show_relying(Session& session, const Value& root) {
  const auto count = static_cast<std::size_t>(number_field(root, "relying_count"));
  auto& out = session.console.out;
  if (!flag_field(root, "changing")) return;
  if (count == 0) {
    out.line("Nobody relies on the old authority any more: 'opsctl ca retire' ends the change.");
    return;
  }
  out.line(count_text(count, "machine") + (count == 1 ? " still relies" : " still rely") +
           " on the old authority:");
  const Instant at = now();
  Table table({"APP", "INSTANCE", "SEEN", "AGENT"});
  const auto some = items_field(root, "relying");
  for (const Value& each : some)
    table.add({{text_field(each, "app_id")},
               {text_field(each, "instance_id"), Style::bold},
               flag_field(each, "online") ? Cell{"online", Style::green}
                                          : Cell{age_text(field(each, "last_seen"), at), Style::red},
               {text_field(each, "agent_version")}});
  out.write(table.text(session.console.paint, output_width()));
  if (count > some.size()) out.line("and " + std::to_string(count - some.size()) + " more");
}

void show_status(Session& session, const Value& root) {
  show_authorities(session, root);
  show_relying(session, root);
}

}  // namespace

Result<int> ca_status_command(Session& session) {
  auto reply = session.api.send({.path = "/authorities/status"});
  if (!reply) return std::move(reply).error();
  const Value& root = reply->document.root();
  if (!show_document(session, root)) show_status(session, root);
  return kOk;
}

Result<int> ca_rotate_command(Session& session) {
  auto reply = session.api.send({.method = "POST", .path = "/authorities/rotate"});
  if (!reply) return std::move(reply).error();
  const Value& root = reply->document.root();
  if (show_document(session, root)) return kOk;
  session.console.out.line(
      "The next authority is announced to the machines. Each takes a certificate of it, those that are "
      "offline "
      "when they come back; 'opsctl ca status' shows how far it is.");
  show_authorities(session, root);
  return kOk;
}

Result<int> ca_retire_command(Session& session) {
  base::JsonText body;
  body.begin_object().member("force", session.options.force).end_object();
  auto reply = session.api.send({.method = "POST", .path = "/authorities/retire", .body = body.take()});
  if (!reply) {
    base::Error error = std::move(reply).error();
    if (error.code() != base::ErrorCode::exists || session.options.force) return error;
    return base::Error(error.code(),
                       error.message() +
                           "\n'opsctl ca status' lists those that rely on it; --force retires it "
                           "all the same");
  }
  const Value& root = reply->document.root();
  if (show_document(session, root)) return kOk;
  session.console.out.line(
      "The old authority is retired. Join tokens that were made before this are of no use any more.");
  show_authorities(session, root);
  return kOk;
}

}  // namespace ctl

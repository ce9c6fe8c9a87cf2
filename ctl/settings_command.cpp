#include "base/json.hpp"
#include "base/json_text.hpp"
#include "ctl/commands.hpp"
#include "ctl/fields.hpp"
#include "ctl/show.hpp"
#include "ctl/time_text.hpp"
#include "terminal/wrap.hpp"

namespace ctl {

namespace {

constexpr std::size_t kMostMachines = 1'000'000;

}  // namespace

using base::Result;
using base::Value;

Result<int> update_push_command(Session& session) {
  const Options& options = session.options;
  auto selector = required_selector(options);
  if (!selector) return std::move(selector).error();
  base::JsonText body;
  body.begin_object()
      .member("app_id", app_of(options))
      .member("selector", *selector)
      .member("version", options.arguments.front());
  if (!options.url.empty()) body.member("url", options.url);
  auto reply = session.api.send({.method = "POST", .path = "/updates", .body = body.end_object().take()});
  if (!reply) return std::move(reply).error();
  const Value& root = reply->document.root();
  if (show_document(session, root)) return kOk;
  const std::string id = terminal::printable(text_field(root, "action_id"));
  session.console.out.line("Told " +
                           count_text(static_cast<std::size_t>(number_field(root, "sent")), "machine") +
                           " to update to " + terminal::printable(options.arguments.front()) +
                           "; 'opsctl update show " + id + "' says how it goes.");
  return kOk;
}

Result<int> settings_command(Session& session) {
  const Options& options = session.options;
  auto selector = required_selector(options);
  if (!selector) return std::move(selector).error();
  base::JsonText body;
  body.begin_object().member("app_id", app_of(options)).member("selector", *selector);
  if (options.timeout) body.member("timeout_s", *options.timeout);
  body.key("settings").begin_object();
  if (!options.ws_uris.empty()) {
    body.key("ws_uris").begin_list();
    for (const std::string& uri : options.ws_uris)
      body.value(uri);
    body.end_list();
  }
  if (options.heartbeat) body.member("heartbeat_s", *options.heartbeat);
  if (options.round_delay) body.member("round_delay_s", *options.round_delay);
  body.end_object().end_object();
  auto reply = session.api.send({.method = "POST", .path = "/settings", .body = body.take()});
  if (!reply) return std::move(reply).error();
  const Value& root = reply->document.root();
  std::size_t refused = 0;
  for (const Value& each : items_field(root, "items")) {
    const std::string error = text_field(each, "error");
    if (error.empty()) continue;
    ++refused;
    session.console.complain(terminal::printable(text_field(each, "instance_id") + ": " + error));
  }
  const int status = refused == 0 ? kOk : kFailed;
  if (show_document(session, root)) return status;
  const std::size_t sent = items_field(root, "items").size() - refused;
  session.console.out.line(count_text(sent, "machine") + " took the settings; " +
                           count_text(items_field(root, "not_connected").size(), "machine") +
                           " not connected.");
  return status;
}

Result<int> update_show_command(Session& session) {
  // A page of the machines repeats what the update is.
  auto listing =
      session.api.list("/updates/" + path_part(session.options.arguments.front()), {}, kMostMachines);
  if (!listing) return std::move(listing).error();
  const Value& root = listing->pages.front().root();
  if (session.options.format != Format::table) {
    std::vector<base::Member> members;
    for (const base::Member& member : root.members())
      if (member.key != "items" && member.key != "next") members.push_back(member);
    members.push_back({.key = "items", .value = Value::list(listing->items)});
    show_document(session, Value::object(members));
    return kOk;
  }
  Table table({"MACHINE", "PHASE", "WHEN", "ERROR"});
  const Instant at = now();
  for (const Value& each : listing->items) {
    const std::string error = text_field(each, "error");
    table.add({{text_field(each, "instance_id"), terminal::Style::bold},
               {text_field(each, "phase")},
               {age_text(field(each, "at"), at)},
               {error, terminal::Style::red}});
  }
  session.console.out.line(
      terminal::printable("Update " + text_field(root, "action_id") + " to " + text_field(root, "version")));
  session.console.out.write(table.empty() ? "no machine\n"
                                          : table.text(session.console.paint, output_width()));
  return kOk;
}

}  // namespace ctl

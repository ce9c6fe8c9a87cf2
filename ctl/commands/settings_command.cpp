#include "base/values/json.hpp"
#include "base/values/json_text.hpp"
#include "ctl/commands/commands.hpp"
#include "ctl/fields.hpp"
#include "ctl/output/show.hpp"
#include "terminal/wrap.hpp"

namespace ctl {

using base::Result;
using base::Value;

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

}  // namespace ctl

// `opsctl agent pause`, `resume` and `run-now`.
#include "base/values/json_text.hpp"
#include "ctl/commands/commands.hpp"
#include "ctl/fields.hpp"
#include "ctl/output/hold_text.hpp"
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

// Which machines are meant: by name, or by a selector; never all of them by leaving something out.
struct Meant {
  std::string app;
  std::string selector;
};

Result<Meant> machines_meant(const Options& options) {
  const bool is_named = !options.arguments.empty();
  if (is_named == !options.selector.empty())
    return Error(ErrorCode::invalid, "which machines? INSTANCE or -l SELECTOR; -l '*' is all of the app");
  if (!is_named) return Meant{app_of(options), options.selector};
  const Machine machine = machine_of(options.arguments.front(), options);
  return Meant{machine.app, "instance=" + machine.instance};
}

Result<Reply> post(Session& session, const std::string& path, base::JsonText& body) {
  if (session.options.timeout) body.member("timeout_s", *session.options.timeout);
  return session.api.send({.method = "POST", .path = path, .body = body.end_object().take()});
}

// With nothing but which machines are meant.
Result<Reply> post_to_machines(Session& session, const std::string& path) {
  auto meant = machines_meant(session.options);
  if (!meant) return std::move(meant).error();
  base::JsonText body;
  body.begin_object().member("app_id", meant->app).member("selector", meant->selector);
  return post(session, path, body);
}

void show_item(Session& session, const Value& item, const Cell& cell) {
  terminal::Console& console = session.console;
  const std::string text = printable(cell.text);
  console.out.line(console.paint(Style::bold, printable(text_field(item, "instance_id"))) + "  " +
                   (cell.style ? console.paint(*cell.style, text) : text));
}

int nobody(Session& session) {
  session.console.complain("no machine matches");
  return kFailed;
}

}  // namespace

Result<int> agent_pause_command(Session& session) {
  const Options& options = session.options;
  auto meant = machines_meant(options);
  if (!meant) return std::move(meant).error();
  if (!options.pause_for.empty() && !options.until.empty())
    return Error(ErrorCode::invalid, "--for and --until say the same: give one of them");
  base::JsonText body;
  body.begin_object().member("app_id", meant->app).member("selector", meant->selector);
  if (!options.pause_for.empty()) {
    auto length = parse_duration(options.pause_for, "--for");
    if (!length) return std::move(length).error();
    body.member("for_s", length->count());
  }
  if (!options.until.empty()) body.member("until", options.until);
  if (!options.reason.empty()) body.member("reason", options.reason);
  if (options.ends_round) body.member("now", true);
  auto reply = post(session, "/pause", body);
  if (!reply) return std::move(reply).error();
  const Value& root = reply->document.root();
  const auto items = items_field(root, "items");
  bool fine = true;
  const bool is_shown = show_document(session, root);
  for (const Value& item : items) {
    const std::string error = text_field(item, "error"), problem = text_field(item, "problem");
    fine = fine && error.empty() && problem.empty();
    if (is_shown) continue;
    const std::string until = "paused, ends " + until_text(field(root, "until"), now());
    show_item(session, item,
              !error.empty()     ? Cell{error, Style::red}
              : !problem.empty() ? Cell{"the pause is noted, but not in force: " + problem, Style::red}
              : flag_field(item, "told")
                  ? Cell{until, Style::yellow}
                  : Cell{until + "; not connected: it is told when it comes", Style::yellow});
  }
  if (items.empty()) return is_shown ? kFailed : nobody(session);
  return fine ? kOk : kFailed;
}

Result<int> agent_resume_command(Session& session) {
  auto reply = post_to_machines(session, "/resume");
  if (!reply) return std::move(reply).error();
  const Value& root = reply->document.root();
  const auto items = items_field(root, "items");
  bool fine = true;
  const bool is_shown = show_document(session, root);
  for (const Value& item : items) {
    const std::string problem = text_field(item, "problem");
    std::string held;
    for (const Value& hold : items_field(item, "own_holds"))
      held = "held by " + text_field(hold, "by") + " at the machine, ends " +
             until_text(field(hold, "until"), now()) + ": 'opsagent hold --end' there ends it";
    fine = fine && problem.empty() && held.empty();
    if (is_shown) continue;
    std::string text = flag_field(item, "was_paused") ? "resumed" : "was not paused";
    if (flag_field(item, "was_paused") && !flag_field(item, "online"))
      text += "; not connected: it is told when it comes";
    if (!problem.empty()) text += ", but it could not be told: " + problem;
    if (!held.empty()) text += "; still " + held;
    show_item(session, item, {text, problem.empty() && held.empty() ? Style::green : Style::yellow});
  }
  if (items.empty()) return is_shown ? kFailed : nobody(session);
  return fine ? kOk : kFailed;
}

Result<int> agent_run_now_command(Session& session) {
  auto reply = post_to_machines(session, "/run-now");
  if (!reply) return std::move(reply).error();
  const Value& root = reply->document.root();
  const auto items = items_field(root, "items");
  bool fine = true;
  const bool is_shown = show_document(session, root);
  for (const Value& item : items) {
    const std::string error = text_field(item, "error");
    fine = fine && error.empty();
    if (is_shown) continue;
    show_item(session, item, error.empty() ? Cell{"a round begins", Style::green} : Cell{error, Style::red});
  }
  if (items.empty()) return is_shown ? kFailed : nobody(session);
  return fine ? kOk : kFailed;
}

}  // namespace ctl

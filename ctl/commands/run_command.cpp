// What asks machines at once: run, cancel, query.
#include <algorithm>

#include "base/text.hpp"
#include "base/values/json.hpp"
#include "base/values/json_text.hpp"
#include "ctl/commands/commands.hpp"
#include "ctl/fields.hpp"
#include "ctl/output/document_text.hpp"
#include "ctl/output/show.hpp"
#include "terminal/wrap.hpp"

namespace ctl {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;
using base::Value;
using terminal::printable;
using terminal::Style;

constexpr std::int64_t kRunTimeout = 60;
constexpr std::int64_t kQueryTimeout = 30;
constexpr std::size_t kOutputLines = 20;  // per machine, unless --verbose

bool succeeded(const Value& item) {
  const std::string outcome = text_field(item, "outcome");
  return outcome == "kept" || outcome == "changed" || outcome == "skipped";
}

std::string output_text(std::string_view output, bool verbose) {
  const auto lines = base::split(base::trim(output), '\n');
  const std::size_t first = verbose || lines.size() <= kOutputLines ? 0 : lines.size() - kOutputLines;
  std::string text;
  if (first > 0) text += "    | … " + std::to_string(first) + " lines before; all of them with --verbose\n";
  for (std::size_t i = first; i < lines.size(); ++i)
    text += "    | " + printable(lines[i]) + "\n";
  return text;
}

std::string result_text(const Value& item, bool verbose, const terminal::Paint& paint) {
  std::string text = paint(Style::bold, printable(text_field(item, "instance_id"))) + "  ";
  if (const std::string error = text_field(item, "error"); !error.empty())
    return text + paint(Style::red, printable(error)) + "\n";
  const Cell outcome = outcome_cell(text_field(item, "outcome"));
  text += paint(*outcome.style, printable(outcome.text));
  if (const std::string comment = text_field(item, "comment"); !comment.empty())
    text = terminal::wrap_lines(printable(comment, true), text + ": ", "    ", output_width());
  return text + "\n" + output_text(text_field(item, "output"), verbose);
}

// {"id":…,"module":…,"parameter":{…}}
Result<std::string> state_from(const Options& options) {
  const std::string& module = options.arguments.front();
  auto parameter = object_from(std::span(options.arguments).subspan(1));
  if (!parameter) return parameter;
  base::JsonText state;
  state.begin_object().member("id", options.id.empty() ? module : options.id).member("module", module);
  return state.key("parameter").json(*parameter).end_object().take();
}

}  // namespace

Result<int> run_command(Session& session) {
  const Options& options = session.options;
  auto selector = required_selector(options);
  if (!selector) return std::move(selector).error();
  auto state = state_from(options);
  if (!state) return std::move(state).error();
  base::JsonText body;
  body.begin_object().member("app_id", app_of(options)).member("selector", *selector);
  body.member("timeout_s", options.timeout.value_or(kRunTimeout)).key("state").json(*state).end_object();
  auto reply = session.api.send({.method = "POST", .path = "/run", .body = body.take()});
  if (!reply) return std::move(reply).error();

  const Value& root = reply->document.root();
  const auto items = items_field(root, "items");
  const auto missing = items_field(root, "not_connected");
  const std::size_t good = static_cast<std::size_t>(std::ranges::count_if(items, succeeded));
  if (!show_document(session, root)) {
    for (const Value& item : items)
      session.console.out.write(result_text(item, options.verbose, session.console.paint));
    for (const Value& machine : missing)
      session.console.out.line(printable(text_of(machine)) + "  " +
                               session.console.paint(Style::red, "not connected"));
    if (items.empty() && missing.empty())
      return Error(ErrorCode::not_found, "no machine matches\n'opsctl agents' lists them");
    session.console.out.line("Run " + printable(text_field(root, "run_id")) + ": " + std::to_string(good) +
                             " of " + count_text(items.size() + missing.size(), "machine") + " succeeded.");
  }
  return good == items.size() && missing.empty() && !items.empty() ? kOk : kFailed;
}

Result<int> cancel_command(Session& session) {
  const std::string& run = session.options.arguments.front();
  const std::string selector = selector_of(session.options);
  base::JsonText body;
  body.begin_object().member("app_id", app_of(session.options));
  body.member("selector", selector.empty() ? std::string("*") : selector).end_object();
  auto reply = session.api.send(
      {.method = "POST", .path = "/runs/" + path_part(run) + "/cancel", .body = body.take()});
  if (!reply) return std::move(reply).error();
  if (!show_document(session, reply->document.root()))
    session.console.out.line("Run " + run + " is being ended.");
  return kOk;
}

Result<int> query_command(Session& session) {
  const Options& options = session.options;
  const Machine machine = machine_of(options.arguments.front(), options);
  auto args = object_from(std::span(options.arguments).subspan(2));
  if (!args) return std::move(args).error();
  base::JsonText body;
  body.begin_object()
      .member("app_id", machine.app)
      .member("instance_id", machine.instance)
      .member("kind", options.arguments[1]);
  if (options.limit) body.member("limit", *options.limit);
  body.member("timeout_s", options.timeout.value_or(kQueryTimeout)).key("args").json(*args).end_object();
  auto reply = session.api.send({.method = "POST", .path = "/query", .body = body.take()});
  if (!reply) return std::move(reply).error();
  const Value& root = reply->document.root();
  if (show_document(session, root)) return kOk;
  const Value& data = field(root, "data");
  if (data.is_text())
    session.console.out.line(printable(data.text(), true));
  else
    session.console.out.write(printable(yaml_text(data), true));
  if (flag_field(root, "more")) session.console.warn("there is more: --limit N asks for more");
  return kOk;
}

}  // namespace ctl

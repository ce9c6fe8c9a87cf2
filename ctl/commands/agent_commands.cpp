#include <chrono>
#include <thread>

#include "base/files/file_read.hpp"
#include "base/sha256.hpp"
#include "base/text.hpp"
#include "base/values/json.hpp"
#include "base/values/json_text.hpp"
#include "ctl/commands/commands.hpp"
#include "ctl/fields.hpp"
#include "ctl/output/document_text.hpp"
#include "ctl/output/failure_text.hpp"
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
using terminal::Style;

Cell presence_cell(const Value& instance, Instant at) {
  if (flag_field(instance, "online")) return {"online", Style::green};
  const std::string age = age_text(field(instance, "last_seen"), at);
  return {age.empty() ? "offline" : "seen " + age, Style::red};
}

// "7", or "6 of 7" while the agent has not reported on the newest.
std::string version_text(const Value& instance) {
  const std::int64_t wanted = number_field(instance, "recipe_version");
  const std::int64_t reported = number_field(instance, "reported_version");
  if (wanted == 0) return "-";
  return wanted == reported ? std::to_string(wanted)
                            : std::to_string(reported) + " of " + std::to_string(wanted);
}

std::string errors_text(const Value& instance) {
  std::string text;
  for (const Value& error : items_field(instance, "errors"))
    text.append(text.empty() ? "" : "; ").append(text_of(error));
  return text;
}

std::string path_of_machine(const Machine& machine) {
  return "/instances/" + path_part(machine.app) + "/" + path_part(machine.instance);
}

// A machine that is not there most often has another name.
Error explained(Error error) {
  if (error.code() != ErrorCode::not_found) return error;
  return Error(error.code(),
               error.message() + "\n'opsctl agents' lists the machines; those of other apps are APP/ID");
}

void show_line(Session& session, std::string_view name, const Cell& cell) {
  if (cell.text.empty()) return;
  std::string label(name);
  constexpr std::size_t kColumn = std::string_view("certificate  ").size();  // the longest
  label.resize(std::max(label.size() + 2, kColumn), ' ');
  const std::string text = terminal::printable(cell.text);
  session.console.out.line(session.console.paint(Style::dim, label) +
                           (cell.style ? session.console.paint(*cell.style, text) : text));
}

// Of the tags that count only for selectors inside of the scope of whoever has set them.
void show_tag_scopes(Session& session, const Value& scopes) {
  std::string text;
  for (const base::Member& each : scopes.members())
    text +=
        (text.empty() ? "" : "; ") + std::string(each.key) + " is set by the scope " + text_of(each.value);
  show_line(session, "tag scopes", {text, Style::dim});
}

void show_failure(Session& session, const Value& instance) {
  const Value& failed = field(instance, "failed_state");
  if (!failed.is_object()) return;
  const std::string age = age_text(field(failed, "received"), now());
  show_line(session, "failed at", {failure_text(instance) + (age.empty() ? "" : "  " + age), Style::red});
  show_line(session, "more", {failure_command(instance), Style::dim});
}

void show_identity(Session& session, const Value& identity, Instant at) {
  if (!identity.is_object()) return;
  const std::string revoked = age_text(field(identity, "revoked_at"), at);
  const std::string reason = text_field(identity, "reason");
  if (!revoked.empty())
    show_line(session, "revoked", {revoked + (reason.empty() ? "" : ": " + reason), Style::red});
  show_line(session, "enrolled",
            {age_text(field(identity, "enrolled_at"), at) + "  uid " + text_field(identity, "uid")});
  for (const Value& certificate : items_field(identity, "certificates")) {
    const std::string ended = age_text(field(certificate, "revoked_at"), at);
    if (!ended.empty()) continue;
    show_line(session, "certificate",
              {text_field(certificate, "serial") + "  expires " +
               until_text(field(certificate, "expires_at"), at)});
  }
}

void show_machine(Session& session, const Value& instance) {
  const Instant at = now();
  show_line(session, "machine",
            {text_field(instance, "app_id") + "/" + text_field(instance, "instance_id"), Style::bold});
  show_line(session, "presence", presence_cell(instance, at));
  show_line(session, "connected", {age_text(field(instance, "connected_at"), at)});
  show_line(session, "agent",
            {text_field(instance, "agent_version") + "  protocol " + text_field(instance, "protocol") + "  " +
             text_field(instance, "agent_uid")});
  const std::string os = text_field(instance, "os");  // a machine may not know
  show_line(session, "system", {os + (os.empty() ? "" : " ") + text_field(instance, "arch")});
  show_line(session, "tags", {pairs_text(field(instance, "tags"))});
  show_tag_scopes(session, field(instance, "tag_scopes"));
  show_line(session, "says", {pairs_text(field(instance, "self_tags")), Style::dim});
  if (const std::string wished = text_field(instance, "wished_name"); !wished.empty())
    show_line(session, "wished", {"to be '" + wished + "', which its join token does not allow", Style::dim});
  show_line(
      session, "recipe",
      {"version " + version_text(instance) + "  " + text_field(instance, "recipe_digest").substr(0, 12)});
  show_line(session, "status", status_cell(text_field(instance, "status")));
  for (const Value& error : items_field(instance, "errors"))
    show_line(session, "error", {text_of(error), Style::red});
  show_failure(session, instance);
  if (const std::string since = age_text(field(instance, "pending"), at); !since.empty())
    show_line(session, "pending", {"since " + since + ": 'opsctl agent approve' lets it in", Style::yellow});
  if (const std::string since = age_text(field(instance, "excluded"), at); !since.empty()) {
    const std::string reason = text_field(instance, "excluded_reason");
    show_line(session, "excluded", {since + (reason.empty() ? "" : ": " + reason), Style::yellow});
  }
  show_line(session, "held", {hold_text(instance, at), Style::yellow});
  show_line(session, "running", {text_field(instance, "running.id")});
  const Value& round = field(instance, "last_round");
  if (round.is_object())
    show_line(session, "last round",
              {pairs_text(field(round, "counts"), true) + "  in " +
               duration_text(number_field(round, "duration_ms")) + "  " + age_text(field(round, "at"), at)});
  show_identity(session, field(instance, "identity"), at);
  for (const std::string_view name : {"waits", "wait"})
    for (const Value& wait : items_field(instance, name)) {
      std::string waited;
      for (const Value& each : items_field(wait, "waiting_for"))
        waited += (waited.empty() ? "" : ", ") + text_field(each, "instance_id") + "/" +
                  text_field(each, "state_id");
      show_line(session, "waits",
                {text_field(wait, "state_id") + (waited.empty() ? ": satisfied" : " for " + waited)});
    }
  const Value& facts = field(instance, "facts");
  if (facts.members().empty()) return;
  session.console.out.line(session.console.paint(Style::dim, "facts"));
  const std::string text = yaml_text(facts);
  for (const std::string_view line : base::split(std::string_view(text).substr(0, text.size() - 1), '\n'))
    session.console.out.line("  " + terminal::printable(line));
}

// With --wait: once there is a machine, or the time is over.
Result<Listing> list_awaited(Session& session, const Parameters& parameters) {
  constexpr std::int64_t kDefaultTimeout = 60;
  constexpr std::chrono::milliseconds kPause{500};
  using Clock = std::chrono::steady_clock;
  const auto deadline =
      Clock::now() + std::chrono::seconds(session.options.timeout.value_or(kDefaultTimeout));
  while (true) {
    auto machines = session.api.list("/instances", parameters, session.options.limit.value_or(kMostMachines));
    if (!machines || !session.options.wait || !machines->items.empty() || Clock::now() >= deadline)
      return machines;
    std::this_thread::sleep_for(kPause);
  }
}

}  // namespace

Result<int> agents_command(Session& session) {
  Parameters parameters;
  if (const std::string app = named_app(session.options); !app.empty()) parameters.emplace_back("app", app);
  if (const std::string selector = selector_of(session.options); !selector.empty())
    parameters.emplace_back("selector", selector);
  if (session.options.online) parameters.emplace_back("online", *session.options.online ? "true" : "false");
  auto machines = list_awaited(session, parameters);
  if (!machines) return std::move(machines).error();
  const Instant at = now();
  show_list(
      session, *machines,
      Table({"APP", "INSTANCE", "PRESENCE", "STATUS", "HELD", ">VERSION", "ERROR", "LAST ROUND", "TAGS",
             "AGENT", "OS"}),
      [&](const Value& each) {
        return std::vector<Cell>{{text_field(each, "app_id")},
                                 {text_field(each, "instance_id"), Style::bold},
                                 presence_cell(each, at),
                                 status_cell(text_field(each, "status")),
                                 {hold_text(each, at), Style::yellow},
                                 {version_text(each)},
                                 {errors_text(each), Style::red},
                                 {pairs_text(field(each, "last_round.counts"), true)},
                                 {pairs_text(field(each, "tags"))},
                                 {text_field(each, "agent_version")},
                                 {text_field(each, "os")}};
      },
      session.options.wait
          ? "no machine has come in time; 'opsctl agent pending' lists those that wait to be approved"
          : "no machine matches");
  return session.options.wait && machines->items.empty() ? kFailed : kOk;
}

Result<int> agent_show_command(Session& session) {
  auto reply = session.api.send(
      {.path = path_of_machine(machine_of(session.options.arguments.front(), session.options))});
  if (!reply) return explained(std::move(reply).error());
  if (!show_document(session, reply->document.root())) show_machine(session, reply->document.root());
  return kOk;
}

Result<int> agent_tag_command(Session& session) {
  const Options& options = session.options;
  base::JsonText body;
  body.begin_object().key("tags").begin_object();
  for (const std::string& argument : std::span(options.arguments).subspan(1)) {
    const std::size_t equals = argument.find('=');
    if (equals != std::string::npos && equals > 0)
      body.member(argument.substr(0, equals), argument.substr(equals + 1));
    else if (argument.ends_with('-') && argument.size() > 1)
      body.key(argument.substr(0, argument.size() - 1)).null();
    else
      return Error(ErrorCode::invalid, "'" + argument + "' is neither KEY=VALUE nor KEY-");
  }
  const std::string path = path_of_machine(machine_of(options.arguments.front(), options));
  auto seen = session.api.send({.path = path});
  if (!seen) return explained(std::move(seen).error());
  auto reply = session.api.send({.method = "PATCH",
                                 .path = path,
                                 .body = body.end_object().end_object().take(),
                                 .if_match = seen->etag});
  if (!reply) return std::move(reply).error();
  if (show_document(session, reply->document.root())) return kOk;
  session.console.out.line(terminal::printable(text_field(reply->document.root(), "instance_id") + ": " +
                                               pairs_text(field(reply->document.root(), "tags"))));
  return kOk;
}

Result<int> agent_revoke_command(Session& session) {
  const Machine machine = machine_of(session.options.arguments.front(), session.options);
  base::JsonText body;
  body.begin_object();
  if (!session.options.reason.empty()) body.member("reason", session.options.reason);
  auto reply = session.api.send(
      {.method = "POST", .path = path_of_machine(machine) + "/revoke", .body = body.end_object().take()});
  if (!reply) return explained(std::move(reply).error());
  if (show_document(session, reply->document.root())) return kOk;
  session.console.out.line(terminal::printable(
      machine.app + "/" + machine.instance + " is revoked; 'opsctl join-token create --app " + machine.app +
      " --instance " + machine.instance + "' makes a token with which it may come back."));
  return kOk;
}

Result<int> agent_pending_command(Session& session) {
  Parameters parameters{{"pending", "true"}};
  if (const std::string app = named_app(session.options); !app.empty()) parameters.emplace_back("app", app);
  auto machines =
      session.api.list("/instances", std::move(parameters), session.options.limit.value_or(kMostMachines));
  if (!machines) return std::move(machines).error();
  const Instant at = now();
  show_list(
      session, *machines, Table({"APP", "INSTANCE", "WAITS SINCE", "TOKEN", "TAGS", "WISHED"}),
      [&](const Value& each) {
        return std::vector<Cell>{
            {text_field(each, "app_id")},           {text_field(each, "instance_id"), Style::bold},
            {age_text(field(each, "pending"), at)}, {text_field(each, "token_prefix")},
            {pairs_text(field(each, "tags"))},      {text_field(each, "wished_name")}};
      },
      "nobody waits to be approved");
  return kOk;
}

Result<int> agent_approve_command(Session& session) {
  const Machine machine = machine_of(session.options.arguments.front(), session.options);
  base::JsonText body;
  body.begin_object();
  if (session.options.arguments.size() > 1) body.member("token_hash", session.options.arguments[1]);
  auto reply = session.api.send(
      {.method = "POST", .path = path_of_machine(machine) + "/approve", .body = body.end_object().take()});
  if (!reply) return explained(std::move(reply).error());
  if (show_document(session, reply->document.root())) return kOk;
  session.console.out.line(terminal::printable(machine.app + "/" + machine.instance +
                                               " is approved, and comes in when it asks again."));
  return kOk;
}

Result<int> agent_expect_command(Session& session) {
  constexpr std::size_t kLargestToken = 4096;
  const Machine machine = machine_of(session.options.arguments.front(), session.options);
  std::string hash = session.options.arguments[1];
  if (!base::is_sha256_hex(hash)) {
    auto token = base::read_file(hash, kLargestToken);
    if (!token) return Error(ErrorCode::invalid, token.error().message());
    const std::string_view text = base::trim(*token);
    if (text.empty()) return Error(ErrorCode::invalid, hash + " is empty");
    hash = base::sha256_hex(std::string(text));
  }
  base::JsonText body;
  body.begin_object().member("token_hash", hash);
  auto reply = session.api.send(
      {.method = "POST", .path = path_of_machine(machine) + "/expect", .body = body.end_object().take()});
  if (!reply) return std::move(reply).error();
  if (show_document(session, reply->document.root())) return kOk;
  session.console.out.line(terminal::printable(machine.app + "/" + machine.instance +
                                               " is let in with the token " + hash.substr(0, 16) + "…"));
  return kOk;
}

Result<int> agent_exclude_command(Session& session) {
  const Machine machine = machine_of(session.options.arguments.front(), session.options);
  base::JsonText body;
  body.begin_object();
  if (!session.options.reason.empty()) body.member("reason", session.options.reason);
  auto reply = session.api.send(
      {.method = "POST", .path = path_of_machine(machine) + "/exclude", .body = body.end_object().take()});
  if (!reply) return explained(std::move(reply).error());
  if (show_document(session, reply->document.root())) return kOk;
  session.console.out.line(terminal::printable("Nobody waits for " + machine.app + "/" + machine.instance +
                                               " any more; 'opsctl agent include' counts on it again."));
  return kOk;
}

Result<int> agent_include_command(Session& session) {
  const Machine machine = machine_of(session.options.arguments.front(), session.options);
  auto reply =
      session.api.send({.method = "POST", .path = path_of_machine(machine) + "/include", .body = "{}"});
  if (!reply) return explained(std::move(reply).error());
  if (show_document(session, reply->document.root())) return kOk;
  session.console.out.line(
      terminal::printable(machine.app + "/" + machine.instance + " counts again, for waits and rollouts."));
  return kOk;
}

Result<int> agent_forget_command(Session& session) {
  const Machine machine = machine_of(session.options.arguments.front(), session.options);
  auto reply = session.api.send({.method = "DELETE", .path = path_of_machine(machine)});
  if (!reply) return explained(std::move(reply).error());
  session.console.out.line(terminal::printable(machine.app + "/" + machine.instance + " is forgotten."));
  return kOk;
}

}  // namespace ctl

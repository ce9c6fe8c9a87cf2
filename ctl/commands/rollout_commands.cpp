// Updates of agents, and rollouts of all kinds: how they go.
#include <thread>

#include "base/text.hpp"
#include "base/values/json_text.hpp"
#include "ctl/commands/change_rollouts.hpp"
#include "ctl/commands/commands.hpp"
#include "ctl/fields.hpp"
#include "ctl/output/show.hpp"
#include "ctl/time_text.hpp"
#include "terminal/wrap.hpp"

namespace ctl {

using base::Error;
using base::ErrorCode;
using base::Result;
using base::Value;

namespace {

constexpr std::int64_t kRolloutPatience = 7LL * 24 * 3600;  // seconds: a rollout takes its time
constexpr std::chrono::seconds kBetweenLooks{1};

std::string path_of_rollout(std::string_view id) {
  return "/rollouts/" + path_part(id);
}

Cell state_cell(const std::string& state) {
  using terminal::Style;
  if (state == "done") return {state, Style::green};
  if (state == "stopped" || state == "aborted") return {state, Style::red};
  if (state == "paused") return {state, Style::yellow};
  return {state};
}

Cell phase_cell(const std::string& phase) {
  using terminal::Style;
  if (phase == "confirmed") return {phase, Style::green};
  if (phase == "rolled_back" || phase == "failed" || phase == "refused" || phase == "lost")
    return {phase, Style::red};
  return {phase};
}

// "5, 15, 80 and 100 machines"
std::string rings_text(const Value& rollout) {
  std::string text;
  const auto rings = items_field(rollout, "rings");
  for (std::size_t i = 0; i < rings.size(); ++i)
    text += (i == 0 ? "" : i + 1 < rings.size() ? ", " : " and ") + text_field(rings[i], "size");
  return text;
}

// "ring 2 of 4: 12 of 15 confirmed, 1 failed"
std::string standing_text(const Value& rollout) {
  const auto rings = items_field(rollout, "rings");
  const auto at = static_cast<std::size_t>(number_field(rollout, "ring"));
  if (at == 0 || at > rings.size()) return {};
  const Value& ring = rings[at - 1];
  std::string text = "ring " + std::to_string(at) + " of " + std::to_string(rings.size()) + ": " +
                     text_field(ring, "confirmed") + " of " + text_field(ring, "size") + " confirmed";
  struct Part {
    std::string_view field, words;
  };
  for (const Part& part : {Part{"rolled_back", "rolled back"}, Part{"failed", "failed"}, Part{"lost", "lost"},
                           Part{"away", "not connected"}})
    if (number_field(ring, part.field) > 0)
      text += ", " + text_field(ring, part.field) + " " + std::string(part.words);
  return text;
}

std::string headline(const Value& rollout) {
  std::string text = "Rollout " + text_field(rollout, "id") + " of " + text_field(rollout, "version") +
                     " to " + text_field(rollout, "app_id") + "/" + text_field(rollout, "selector") + " is " +
                     text_field(rollout, "state");
  if (const std::string reason = text_field(rollout, "reason"); !reason.empty()) text += ": " + reason;
  return terminal::printable(text);
}

std::string hint(const std::string& id, std::string_view what) {
  return "'opsctl rollout show " + terminal::printable(id) + "' " + std::string(what);
}

// What made it stop: what machines have reported, for a person to judge.
void show_evidence(Session& session, const Value& rollout, Instant at) {
  const auto evidence = items_field(rollout, "evidence");
  if (evidence.empty() || text_field(rollout, "state") != "stopped") return;
  session.console.out.line("What speaks against it, as the machines say:");
  std::string names;
  for (const Value& each : evidence) {
    const std::string error = text_field(each, "error");
    names += " " + text_field(each, "instance_id");
    session.console.out.line(
        terminal::printable("  " + text_field(each, "instance_id") + " " + text_field(each, "phase") + " " +
                            age_text(field(each, "at"), at) + (error.empty() ? "" : ": " + error)));
  }
  const std::string id = text_field(rollout, "id");
  session.console.out.line(terminal::printable("If you do not believe them: 'opsctl rollout exclude " + id +
                                               names + "', then 'opsctl rollout resume " + id + "'."));
}

// How the machines that have it get back what they had.
void show_way_back(Session& session, const Value& rollout) {
  const std::string recipe = text_field(field(rollout, "change"), "recipe");
  if (!recipe.empty())
    session.console.out.line(terminal::printable("'opsctl recipe rollback " + recipe + "' gives revision " +
                                                 text_field(field(rollout, "change"), "from_revision") +
                                                 " back to those who have the new one."));
}

}  // namespace

// Follows it until it ends.
Result<int> follow_rollout(Session& session, const std::string& id, FollowedAs as) {
  const auto end = std::chrono::steady_clock::now() +
                   std::chrono::seconds(session.options.timeout.value_or(kRolloutPatience));
  std::string last;
  while (true) {
    auto reply = session.api.send({.path = path_of_rollout(id), .parameters = {{"limit", "1"}}});
    if (!reply) return std::move(reply).error();
    const Value& rollout = reply->document.root();
    const std::string state = text_field(rollout, "state");
    const std::string status = standing_text(rollout);
    const std::string line = status.empty() ? state : state + ", " + status;
    if (line != last && session.options.format == Format::table)
      session.console.out.line(terminal::printable(line));
    last = line;
    if (state != "running" && state != "paused") {
      const bool is_done = state == "done";
      if (as == FollowedAs::sequel && session.options.format != Format::table) {
        session.console.err.line(headline(rollout));
      } else if (!show_document(session, rollout)) {
        session.console.out.line(headline(rollout));
        show_evidence(session, rollout, now());
        if (!is_done) {
          session.console.out.line(hint(id, "says what each machine has reported."));
          show_way_back(session, rollout);
        }
      }
      return is_done ? kOk : kFailed;
    }
    if (std::chrono::steady_clock::now() >= end) {
      session.console.complain("the rollout is not done yet; it goes on, " + hint(id, "says how"));
      return kFailed;
    }
    std::this_thread::sleep_for(kBetweenLooks);
  }
}

namespace {

Result<void> add_seconds(base::JsonText& body, std::string_view member, const std::string& text,
                         std::string_view option) {
  if (text.empty()) return {};
  // Nothing at all is fine here.
  auto time = text == "0" || text == "0s" ? Result<std::chrono::seconds>(std::chrono::seconds(0))
                                          : parse_duration(text, option);
  if (!time) return std::move(time).error();
  body.member(member, time->count());
  return {};
}

Result<void> add_rings(base::JsonText& body, const std::string& text) {
  if (text.empty()) return {};
  auto rings = rings_json(text);
  if (!rings) return std::move(rings).error();
  body.key("rings").json(*rings);
  return {};
}

Result<int> command(Session& session, std::string_view verb) {
  const std::string& id = session.options.arguments.front();
  auto reply = session.api.send({.method = "POST", .path = path_of_rollout(id) + "/" + std::string(verb)});
  if (!reply) return std::move(reply).error();
  if (!show_document(session, reply->document.root()))
    session.console.out.line(headline(reply->document.root()));
  return kOk;
}

}  // namespace

Result<int> update_command(Session& session) {
  const Options& options = session.options;
  auto selector = required_selector(options);
  if (!selector) return std::move(selector).error();
  base::JsonText body;
  body.begin_object()
      .member("app_id", app_of(options))
      .member("selector", *selector)
      .member("version", options.arguments.front());
  if (!options.url.empty()) body.member("url", options.url);
  if (!options.canary.empty()) body.member("canary", options.canary);
  if (auto added = add_rings(body, options.rings); !added) return std::move(added).error();
  if (auto added = add_seconds(body, "pause_s", options.pause, "--pause"); !added)
    return std::move(added).error();
  if (auto added = add_seconds(body, "jitter_s", options.jitter, "--jitter"); !added)
    return std::move(added).error();
  if (auto added = add_seconds(body, "timeout_s", options.silence, "--silence"); !added)
    return std::move(added).error();
  auto reply = session.api.send({.method = "POST", .path = "/rollouts", .body = body.end_object().take()});
  if (!reply) return std::move(reply).error();
  const Value& root = reply->document.root();
  const std::string id = text_field(root, "id");
  show_warnings(session, root);
  if (options.format == Format::table) {
    const auto machines = static_cast<std::size_t>(number_field(root, "machines"));
    std::string text =
        "Rollout " + id + ": " + text_field(root, "version") + " to " + count_text(machines, "machine");
    if (items_field(root, "rings").size() > 1) text += " in rings of " + rings_text(root);
    if (const auto already = number_field(root, "already"); already > 0)
      text += "; " + std::to_string(already) + " had it already";
    session.console.out.line(terminal::printable(text + "."));
    if (!options.wait && machines > 0) session.console.out.line(hint(id, "says how it goes."));
  }
  if (options.wait) return follow_rollout(session, id);
  show_document(session, root);
  return kOk;
}

Result<int> rollout_list_command(Session& session) {
  Parameters parameters;
  if (const std::string app = named_app(session.options); !app.empty()) parameters.emplace_back("app", app);
  auto rollouts = session.api.list("/rollouts", parameters, session.options.limit.value_or(kMostRows));
  if (!rollouts) return std::move(rollouts).error();
  const Instant at = now();
  show_list(
      session, *rollouts,
      Table({"ROLLOUT", "WHAT", "STATE", "RING", ">MACHINES", "APP", "TO", "STARTED", "WHY"}),
      [&](const Value& each) {
        return std::vector<Cell>{{text_field(each, "id"), terminal::Style::bold},
                                 {text_field(each, "version")},
                                 state_cell(text_field(each, "state")),
                                 {number_field(each, "ring") > 0 ? text_field(each, "ring") : ""},
                                 {text_field(each, "machines")},
                                 {text_field(each, "app_id")},
                                 {text_field(each, "selector")},
                                 {age_text(field(each, "created"), at)},
                                 {text_field(each, "reason")}};
      },
      "there are no rollouts; 'opsctl update VERSION --to SELECTOR' and 'opsctl recipe push FILE --rings "
      "10,50,100' make one");
  return kOk;
}

Result<int> rollout_show_command(Session& session) {
  if (session.options.wait) return follow_rollout(session, session.options.arguments.front());
  // A page of the machines repeats what the rollout is.
  auto listing = session.api.list(path_of_rollout(session.options.arguments.front()), {},
                                  session.options.limit.value_or(kMostMachines));
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
  const Instant at = now();
  session.console.out.line(headline(root));
  if (const std::string next = until_text(field(root, "next_ring_at"), at);
      !next.empty() && text_field(root, "state") == "running")
    session.console.out.line("The next ring begins " + next + ".");
  Table rings(
      {">RING", ">SIZE", ">TOLD", ">CONFIRMED", ">BACK", ">ROLLED BACK", ">FAILED", ">LOST", ">AWAY"});
  std::size_t number = 0;
  for (const Value& ring : items_field(root, "rings")) {
    std::vector<Cell> cells{{std::to_string(++number)}};
    for (const char* name : {"size", "told", "confirmed", "back", "rolled_back", "failed", "lost", "away"})
      cells.push_back({text_field(ring, name)});
    rings.add(std::move(cells));
  }
  if (!rings.empty()) session.console.out.write(rings.text(session.console.paint, output_width()));
  show_evidence(session, root, at);
  if (text_field(root, "state") == "stopped" || text_field(root, "state") == "aborted")
    show_way_back(session, root);
  Table table({"MACHINE", "RING", "PHASE", "HEARD", "ERROR"});
  for (const Value& each : listing->items)
    table.add({{text_field(each, "instance_id"), terminal::Style::bold},
               {text_field(each, "ring")},
               flag_field(each, "excluded")
                   ? Cell{text_field(each, "phase") + ", excluded", terminal::Style::dim}
               : field(each, "paused_until").is_text()
                   ? Cell{text_field(each, "phase") + ", paused", terminal::Style::yellow}
                   : phase_cell(text_field(each, "phase")),
               {age_text(field(each, "at"), at)},
               {text_field(each, "error"), terminal::Style::red}});
  session.console.out.write(table.empty() ? "no machine\n"
                                          : "\n" + table.text(session.console.paint, output_width()));
  return kOk;
}

Result<int> rollout_exclude_command(Session& session) {
  const std::string& id = session.options.arguments.front();
  base::JsonText body;
  body.begin_object().key("instances").begin_list();
  for (const std::string& instance : std::span(session.options.arguments).subspan(1))
    body.value(instance);
  auto reply = session.api.send({.method = "POST",
                                 .path = path_of_rollout(id) + "/exclude",
                                 .body = body.end_list().end_object().take()});
  if (!reply) return std::move(reply).error();
  const Value& root = reply->document.root();
  if (show_document(session, root)) return kOk;
  session.console.out.line(headline(root));
  session.console.out.line(count_text(static_cast<std::size_t>(number_field(root, "excluded")), "machine") +
                           " excluded: what they report does not count." +
                           (text_field(root, "state") == "stopped"
                                ? " 'opsctl rollout resume " + terminal::printable(id) + "' goes on."
                                : ""));
  return kOk;
}

Result<int> rollout_pause_command(Session& session) {
  return command(session, "pause");
}
Result<int> rollout_resume_command(Session& session) {
  return command(session, "resume");
}
Result<int> rollout_abort_command(Session& session) {
  return command(session, "abort");
}

}  // namespace ctl

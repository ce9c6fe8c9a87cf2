// Lists of what was reported: results, rounds, waits.
#include "base/text.hpp"
#include "base/utc_text.hpp"
#include "ctl/commands/commands.hpp"
#include "ctl/fields.hpp"
#include "ctl/output/show.hpp"
#include "ctl/time_text.hpp"
#include "terminal/diff_text.hpp"
#include "terminal/wrap.hpp"

namespace ctl {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;
using base::Value;
using terminal::printable;
using terminal::Style;

constexpr std::size_t kReportScreenful = 50;

Result<Parameters> filter_of(const Options& options) {
  Parameters parameters = machine_parameters(options);
  if (!options.state.empty()) parameters.emplace_back("state", options.state);
  if (!options.outcome.empty()) parameters.emplace_back("outcome", options.outcome);
  if (!options.run.empty()) parameters.emplace_back("run", options.run);
  if (!options.since.empty()) {
    auto since = parse_since(options.since, "--since", now());
    if (!since) return std::move(since).error();
    parameters.emplace_back("since", base::utc_text(*since));
  }
  if (!options.until.empty()) {
    auto until = parse_since(options.until, "--until", now());
    if (!until) return std::move(until).error();
    parameters.emplace_back("until", base::utc_text(*until));
  }
  return parameters;
}

const Value& either(const Value& object, std::string_view one, std::string_view other) {
  const Value& found = field(object, one);
  return found.is_null() ? field(object, other) : found;
}

std::string machine_text(const Value& row) {
  return text_field(row, "app_id") + "/" + text_field(row, "instance_id");
}

// Native states print the diffs of their changes, too: nobody needs to see them twice.
std::string without_diffs(std::string output, const Value& result) {
  for (const Value& change : items_field(result, "changes")) {
    const std::string diff = text_field(change, "diff");
    const std::string_view text = base::trim(diff);
    const std::size_t at = text.empty() ? std::string::npos : output.find(text);
    if (at != std::string::npos) output.erase(at, text.size());
  }
  return output;
}

// With --verbose: the changes with their diffs, and what programs printed.
std::string details(const Value& result, const terminal::Paint& paint) {
  std::string text;
  for (const Value& change : items_field(result, "changes")) {
    text += "    " + printable(text_field(change, "what"));
    const std::string before = text_field(change, "before");
    const std::string after = text_field(change, "after");
    if (!before.empty() || !after.empty())
      text += ": " + printable(before.empty() ? after : before + " -> " + after);
    text += "\n" + terminal::diff_text(text_field(change, "diff"), "        ", paint);
  }
  const std::string output = without_diffs(text_of(either(result, "output", "state_stdout")), result);
  for (const std::string_view line : base::split(base::trim(output), '\n'))
    text += "    | " + printable(line) + "\n";
  return text;
}

// Why it was changed, where the agent says so.
std::string cause_text(const Value& result) {
  const std::string cause = text_field(result, "cause");
  return cause.empty() ? cause : " (" + printable(cause) + ")";
}

void show_verbose(Session& session, const Listing& results, Instant at) {
  const terminal::Paint& paint = session.console.paint;
  for (const Value& each : results.items) {
    const Cell outcome = outcome_cell(text_field(each, "outcome"));
    session.console.out.line(
        paint(Style::dim, age_text(either(each, "received", "at"), at)) + "  " +
        paint(Style::bold, printable(machine_text(each))) + "  " + paint(*outcome.style, outcome.text) +
        cause_text(each) + "  " + printable(text_of(either(each, "state_id", "id"))) + ": " +
        printable(terminal::join_lines(text_of(either(each, "comment", "state_comment")), "; ")));
    session.console.out.write(details(each, paint));
  }
}

}  // namespace

Result<int> results_command(Session& session) {
  auto filter = filter_of(session.options);
  if (!filter) return std::move(filter).error();
  auto results =
      session.api.list("/results", std::move(*filter), session.options.limit.value_or(kReportScreenful));
  if (!results) return std::move(results).error();
  const Instant at = now();
  if (session.options.verbose && session.options.format == Format::table) {
    show_verbose(session, *results, at);
    return kOk;
  }
  show_list(
      session, *results,
      Table({"WHEN", "MACHINE", "STATE", "OUTCOME", "CAUSE", ">VERSION", ">TOOK", "COMMENT"}),
      [&](const Value& each) {
        return std::vector<Cell>{{age_text(either(each, "received", "at"), at)},
                                 {machine_text(each)},
                                 {text_of(either(each, "state_id", "id")), Style::bold},
                                 outcome_cell(text_field(each, "outcome")),
                                 {text_field(each, "cause")},
                                 {text_field(each, "recipe_version")},
                                 {duration_text(number_field(each, "duration_ms"))},
                                 {text_of(either(each, "comment", "state_comment"))}};
      },
      "no results");
  return kOk;
}

Result<int> rounds_command(Session& session) {
  auto filter = filter_of(session.options);
  if (!filter) return std::move(filter).error();
  auto rounds =
      session.api.list("/rounds", std::move(*filter), session.options.limit.value_or(kReportScreenful));
  if (!rounds) return std::move(rounds).error();
  const Instant at = now();
  show_list(
      session, *rounds,
      Table({"WHEN", "MACHINE", ">VERSION", ">ROUND", "RESULTS", ">NOT REACHED", ">TOOK", "DRIFT"}),
      [&](const Value& each) {
        std::string drift;
        for (const Value& id : items_field(each, "drift"))
          drift += (drift.empty() ? "" : ", ") + text_of(id);
        const std::int64_t missed = number_field(each, "not_reached");
        return std::vector<Cell>{{age_text(either(each, "received", "at"), at)},
                                 {machine_text(each), Style::bold},
                                 {text_field(each, "recipe_version")},
                                 {text_field(each, "round")},
                                 {pairs_text(field(each, "counts"), true)},
                                 {missed > 0 ? std::to_string(missed) : "", Style::red},
                                 {duration_text(number_field(each, "duration_ms"))},
                                 {drift, Style::yellow}};
      },
      "no rounds");
  return kOk;
}

Result<int> waits_command(Session& session) {
  Parameters parameters;
  if (!session.options.app.empty()) parameters.emplace_back("app", session.options.app);
  auto waits = session.api.list("/waits", std::move(parameters), session.options.limit.value_or(kMostRows));
  if (!waits) return std::move(waits).error();
  const Instant at = now();
  show_list(
      session, *waits, Table({"MACHINE", "STATE", ">VERSION", "WAITS FOR"}),
      [&](const Value& each) {
        std::string waited;
        for (const Value& one : items_field(each, "waiting_for"))
          waited += (waited.empty() ? "" : ", ") + text_field(one, "instance_id") + "/" +
                    text_field(one, "state_id");
        const std::string satisfied = age_text(field(each, "satisfied_at"), at);
        return std::vector<Cell>{
            {machine_text(each), Style::bold},
            {text_field(each, "state_id")},
            {text_field(each, "recipe_version")},
            waited.empty()
                ? Cell{"nothing: satisfied" + (satisfied.empty() ? "" : " " + satisfied), Style::green}
                : Cell{waited, Style::yellow}};
      },
      "nobody waits");
  if (session.options.format != Format::table || waits->pages.empty()) return kOk;
  for (const Value& holder : items_field(waits->pages.front().root(), "held_up_by")) {
    const std::string seen = age_text(field(holder, "last_seen"), at);
    session.console.out.line(terminal::printable(
        machine_text(holder) + " holds up " +
        count_text(static_cast<std::size_t>(number_field(holder, "waiting")), "wait") + ": " +
        (flag_field(holder, "online") ? "connected"
         : seen.empty()               ? "never seen"
                                      : "not connected, seen " + seen) +
        ", " + text_field(holder, "status") + "; 'opsctl agent exclude " + machine_text(holder) +
        "' goes on without it"));
  }
  return kOk;
}

}  // namespace ctl

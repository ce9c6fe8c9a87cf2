#include <chrono>
#include <thread>

#include "base/text.hpp"
#include "base/utc_text.hpp"
#include "ctl/commands/commands.hpp"
#include "ctl/fields.hpp"
#include "ctl/output/failure_text.hpp"
#include "ctl/output/show.hpp"
#include "ctl/time_text.hpp"
#include "terminal/wrap.hpp"

namespace ctl {

namespace {

using base::Result;
using base::Value;
using terminal::Style;

constexpr std::size_t kRows = 8;  // of each list

struct Glance {
  Reply fleet;
  Listing failed;
  Listing rounds;
};

Result<Glance> look(Session& session) {
  Parameters app;
  if (!session.options.app.empty()) app.emplace_back("app", session.options.app);
  auto fleet = session.api.send({.path = "/fleet", .parameters = app});
  if (!fleet) return std::move(fleet).error();
  // What fails now; what has failed and is mended is in 'opsctl results'.
  auto failed = list_failures(session.api, app, kRows);
  if (!failed) return std::move(failed).error();
  auto rounds = session.api.list("/rounds", app, kRows);
  if (!rounds) return std::move(rounds).error();
  return Glance{.fleet = std::move(*fleet), .failed = std::move(*failed), .rounds = std::move(*rounds)};
}

// "failed 2" in red, but not when it is 0.
std::string count(const Value& fleet, std::string_view name, std::string_view label, Style style,
                  const terminal::Paint& paint) {
  const Value& value = field(fleet, name);
  if (value.is_null()) return {};
  const std::string text = std::string(label) + " " + text_of(value);
  return "   " + (value.as_integer() == 0 ? paint(Style::dim, text) : paint(style, text));
}

// The state has a column of its own.
std::string failed_comment(const Value& failure) {
  const std::string comment = text_field(failure, "failed_state.comment");
  return comment.empty() ? text_field(failure, "status") + ": " + failure_text(failure) : comment;
}

std::string glance_text(const Glance& glance, const terminal::Paint& paint, std::size_t width) {
  const Value& fleet = glance.fleet.document.root();
  const Instant at = now();
  std::string text = paint(Style::bold, text_field(fleet, "online") + " of " +
                                            text_field(fleet, "instances") + " machines online");
  text += count(fleet, "converged", "converged", Style::green, paint) +
          count(fleet, "running", "running", Style::cyan, paint) +
          count(fleet, "waiting", "waiting", Style::yellow, paint) +
          count(fleet, "failed", "failed", Style::red, paint) +
          count(fleet, "rejected", "rejected", Style::red, paint) + "\n" +
          paint(Style::dim, "changes in the last hour ") + text_field(fleet, "changed_last_hour") +
          paint(Style::dim, "   results kept ") + text_field(fleet, "results") + "\n";

  Table failed({"FAILED", "MACHINE", "STATE", "COMMENT"});
  for (const Value& each : glance.failed.items)
    failed.add({{age_text(field(each, "failed_state.received"), at)},
                {text_field(each, "app_id") + "/" + text_field(each, "instance_id"), Style::bold},
                {text_field(each, "failed_state.state_id")},
                {failed_comment(each), Style::red}});
  if (!failed.empty()) text += "\n" + failed.text(paint, width);
  if (!glance.failed.next.empty())
    text += paint(Style::dim, "and more: 'opsctl agents' shows their status") + "\n";

  Table rounds({"ROUND", "MACHINE", "RESULTS", ">TOOK"});
  for (const Value& each : glance.rounds.items)
    rounds.add({{age_text(field(each, field(each, "received").is_null() ? "at" : "received"), at)},
                {text_field(each, "app_id") + "/" + text_field(each, "instance_id"), Style::bold},
                {pairs_text(field(each, "counts"), true)},
                {duration_text(number_field(each, "duration_ms"))}});
  if (!rounds.empty()) text += "\n" + rounds.text(paint, width);
  return text;
}

// A screen is drawn over the last one, line by line: no flicker.
void draw(terminal::Console& console, std::string_view text) {
  console.out.write("\x1b[H");
  for (const std::string_view line : base::split(text.substr(0, text.size() - 1), '\n'))
    console.out.write(std::string(line) + "\x1b[K\n");
  console.out.write("\x1b[J");
  console.out.flush();
}

}  // namespace

Result<int> top_command(Session& session) {
  terminal::Console& console = session.console;
  auto glance = look(session);
  if (!glance) return std::move(glance).error();
  if (show_document(session, glance->fleet.document.root())) return kOk;
  if (!console.live) {
    console.out.write(glance_text(*glance, console.paint, output_width()));
    return kOk;
  }
  console.out.write("\x1b[2J");
  while (console.out.ok()) {
    const std::string clock = base::utc_now().substr(11, 8) + " UTC  " + session.api.server();
    const std::string head = console.paint(Style::dim, clock) + "\n";
    if (glance)
      draw(console, head + glance_text(*glance, console.paint, output_width()));
    else
      draw(console,
           head + console.paint(Style::red, terminal::printable(glance.error().message(), true)) + "\n");
    std::this_thread::sleep_for(std::chrono::seconds(session.options.interval));
    glance = look(session);
  }
  return kOk;
}

}  // namespace ctl

#include "ctl/output/event_text.hpp"

#include "base/text.hpp"
#include "base/values/json.hpp"
#include "ctl/fields.hpp"
#include "ctl/output/show.hpp"
#include "ctl/time_text.hpp"
#include "terminal/shown_json.hpp"
#include "terminal/wrap.hpp"

namespace ctl {

namespace {

using base::Value;
using terminal::Paint;
using terminal::printable;
using terminal::Style;

std::string painted(const Cell& cell, const Paint& paint) {
  const std::string text = printable(cell.text);
  return cell.style ? paint(*cell.style, text) : text;
}

std::string state_of(const Value& data) {
  const std::string id = text_field(data, "state_id");
  return id.empty() ? text_field(data, "id") : id;
}

std::string one_line(std::string_view text) {
  return printable(terminal::join_lines(text, "; "));
}

std::string errors_text(const Value& data) {
  std::string text;
  for (const Value& error : items_field(data, "errors"))
    text += ": " + text_of(error);
  if (const std::string error = text_field(data, "error"); !error.empty()) text += ": " + error;
  return one_line(text);
}

std::string presence(const Value& data, const Paint& paint) {
  std::string text =
      flag_field(data, "online") ? paint(Style::green, "online") : paint(Style::red, "offline");
  if (const std::string version = text_field(data, "agent_version"); !version.empty())
    text += "  agent " + printable(version);
  if (const std::string reason = text_field(data, "reason"); !reason.empty()) text += "  " + one_line(reason);
  return text;
}

std::string recipe(const Value& data, const Paint& paint) {
  std::string text = "version " + text_field(data, "recipe_version");
  if (const std::string status = text_field(data, "status"); !status.empty())
    text += " " + painted(status_cell(status), paint);
  return text + errors_text(data);
}

std::string result(const Value& data, const Paint& paint) {
  std::string text = painted(outcome_cell(text_field(data, "outcome")), paint) + "  " +
                     paint(Style::bold, printable(state_of(data)));
  if (const std::string cause = text_field(data, "cause"); !cause.empty())
    text += " (" + printable(cause) + ")";
  if (const std::string comment = text_field(data, "comment"); !comment.empty())
    text += ": " + one_line(comment);
  return text;
}

std::string round(const Value& data) {
  std::string text = printable(pairs_text(field(data, "counts"), true));
  if (const std::int64_t left = number_field(data, "not_reached"); left > 0)
    text += ", " + std::to_string(left) + " not reached";
  text += "  in " + duration_text(number_field(data, "duration_ms"));
  std::string drift;
  for (const Value& id : items_field(data, "drift"))
    drift += (drift.empty() ? "" : ", ") + text_of(id);
  return drift.empty() ? text : text + "  drifted: " + printable(drift);
}

std::string wait(const Value& data, const Paint& paint) {
  std::string waited;
  for (const Value& each : items_field(data, "waiting_for"))
    waited +=
        (waited.empty() ? "" : ", ") + text_field(each, "instance_id") + "/" + text_field(each, "state_id");
  return paint(Style::bold, printable(state_of(data))) +
         (waited.empty() ? ": " + paint(Style::green, "satisfied") : " waits for " + printable(waited));
}

std::string update(const Value& data, const Paint& paint) {
  const std::string phase = text_field(data, "phase");
  const bool is_bad = phase == "failed" || phase == "rolled_back" || phase == "refused" || phase == "lost";
  return printable(text_field(data, "version")) + "  " +
         (is_bad ? paint(Style::red, phase) : printable(phase)) + errors_text(data);
}

std::string rollout(const Value& data, const Paint& paint) {
  const std::string state = text_field(data, "state");
  std::string text = printable(text_field(data, "version")) + "  " +
                     (state == "stopped" ? paint(Style::red, state) : printable(state)) + ", ring " +
                     text_field(data, "ring") + " of " + text_field(data, "rings");
  if (const std::string reason = text_field(data, "reason"); !reason.empty()) text += ": " + one_line(reason);
  return text + "  (" + printable(text_field(data, "id")) + ")";
}

std::string hold(const Value& data, const Paint& paint) {
  // What an operator wants, or what the machine says of itself.
  if (data.find("pause")) {
    const std::string reason = text_field(data, "pause.reason");
    return field(data, "pause").is_object()
               ? paint(Style::yellow, "paused") + " by " + printable(text_field(data, "pause.by")) +
                     " until " + printable(text_field(data, "pause.until")) +
                     (reason.empty() ? "" : ": " + one_line(reason))
               : paint(Style::green, "resumed");
  }
  std::string text;
  for (const Value& each : items_field(data, "holds"))
    text += (text.empty() ? "" : ", ") + std::string("held by ") + printable(text_field(each, "by")) +
            (text_field(each, "origin") == "machine" ? " at the machine" : " through the backend");
  return text.empty() ? paint(Style::green, "not held") : paint(Style::yellow, text);
}

std::string body_of(std::string_view type, const Value& data, const Paint& paint) {
  if (type == "presence") return presence(data, paint);
  if (type == "recipe") return recipe(data, paint);
  if (type == "result") return result(data, paint);
  if (type == "round") return round(data);
  if (type == "wait") return wait(data, paint);
  if (type == "update") return update(data, paint);
  if (type == "hold") return hold(data, paint);
  if (type == "rollout") return rollout(data, paint);
  return printable(text_of(data));
}

}  // namespace

std::string event_text(std::string_view type, const Value& data, std::string_view clock, const Paint& paint) {
  if (type == "gap")
    return paint(Style::yellow, std::string(clock) +
                                    " some events were missed: they are older than what the backend keeps") +
           "\n";
  const std::string app = text_field(data, "app_id");
  const std::string id = text_field(data, "instance_id");
  const std::string machine = printable(app + (app.empty() || id.empty() ? "" : "/") + id);
  std::string name(printable(type));
  name.resize(std::max<std::size_t>(name.size(), 8), ' ');
  const std::string head =
      paint(Style::dim, clock) + " " + paint(Style::cyan, machine) + "  " + paint(Style::dim, name) + "  ";
  if (type != "output") return head + body_of(type, data, paint) + "\n";

  std::string text;
  const std::string output = text_field(data, "data");
  std::string_view rest = output;
  if (rest.ends_with('\n')) rest.remove_suffix(1);
  for (const std::string_view line : base::split(rest, '\n'))
    text +=
        head + paint(Style::bold, printable(state_of(data))) + " | " +
        (text_field(data, "stream") == "stderr" ? paint(Style::yellow, printable(line)) : printable(line)) +
        "\n";
  return text;
}

std::string event_line(std::string_view id, std::string_view type, const Value& data) {
  const std::string json = "{\"id\":" + base::json_quote(id) + ",\"event\":" + base::json_quote(type) +
                           ",\"data\":" + base::to_json(data) + "}";
  return terminal::shown_json(json, base::Redactor()) + "\n";
}

}  // namespace ctl

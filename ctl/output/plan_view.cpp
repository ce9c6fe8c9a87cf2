#include "ctl/output/plan_view.hpp"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "base/text.hpp"
#include "base/values/json.hpp"
#include "ctl/fields.hpp"
#include "ctl/output/show.hpp"
#include "terminal/change_text.hpp"
#include "terminal/wrap.hpp"

namespace ctl {

namespace {

using base::Value;
using terminal::Paint;
using terminal::printable;
using terminal::Style;

constexpr std::size_t kMostNames = 5;
constexpr std::string_view kIndent = "      ";

bool is_nothing(std::string_view side) {
  return side.empty() || side == "absent";
}

struct Mark {
  char symbol;
  Style style;
};

// The signs of `opsagent plan`.
Mark mark_of(const Value& state) {
  const std::string verdict = text_field(state, "verdict");
  if (verdict == "skipped") return {'.', Style::dim};
  if (verdict == "kept") return {'=', Style::dim};
  if (verdict == "fail") return {'x', Style::red};
  if (verdict == "unknown") return {'?', Style::cyan};
  const auto changes = items_field(state, "changes");
  const auto all = [&](bool before, bool after) {
    return !changes.empty() && std::ranges::all_of(changes, [&](const Value& change) {
      return is_nothing(text_field(change, "before")) != before &&
             is_nothing(text_field(change, "after")) != after;
    });
  };
  if (all(false, true)) return {'+', Style::green};
  if (all(true, false)) return {'-', Style::red};
  return {'~', Style::yellow};
}

bool is_quiet(const Value& state) {
  const std::string verdict = text_field(state, "verdict");
  return verdict == "kept" || verdict == "skipped";
}

std::string state_text(const Value& state, const Paint& paint, std::size_t width) {
  const Mark mark = mark_of(state);
  std::string text = "  " + paint(mark.style, std::string(1, mark.symbol)) + " " +
                     paint(Style::bold, printable(text_field(state, "id"))) + "  " +
                     paint(Style::dim, printable(text_field(state, "module"))) + "\n";
  if (const std::string message = text_field(state, "message"); !message.empty())
    text += terminal::message_text(
        message, kIndent, mark.symbol == 'x' ? std::optional(Style::red) : std::nullopt, paint, width);
  for (const Value& change : items_field(state, "changes")) {
    const std::string what = text_field(change, "what");
    const std::string before = text_field(change, "before");
    const std::string after = text_field(change, "after");
    const std::string diff = text_field(change, "diff");
    text += terminal::change_text({.what = what, .before = before, .after = after, .diff = diff}, kIndent,
                                  paint, width);
  }
  return text;
}

std::string summary(const FleetPlan& plan, const Paint& paint, std::size_t width) {
  std::vector<std::string> parts;
  if (plan.to_change > 0)
    parts.push_back(paint(Style::yellow, count_text(plan.to_change, "machine") + " to change (" +
                                             count_text(plan.changed_states, "state") + ")"));
  if (plan.cannot_work > 0)
    parts.push_back(
        paint(Style::red, count_text(plan.cannot_work, "machine") + " where something cannot work"));
  if (!plan.silent.empty())
    parts.push_back(paint(Style::red, count_text(plan.silent.size(), "machine") + " without an answer"));
  if (plan.kept > 0) parts.push_back(count_text(plan.kept, "machine") + " with nothing to do");
  if (parts.empty()) parts.emplace_back("no machine");
  return terminal::wrap_lines(base::join(parts, ", ") + ".", paint(Style::bold, "Plan:") + " ", "    ",
                              width) +
         "\n";
}

void count_group(FleetPlan& plan, const PlanGroup& group) {
  std::size_t changes = 0;
  bool fails = false;
  for (const Value& state : group.states.items()) {
    const std::string verdict = text_field(state, "verdict");
    if (verdict == "change" || verdict == "unknown") ++changes;
    if (verdict == "fail") fails = true;
  }
  plan.changed_states += changes * group.machines.size();
  (fails ? plan.cannot_work : changes > 0 ? plan.to_change : plan.kept) += group.machines.size();
}

}  // namespace

std::string machines_text(const std::vector<std::string>& machines) {
  const std::size_t named = machines.size() <= kMostNames + 1 ? machines.size() : kMostNames;
  std::string text = base::join(std::span(machines).first(named), ", ");
  if (named < machines.size()) text += " and " + std::to_string(machines.size() - named) + " more";
  if (machines.size() > 1) text += " (" + count_text(machines.size(), "machine") + ")";
  return text;
}

FleetPlan fleet_plan(const Value& answer) {
  FleetPlan plan;
  std::unordered_map<std::string, std::size_t> known;  // a plan as JSON -> its group
  for (const Value& item : items_field(answer, "items")) {
    const std::string machine = text_field(item, "instance_id");
    std::string error = text_field(item, "error");
    for (const Value& each : items_field(item, "errors"))  // the agent refuses the recipe
      error += (error.empty() ? "" : "; ") + text_of(each);
    if (!error.empty()) {
      plan.silent.push_back({.machine = machine, .error = error});
      continue;
    }
    const Value& states = field(item, "states");
    const auto [at, is_new] = known.emplace(base::to_json(states), plan.groups.size());
    if (is_new) plan.groups.push_back({.machines = {}, .states = states});
    plan.groups[at->second].machines.push_back(machine);
  }
  for (const Value& machine : items_field(answer, "not_connected"))
    plan.silent.push_back({.machine = text_of(machine), .error = "not connected"});
  std::ranges::stable_sort(plan.groups, std::greater<>(),
                           [](const PlanGroup& group) { return group.machines.size(); });
  for (const PlanGroup& group : plan.groups)
    count_group(plan, group);
  return plan;
}

std::string plan_text(const FleetPlan& plan, bool verbose, const Paint& paint, std::size_t width) {
  using terminal::wrap_lines;
  std::string text;
  for (const PlanGroup& group : plan.groups) {
    std::string states;
    for (const Value& state : group.states.items())
      if (verbose || !is_quiet(state)) states += state_text(state, paint, width);
    const std::string machines = paint(Style::bold, printable(machines_text(group.machines)));
    text += wrap_lines(machines + (states.empty() ? ": nothing to do" : ""), "", "    ", width);
    text += "\n" + states + "\n";
  }
  for (const FleetPlan::Silent& each : plan.silent)
    text +=
        wrap_lines(printable(each.machine + ": " + each.error), paint(Style::red, "x") + " ", "    ", width) +
        "\n";
  if (!plan.silent.empty()) text += "\n";
  return text + summary(plan, paint, width);
}

}  // namespace ctl

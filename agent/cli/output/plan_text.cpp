#include "agent/cli/output/plan_text.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "terminal/diff_text.hpp"
#include "terminal/wrap.hpp"

namespace agent::cli {

namespace {

constexpr std::string_view kIndent = "    ";
constexpr std::string_view kDiffIndent = "        ";

struct PlanMark {
  char symbol;
  terminal::Style style;
};

PlanMark mark_of(const engine::PlannedState& state) {
  if (state.skipped) return {'.', terminal::Style::dim};
  switch (state.verdict) {
    case states::Verdict::kept:
      return {'=', terminal::Style::dim};
    case states::Verdict::fail:
      return {'x', terminal::Style::red};
    case states::Verdict::unknown:
      return {'?', terminal::Style::cyan};
    case states::Verdict::change:
      break;
  }
  const char symbol = change_symbol(state.changes);
  return {symbol, symbol == '+'   ? terminal::Style::green
                  : symbol == '-' ? terminal::Style::red
                                  : terminal::Style::yellow};
}

std::string heading(const engine::PlannedState& state, const terminal::Paint& paint) {
  const PlanMark mark = mark_of(state);
  return paint(mark.style, std::string(1, mark.symbol)) + " " +
         paint(terminal::Style::bold, terminal::printable(state.id)) + "  " +
         paint(terminal::Style::dim, state.module);
}

bool is_nothing(std::string_view side) {
  return side.empty() || side == "absent";
}

std::string change_line(const states::Change& change, const terminal::Paint& paint) {
  std::string text = terminal::printable(change.what);
  if (change.before.empty() && change.after.empty()) return text;
  text += ": ";
  if (!change.before.empty())
    text += paint(terminal::Style::red, terminal::printable(change.before)) + " -> ";
  return text +
         paint(terminal::Style::green, change.after.empty() ? "absent" : terminal::printable(change.after));
}

}  // namespace

char change_symbol(const std::vector<states::Change>& changes) {
  if (changes.empty()) return '~';
  if (std::ranges::all_of(
          changes, [](const auto& change) { return is_nothing(change.before) && !is_nothing(change.after); }))
    return '+';
  if (std::ranges::all_of(
          changes, [](const auto& change) { return !is_nothing(change.before) && is_nothing(change.after); }))
    return '-';
  return '~';
}

std::string changes_text(const std::vector<states::Change>& changes, const terminal::Paint& paint) {
  std::string text;
  for (const states::Change& change : changes) {
    text.append(kIndent).append(change_line(change, paint)).append("\n");
    if (!change.diff.empty()) text += terminal::diff_text(change.diff, kDiffIndent, paint);
  }
  return text;
}

std::string plan_block(const engine::PlannedState& state, const terminal::Paint& paint) {
  std::string text = heading(state, paint) + "\n";
  if (!state.message.empty()) {
    const std::string message = terminal::printable(state.message, true);
    for (const std::string_view line : base::split(message, '\n'))
      text.append(kIndent)
          .append(state.verdict == states::Verdict::fail ? paint(terminal::Style::red, line)
                                                         : std::string(line))
          .append("\n");
  }
  if (!state.depends_on.empty())
    text.append(kIndent).append("known once '" + terminal::printable(state.depends_on) + "' is applied\n");
  if (state.needs_root)
    text.append(kIndent).append(paint(terminal::Style::yellow, "needs root: apply it as root") + "\n");
  return text + changes_text(state.changes, paint);
}

std::string not_root_line(const std::string& user, const terminal::Paint& paint) {
  return paint(terminal::Style::yellow,
               "Planned as " + terminal::printable(user) +
                   ", not as root: what this user may not read is not seen, and what "
                   "needs root is not done by an apply as this user.");
}

std::string kept_line(const engine::PlannedState& state, const terminal::Paint& paint) {
  return heading(state, paint) + (state.message.empty() ? "" : ": " + terminal::printable(state.message)) +
         "\n";
}

std::string counts_line(const PlanCounts& counts, const terminal::Paint& paint) {
  std::vector<std::string> parts;
  const auto add = [&](std::size_t number, terminal::Style style, std::string_view what) {
    if (number > 0) parts.push_back(paint(style, std::to_string(number) + " " + std::string(what)));
  };
  add(counts.change, terminal::Style::yellow, "to change");
  add(counts.unknown, terminal::Style::cyan, "not known yet");
  add(counts.fail, terminal::Style::red, "cannot work");
  add(counts.kept, terminal::Style::dim, "kept");
  add(counts.skipped, terminal::Style::dim, "skipped");
  if (counts.change + counts.unknown + counts.fail == 0) parts.insert(parts.begin(), "nothing to do");
  return paint(terminal::Style::bold, "Plan:") + " " + base::join(parts, ", ") + ".";
}

PlanCounts count(const engine::PlanResult& plan) {
  PlanCounts counts;
  for (const engine::PlannedState& state : plan.states) {
    if (state.skipped) {
      ++counts.skipped;
      continue;
    }
    switch (state.verdict) {
      case states::Verdict::kept:
        ++counts.kept;
        break;
      case states::Verdict::change:
        ++counts.change;
        break;
      case states::Verdict::fail:
        ++counts.fail;
        break;
      case states::Verdict::unknown:
        ++counts.unknown;
        break;
    }
  }
  return counts;
}

}  // namespace agent::cli

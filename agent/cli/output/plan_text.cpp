#include "agent/cli/output/plan_text.hpp"

#include <algorithm>
#include <optional>

#include "base/text.hpp"
#include "terminal/change_text.hpp"
#include "terminal/wrap.hpp"

namespace agent::cli {

namespace {

constexpr std::string_view kIndent = "    ";

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

std::string changes_text(const std::vector<states::Change>& changes, const terminal::Paint& paint,
                         std::size_t width) {
  std::string text;
  for (const states::Change& change : changes)
    text += terminal::change_text(
        {.what = change.what, .before = change.before, .after = change.after, .diff = change.diff}, kIndent,
        paint, width);
  return text;
}

std::string plan_block(const engine::PlannedState& state, const terminal::Paint& paint, std::size_t width) {
  using terminal::message_text;
  std::string text = heading(state, paint) + "\n";
  if (!state.message.empty()) {
    const bool fails = state.verdict == states::Verdict::fail;
    text += message_text(state.message, kIndent, fails ? std::optional(terminal::Style::red) : std::nullopt,
                         paint, width);
  }
  if (!state.depends_on.empty())
    text +=
        message_text("known once '" + state.depends_on + "' is applied", kIndent, std::nullopt, paint, width);
  if (state.needs_root)
    text += message_text("needs root: apply it as root", kIndent, terminal::Style::yellow, paint, width);
  return text + changes_text(state.changes, paint, width);
}

std::string not_root_line(const std::string& user, const terminal::Paint& paint, std::size_t width) {
  const std::string text = "Planned as " + terminal::printable(user) +
                           ", not as root: what this user may not read is not seen, and what needs root is "
                           "not done by an apply as this user.";
  return paint(terminal::Style::yellow, terminal::wrap_lines(text, "", "", width));
}

std::string kept_line(const engine::PlannedState& state, const terminal::Paint& paint, std::size_t width) {
  const std::string first = heading(state, paint);
  if (state.message.empty()) return first + "\n";
  return terminal::wrap_lines(terminal::printable(state.message), first + ": ", kIndent, width) + "\n";
}

std::string counts_line(const PlanCounts& counts, const terminal::Paint& paint, std::size_t width) {
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
  return terminal::wrap_lines(base::join(parts, ", ") + ".", paint(terminal::Style::bold, "Plan:") + " ",
                              kIndent, width);
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

#include "base/diff.hpp"

#include <algorithm>
#include <vector>

namespace base {

namespace {

using Lines = std::vector<std::string_view>;

// With their newlines, so that a missing one at the end is a difference.
Lines lines_of(std::string_view text) {
  Lines lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return lines;
}

struct Edit {
  char kind;  // ' ', '-', '+'
  std::string_view line;
};

// Myers' greedy algorithm, which needs time and memory in proportion to the number of edits squared; given up
// past kMostEdits.
bool shortest_edits(const Lines& a, const Lines& b, std::vector<Edit>& edits) {
  constexpr int kMostEdits = 1000;
  const int n = static_cast<int>(a.size());
  const int m = static_cast<int>(b.size());
  const int most = std::min(n + m, kMostEdits);
  const auto slot = [most](int k) { return static_cast<std::size_t>(k + most + 1); };
  std::vector<int> reach(static_cast<std::size_t>(2 * most + 3), 0);
  std::vector<std::vector<int>> history;
  for (int d = 0; d <= most; ++d) {
    history.push_back(reach);
    for (int k = -d; k <= d; k += 2) {
      const bool down = k == -d || (k != d && reach[slot(k - 1)] < reach[slot(k + 1)]);
      int x = down ? reach[slot(k + 1)] : reach[slot(k - 1)] + 1;
      int y = x - k;
      while (x < n && y < m && a[static_cast<std::size_t>(x)] == b[static_cast<std::size_t>(y)])
        ++x, ++y;
      reach[slot(k)] = x;
      if (x < n || y < m) continue;
      // Found: walk back through the history.
      for (int step = d; step > 0; --step) {
        const auto& before = history[static_cast<std::size_t>(step)];
        const int diagonal = x - y;
        const bool came_down = diagonal == -step ||
                               (diagonal != step && before[slot(diagonal - 1)] < before[slot(diagonal + 1)]);
        const int from_x = before[slot(came_down ? diagonal + 1 : diagonal - 1)];
        const int from_y = from_x - (came_down ? diagonal + 1 : diagonal - 1);
        while (x > from_x + (came_down ? 0 : 1) && y > from_y + (came_down ? 1 : 0))
          edits.push_back({' ', a[static_cast<std::size_t>(--x)]}), --y;
        if (came_down)
          edits.push_back({'+', b[static_cast<std::size_t>(--y)]});
        else
          edits.push_back({'-', a[static_cast<std::size_t>(--x)]});
      }
      while (x > 0)
        edits.push_back({' ', a[static_cast<std::size_t>(--x)]}), --y;
      std::reverse(edits.begin(), edits.end());
      return true;
    }
  }
  return false;
}

std::string range(std::size_t start, std::size_t count) {
  return std::to_string(count == 0 ? start : start + 1) + (count == 1 ? "" : "," + std::to_string(count));
}

}  // namespace

std::string unified_diff(std::string_view before, std::string_view after, std::size_t most_lines) {
  constexpr std::size_t kContext = 3;
  if (before == after) return {};
  const Lines a = lines_of(before);
  const Lines b = lines_of(after);
  std::vector<Edit> edits;
  if (!shortest_edits(a, b, edits)) {
    edits.clear();
    for (std::string_view line : a)
      edits.push_back({'-', line});
    for (std::string_view line : b)
      edits.push_back({'+', line});
  }

  std::string out;
  std::size_t shown = 0;
  std::size_t left_out = 0;
  const auto show = [&](char kind, std::string_view line) {
    if (++shown > most_lines) {
      ++left_out;
      return;
    }
    const bool ends = line.ends_with('\n');
    out.append(1, kind).append(ends ? line.substr(0, line.size() - 1) : line).append("\n");
    if (!ends) out += "\\ No newline at end of file\n";
  };

  std::size_t line_a = 0;  // lines of each text before edits[i]
  std::size_t line_b = 0;
  for (std::size_t i = 0; i < edits.size();) {
    if (edits[i].kind == ' ') {
      ++i, ++line_a, ++line_b;
      continue;
    }
    // A hunk: from here on until more than two contexts' worth of equal lines.
    const std::size_t lead = std::min({kContext, i, line_a, line_b});
    std::size_t end = i;
    for (std::size_t j = i, same = 0; j < edits.size() && same <= 2 * kContext; ++j) {
      same = edits[j].kind == ' ' ? same + 1 : 0;
      if (same == 0) end = j + 1;
    }
    const std::size_t stop = std::min(end + kContext, edits.size());
    std::size_t count_a = lead, count_b = lead;
    for (std::size_t j = i; j < stop; ++j) {
      count_a += edits[j].kind != '+';
      count_b += edits[j].kind != '-';
    }
    if (shown < most_lines)
      out += "@@ -" + range(line_a - lead, count_a) + " +" + range(line_b - lead, count_b) + " @@\n";
    for (std::size_t j = i - lead; j < stop; ++j)
      show(edits[j].kind, edits[j].line);
    line_a += count_a - lead;
    line_b += count_b - lead;
    i = stop;
  }
  if (left_out > 0) out += "[" + std::to_string(left_out) + " more lines]\n";
  return out;
}

}  // namespace base

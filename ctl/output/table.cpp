#include "ctl/output/table.hpp"

#include <algorithm>
#include <numeric>

#include "base/text.hpp"
#include "terminal/wrap.hpp"

namespace ctl {

namespace {

constexpr std::size_t kGap = 2;
constexpr std::size_t kComfortable =
    16;  // columns on the right are left out before others are cut below this
constexpr std::size_t kNarrowest = 4;

bool is_right(std::string_view title) {
  return title.starts_with('>');
}

std::string_view bare(std::string_view title) {
  return is_right(title) ? title.substr(1) : title;
}

std::size_t sum(const std::vector<std::size_t>& widths) {
  return std::accumulate(widths.begin(), widths.end(), std::size_t{0}) + kGap * (widths.size() - 1);
}

// Leaves out what stands on the right, then takes from the widest, until all fit.
void fit(std::vector<std::size_t>& widths, std::size_t available) {
  const auto least = [&] {
    std::vector<std::size_t> narrow = widths;
    for (std::size_t& width : narrow)
      width = std::min(width, kComfortable);
    return sum(narrow);
  };
  while (widths.size() > 2 && least() > available)
    widths.pop_back();
  while (sum(widths) > available) {
    const auto widest = std::ranges::max_element(widths);
    if (*widest <= kNarrowest) return;
    --*widest;
  }
}

}  // namespace

std::string shortened(std::string_view text, std::size_t width) {
  if (terminal::display_width(text) <= width) return std::string(text);
  std::size_t end = 0;
  for (std::size_t columns = 0; end < text.size() && columns + 1 < width; ++columns)
    end += std::max<std::size_t>(base::utf8_length(text, end), 1);
  return std::string(text.substr(0, end)) + "…";
}

void Table::add(std::vector<Cell> cells) {
  cells.resize(titles_.size());
  for (Cell& cell : cells)
    cell.text = terminal::printable(terminal::join_lines(cell.text, "; "));
  rows_.push_back(std::move(cells));
}

Table::Layout Table::layout(std::size_t width) const {
  Layout layout;
  for (std::size_t i = 0; i < titles_.size(); ++i) {
    std::size_t widest = 0;
    for (const auto& row : rows_)
      widest = std::max(widest, terminal::display_width(row[i].text));
    if (widest == 0 && !rows_.empty()) continue;
    layout.shown.push_back(i);
    layout.widths.push_back(std::max(widest, bare(titles_[i]).size()));
  }
  if (width > 0 && !layout.widths.empty()) fit(layout.widths, width);
  const auto end = layout.shown.begin() + static_cast<std::ptrdiff_t>(layout.widths.size());
  layout.left_out.assign(end, layout.shown.end());
  layout.shown.erase(end, layout.shown.end());
  return layout;
}

std::vector<std::string> Table::left_out(std::size_t width) const {
  std::vector<std::string> titles;
  for (const std::size_t column : layout(width).left_out)
    titles.emplace_back(bare(titles_[column]));
  return titles;
}

std::string Table::text(const terminal::Paint& paint, std::size_t width) const {
  const auto [shown, widths, left_out] = layout(width);
  std::string out;
  const auto add_line = [&](const auto& cell_of) {
    std::string line;
    for (std::size_t i = 0; i < shown.size(); ++i) {
      const Cell cell = cell_of(shown[i]);
      const std::string text = shortened(cell.text, widths[i]);
      const std::string blanks(widths[i] - terminal::display_width(text), ' ');
      const std::string painted = cell.style ? paint(*cell.style, text) : text;
      const bool is_last = i + 1 == shown.size();
      line += is_right(titles_[shown[i]]) ? blanks + painted : painted + (is_last ? "" : blanks);
      if (!is_last) line.append(kGap, ' ');
    }
    out.append(line.substr(0, line.find_last_not_of(' ') + 1)).append("\n");
  };
  add_line([&](std::size_t i) { return Cell{std::string(bare(titles_[i])), terminal::Style::dim}; });
  for (const auto& row : rows_)
    add_line([&](std::size_t i) { return row[i]; });
  return out;
}

}  // namespace ctl

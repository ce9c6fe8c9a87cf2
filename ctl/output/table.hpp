// Tables for people: columns as wide as they need, and no line wider than the terminal.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "terminal/console.hpp"

namespace ctl {

struct Cell {
  std::string text;  // any bytes: they are made printable
  std::optional<terminal::Style> style = {};
};

class Table {
 public:
  // Titles that start with '>' are aligned to the right.
  explicit Table(std::vector<std::string> titles) : titles_(std::move(titles)) {}

  // As many cells as there are titles.
  void add(std::vector<Cell> cells);
  bool empty() const { return rows_.empty(); }

  // `width` 0: no limit. Where it is narrow, columns on the right are left out and the widest are cut, which
  // ends them in "…". Columns that are empty in all rows are left out. So the most important come first.
  std::string text(const terminal::Paint& paint, std::size_t width) const;
  // The titles of the columns for which there is no room; those that are empty are not among them.
  std::vector<std::string> left_out(std::size_t width) const;

 private:
  struct Layout {
    std::vector<std::size_t> shown;  // columns
    std::vector<std::size_t> widths;
    std::vector<std::size_t> left_out;
  };
  Layout layout(std::size_t width) const;

  std::vector<std::string> titles_;
  std::vector<std::vector<Cell>> rows_;
};

// The first columns of a text; what is cut away is shown as "…".
std::string shortened(std::string_view text, std::size_t width);

using terminal::output_width;

}  // namespace ctl

#include "ctl/output/table.hpp"

#include <doctest/doctest.h>

#include "base/text.hpp"
#include "terminal/wrap.hpp"

using ctl::Table;
using terminal::Paint;
using terminal::Style;

namespace {

const Paint kPlain(false);

std::size_t widest_line(std::string_view text) {
  std::size_t widest = 0;
  for (const std::string_view line : base::split(text, '\n'))
    widest = std::max(widest, terminal::display_width(line));
  return widest;
}

}  // namespace

TEST_CASE("columns are as wide as they need, numbers stand on the right, no blanks at the ends of lines") {
  Table table({"NAME", ">AGE", "COMMENT"});
  table.add({{"web1"}, {"7"}, {"fine"}});
  table.add({{"database-12"}, {"1200"}, {""}});
  CHECK(table.text(kPlain, 0) ==
        "NAME          AGE  COMMENT\n"
        "web1            7  fine\n"
        "database-12  1200\n");
}

TEST_CASE("a table is never wider than the terminal, and the widest columns give way") {
  Table table({"NAME", "COMMENT", "ERROR"});
  table.add({{"web1"}, {std::string(200, 'c')}, {std::string(90, 'e')}});
  for (const std::size_t width : {40U, 80U, 120U}) {
    const std::string text = table.text(kPlain, width);
    CHECK(widest_line(text) <= width);
    CHECK(text.find("web1") != std::string::npos);
    CHECK(text.find("c…") != std::string::npos);
  }
  CHECK(table.text(kPlain, 0).find("…") == std::string::npos);
}

TEST_CASE("colours do not disturb the columns") {
  Table table({"A", "B"});
  table.add({{"long text", Style::red}, {"x"}});
  table.add({{"short", Style::green}, {"y"}});
  const std::string text = table.text(Paint(true), 0);
  std::vector<std::size_t> columns;
  for (const std::string_view line : base::split(text, '\n'))
    if (line.find_first_of("xy") != std::string_view::npos && line.ends_with('x') + line.ends_with('y') > 0)
      columns.push_back(terminal::display_width(line));
  CHECK(columns == std::vector<std::size_t>{12, 12});
}

TEST_CASE("text from elsewhere cannot play with the terminal or break the rows") {
  Table table({"NAME", "COMMENT"});
  table.add({{"\x1b[31mred"}, {"two\nlines\x07"}});
  const std::string text = table.text(kPlain, 0);
  CHECK(text.find('\x1b') == std::string::npos);
  CHECK(text.find('\x07') == std::string::npos);
  CHECK(text.find("two; lines") != std::string::npos);
}

TEST_CASE("columns that say nothing are left out") {
  Table table({"NAME", "ERROR", "OS"});
  table.add({{"web1"}, {""}, {"debian"}});
  CHECK(table.text(kPlain, 0) == "NAME  OS\nweb1  debian\n");
}

TEST_CASE("a table knows which columns it has no room for") {
  Table table({"NAME", "EMPTY", "TAGS", ">AGENT", "OS"});
  table.add({{"web1"}, {""}, {std::string(30, 't')}, {std::string(30, 'a')}, {std::string(30, 'o')}});
  CHECK(table.left_out(0).empty());
  CHECK(table.left_out(200).empty());
  CHECK(table.left_out(50) == std::vector<std::string>{"OS"});
  CHECK(table.left_out(30) == std::vector<std::string>{"AGENT", "OS"});
  CHECK(table.text(kPlain, 30).find("AGENT") == std::string::npos);
}

TEST_CASE("a shortened text keeps whole characters") {
  CHECK(ctl::shortened("grün und blau", 5) == "grün…");
  CHECK(ctl::shortened("abc", 3) == "abc");
}

#include "terminal/wrap.hpp"

#include <string>
#include <vector>

#include <doctest/doctest.h>

using terminal::printable;

TEST_CASE("no text of others plays with the terminal") {
  CHECK(printable("Gr\u00fc\u00dfe\t\u05d0\u0627\u20ac") == "Gr\u00fc\u00dfe\t\u05d0\u0627\u20ac");
  CHECK(printable("\x1b[2J\x07\x7f") == "\\x1b[2J\\x07\\x7f");
  CHECK(printable("\xc2\x9b") == "\\x9b");
  CHECK(printable("a\nb") == "a\\nb");
  CHECK(printable("a\nb", true) == "a\nb");
  CHECK(printable("\xff") == "\uFFFD");
}

TEST_CASE("no text of others turns the direction of the line around it, or looks like a line of its own") {
  CHECK(printable("user\u202Etxt.exe") == "user\\u202etxt.exe");
  for (const bool keep_newlines : {false, true})
    CHECK(
        printable("\u061C\u200E\u200F\u2028\u2029\u202A\u202B\u202C\u202D\u202E\u2066\u2067\u2068\u2069",
                  keep_newlines) ==
        "\\u061c\\u200e\\u200f\\u2028\\u2029\\u202a\\u202b\\u202c\\u202d\\u202e\\u2066\\u2067\\u2068\\u2069");
  CHECK(printable("\U0001F469\u200D\U0001F680") == "\U0001F469\u200D\U0001F680");
}

TEST_CASE("lines that are too long are broken between words, others stay as they are") {
  using terminal::wrap_lines;
  CHECK(wrap_lines("one  two three four", "+ a: ", "    ", 14) == "+ a: one two\n    three four");
  CHECK(wrap_lines("one  two\n\nthree", "+ a: ", "    ", 14) == "+ a: one  two\n    three");
  CHECK(wrap_lines("one  two three four", "+ a: ", "    ", 0) == "+ a: one  two three four");
  CHECK(wrap_lines("unbreakable-word", "+ ", "  ", 5) == "+ unbreakable-word");
  CHECK(wrap_lines("", "+ a: ", "    ", 14) == "+ a: ");
}

TEST_CASE("parts stay whole, and a line ends between them only") {
  const std::vector<std::string> parts{"command:", "echo one two", "x"};
  CHECK(terminal::wrap_parts(parts, "  ", "    ", 20) == "  command:\n    echo one two x");
  CHECK(terminal::wrap_parts(parts, "  ", "    ", 8) == "  command:\n    echo one two\n    x");
  CHECK(terminal::wrap_parts(parts, "  ", "    ", 0) == "  command: echo one two x");
}

TEST_CASE("a text is cut to the columns that there are") {
  using terminal::cut_to_width;
  CHECK(cut_to_width("gr\u00fc\u00dfe", 5) == "gr\u00fc\u00dfe");
  CHECK(cut_to_width("gr\u00fc\u00dfe", 4) == "gr\u00fc…");
  CHECK(cut_to_width("abc", 1) == "…");
  CHECK(cut_to_width("abc", 0) == "");
}

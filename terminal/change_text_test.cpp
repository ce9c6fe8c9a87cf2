#include "terminal/change_text.hpp"

#include <doctest/doctest.h>

using terminal::change_text;
using terminal::message_text;
using terminal::Paint;
using terminal::Style;

TEST_CASE("what is said about a state is broken between words, hangs, and has its colour in every line") {
  CHECK(message_text("one two three four", "    ", std::nullopt, Paint(false), 17) ==
        "    one two three\n      four\n");
  CHECK(message_text("one two three four", "    ", std::nullopt, Paint(false), 0) ==
        "    one two three four\n");
  CHECK(message_text("one two\nthree", "  ", Style::red, Paint(true), 6) ==
        "  \x1b[31mone\x1b[0m\n  \x1b[31m  two\x1b[0m\n  \x1b[31mthree\x1b[0m\n");
  CHECK(message_text("one two", "    ", std::nullopt, Paint(false), 2) == "    one\n      two\n");
}

TEST_CASE("a change is broken between what, before and after, and nowhere in them") {
  const terminal::ShownChange command{.what = "command", .after = "echo one two three"};
  CHECK(change_text(command, "  ", Paint(false), 20) == "  command:\n    echo one two three\n");
  CHECK(change_text(command, "  ", Paint(false), 0) == "  command: echo one two three\n");
  const terminal::ShownChange content{.what = "content of /a b",
                                      .before = "6 bytes",
                                      .after = "",
                                      .diff = "@@ -1 +0,0 @@\n-one two three four\n"};
  CHECK(change_text(content, "  ", Paint(false), 21) ==
        "  content of /a b:\n"
        "    6 bytes -> absent\n"
        "      @@ -1 +0,0 @@\n"
        "      -one two three four\n");
}

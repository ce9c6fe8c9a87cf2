#include "base/output_text.hpp"

#include <string>

#include <doctest/doctest.h>

namespace base {

TEST_CASE("plain text passes unchanged") {
  CHECK(clean_output("") == "");
  CHECK(clean_output("one\n\ntwo\n") == "one\n\ntwo\n");
  CHECK(clean_output("no line end") == "no line end");
  CHECK(clean_output("tab\there, \xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80\n") ==
        "tab\there, \xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80\n");
}

TEST_CASE("a character at the end whose rest may be yet to come is told from a whole one") {
  CHECK(whole_characters("") == 0);
  CHECK(whole_characters("abc") == 3);
  CHECK(whole_characters("a\xC3") == 1);
  CHECK(whole_characters("a\xC3\xA9") == 3);
  CHECK(whole_characters("a\xE2\x82") == 1);
  CHECK(whole_characters("a\xF0\x9F\x98") == 1);
  CHECK(whole_characters("a\xF0\x9F\x98\x80") == 5);
  CHECK(whole_characters("a\x82\x82\x82\x82") == 5);  // no character, whatever follows
  CHECK(whole_characters("\xE2z") == 2);
}

TEST_CASE("of an overwritten line the last version stays") {
  CHECK(clean_output(" 10%\r 50%\r100%\ndone\n") == "100%\ndone\n");
  CHECK(clean_output(" 10%\r 50%\r100%") == "100%");
}

TEST_CASE("a carriage return before the line end does not empty the line") {
  CHECK(clean_output("one\r\ntwo\r\n") == "one\ntwo\n");
  CHECK(clean_output("10%\r100%\r\r\n") == "100%\n");
  CHECK(clean_output("50%\r") == "50%");
  CHECK(clean_output("\r\n\r") == "\n");
}

TEST_CASE("lines with ten dots in a row are dropped with their line end") {
  CHECK(clean_output("a\nfetching ..........\nb\n") == "a\nb\n");
  CHECK(clean_output("a\n..............") == "a\n");
  CHECK(clean_output("wait.........\n") == "wait.........\n");
  CHECK(clean_output("..... .....\n") == "..... .....\n");
}

TEST_CASE("dots that were overwritten do not drop the line") {
  CHECK(clean_output("..........\rready\n") == "ready\n");
}

TEST_CASE("escape sequences are removed") {
  CHECK(clean_output("\x1b[1;31merror\x1b[0m: no\n") == "error: no\n");
  CHECK(clean_output("\x1b[2K\x1b[1Gline\x1b[?25l\n") == "line\n");
  CHECK(clean_output("\x1b[38;2;1;2;3mx\x1b[ qy\n") == "xy\n");
  CHECK(clean_output("\x1b]0;title\atext \x1b]8;;http://a/\x1b\\link\x1b]8;;\x1b\\\n") == "text link\n");
  CHECK(clean_output("\x1bPq#0;2\x1b\\text\x1b(B\x1b=\x1b"
                     "7\n") == "text\n");
}

TEST_CASE("escape sequences are gone before lines are looked at") {
  CHECK(clean_output("old\r\x1b[Knew\x1b[0m\r\n") == "new\n");
  CHECK(clean_output(".....\x1b[32m.....\n") == "");
}

TEST_CASE("an unfinished escape sequence takes no text with it") {
  CHECK(clean_output("a\x1b") == "a");
  CHECK(clean_output("a\x1b[") == "a");
  CHECK(clean_output("a\x1b[1;3") == "a");
  CHECK(clean_output("a\x1b[12\nb\n") == "a\nb\n");
  CHECK(clean_output("a\x1b]0;title\nb\n") == "a\nb\n");
  CHECK(clean_output("a\x1b]0;title\x1b[1mb\n") == "ab\n");
  CHECK(clean_output("a\x1b\xC3\xA4\n") == "a\xC3\xA4\n");
}

TEST_CASE("what is not UTF-8 becomes the replacement character") {
  const std::string mark = "\xEF\xBF\xBD";
  CHECK(clean_output("a\xFF"
                     "b") == "a" + mark + "b");
  CHECK(clean_output("\x80") == mark);
  CHECK(clean_output("\xC0\xAF") == mark + mark);                        // overlong
  CHECK(clean_output("\xE0\x80\x80") == mark + mark + mark);             // overlong
  CHECK(clean_output("\xED\xA0\x80") == mark + mark + mark);             // a surrogate
  CHECK(clean_output("\xF4\x90\x80\x80") == mark + mark + mark + mark);  // past U+10FFFF
  CHECK(clean_output("\xE2\x82") == mark);                               // cut short at the end
  CHECK(clean_output("\xE2\x82z") == mark + "z");
  CHECK(clean_output("\xF0\x9F\x98\n") == mark + "\n");
  CHECK(clean_output("\xED\x9F\xBF\xEE\x80\x80\xF4\x8F\xBF\xBF") ==
        "\xED\x9F\xBF\xEE\x80\x80\xF4\x8F\xBF\xBF");
}

TEST_CASE("the last line that says anything is found") {
  CHECK(last_line("") == "");
  CHECK(last_line("\n \n") == "");
  CHECK(last_line("one") == "one");
  CHECK(last_line("one\n  two \n\n \n") == "two");
}

TEST_CASE("escape sequences are removed from chunks of any size as from the whole text") {
  const std::string raw =
      "\x1b[1;31mred\x1b[0m plain \x1b]0;title\atext \x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\ \x1b(Bend\n"
      "\x1b]never ended\nnext\x1b[K";
  const std::string whole = clean_output(raw);
  for (std::size_t size = 1; size <= raw.size(); ++size) {
    EscapeRemover remover;
    std::string text;
    for (std::size_t at = 0; at < raw.size(); at += size)
      text += remover.add(std::string_view(raw).substr(at, size));
    CHECK(text == whole);
  }
}

TEST_CASE("a sequence without end is not kept for ever") {
  EscapeRemover remover;
  CHECK(remover.add("\x1b]" + std::string(10'000, 'x')).empty());
  CHECK(remover.add("after\n") == "after\n");
}

}  // namespace base

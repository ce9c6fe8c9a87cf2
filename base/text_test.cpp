#include "base/text.hpp"

#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace base {

namespace {

using Pieces = std::vector<std::string_view>;

}  // namespace

TEST_CASE("letters are compared without their case, other bytes as they are") {
  CHECK(equal_ignoring_case("TrUe", "true"));
  CHECK(equal_ignoring_case("", ""));
  CHECK_FALSE(equal_ignoring_case("true", "tru"));
  CHECK_FALSE(equal_ignoring_case("[", "{"));
  CHECK_FALSE(equal_ignoring_case("\xc3\x84", "\xc3\xa4"));
}

TEST_CASE("an integer is the whole text and fits") {
  CHECK(parse_integer("0") == 0);
  CHECK(parse_integer("-17") == -17);
  CHECK(parse_integer("007") == 7);
  CHECK(parse_integer("9223372036854775807") == INT64_MAX);
  CHECK(parse_integer("-9223372036854775808") == INT64_MIN);
  for (const char* text : {"", "-", "+1", " 1", "1 ", "1x", "0x10", "1.0", "1e3", "9223372036854775808",
                           "-9223372036854775809", "99999999999999999999999"})
    CHECK_FALSE(parse_integer(text));
  CHECK_FALSE(parse_integer(std::string_view("1\0", 2)));
}

TEST_CASE("blanks at both ends are trimmed, those inside stay") {
  CHECK(trim(" \t\r\n\v\fa b \n") == "a b");
  CHECK(trim("a") == "a");
  CHECK(trim(" \n ") == "");
  CHECK(trim("") == "");
}

TEST_CASE("a text is split at every separator") {
  CHECK(split("", ',') == Pieces{});
  CHECK(split("a", ',') == Pieces{"a"});
  CHECK(split("a,b", ',') == Pieces{"a", "b"});
  CHECK(split(",a,,b,", ',') == Pieces{"", "a", "", "b", ""});
  CHECK(split(",", ',') == Pieces{"", ""});
}

TEST_CASE("words are what is between blanks") {
  CHECK(split_words("") == Pieces{});
  CHECK(split_words(" \t\n") == Pieces{});
  CHECK(split_words("  a\tbb\n\nc ") == Pieces{"a", "bb", "c"});
}

TEST_CASE("joining puts a separator between any two parts, empty ones included") {
  using Parts = std::vector<std::string>;
  CHECK(join(Parts{}, ", ") == "");
  CHECK(join(Parts{"a"}, ", ") == "a");
  CHECK(join(Parts{"a", "b"}, ", ") == "a, b");
  CHECK(join(Parts{"", "a", ""}, ",") == ",a,");
}

TEST_CASE("a mistyped word is taken for the nearest one, if one is near") {
  const std::vector<std::string_view> known{"content", "mode", "path", "owner"};
  CHECK(nearest("contents", known) == "content");
  CHECK(nearest("contetn", known) == "content");
  CHECK(nearest("MODE", known) == "mode");
  CHECK(nearest("moed", known) == "mode");
  CHECK(nearest("pth", known) == "path");
  CHECK(nearest("cnotetn", known) == "content");
  CHECK_FALSE(nearest("checksum", known));
  CHECK_FALSE(nearest("xy", known));
  // Other words, not slips.
  CHECK_FALSE(nearest("home", known));
  CHECK_FALSE(nearest("note", known));
  CHECK_FALSE(nearest("parent", known));
  CHECK_FALSE(nearest("convents-x", known));
  const std::vector<std::string_view> modules{"linux.apt.package", "linux.file", "common.git"};
  CHECK(nearest("linux.apt.pakcages", modules) == "linux.apt.package");
  CHECK_FALSE(nearest("linux.yum.package", modules));
  CHECK_FALSE(nearest("linux.mount", modules));
  CHECK_FALSE(nearest("a", std::vector<std::string_view>{"b"}));
  CHECK_FALSE(nearest("", known));
  CHECK_FALSE(nearest("content", {}));
  CHECK_FALSE(nearest(std::string(10'000, 'c'), known));
}

TEST_CASE("a message proposes the nearest word, or nothing") {
  const std::vector<std::string_view> known{"json", "root"};
  CHECK(did_you_mean("jsno", known, "--") == "; did you mean '--json'?");
  CHECK(did_you_mean("rot", known) == "; did you mean 'root'?");
  CHECK(did_you_mean("yaml", known).empty());
}

TEST_CASE("well-formed UTF-8 of every length") {
  CHECK(is_utf8(""));
  CHECK(is_utf8("plain"));
  CHECK(is_utf8(std::string_view("\0", 1)));
  CHECK(is_utf8("\x7f"));
  CHECK(is_utf8("\xc2\x80 \xdf\xbf"));
  CHECK(is_utf8("\xe0\xa0\x80 \xed\x9f\xbf \xee\x80\x80 \xef\xbf\xbf"));
  CHECK(is_utf8("\xf0\x90\x80\x80 \xf4\x8f\xbf\xbf"));
  CHECK(utf8_length("\xe2\x82\xac!", 0) == 3);
  CHECK(utf8_length("\xe2\x82\xac!", 3) == 1);
  CHECK(utf8_length("a", 1) == 0);
}

TEST_CASE("UTF-8 that is overlong, a surrogate, too large, cut off or out of order is refused") {
  for (const char* text : {"\x80",
                           "\xbf",
                           "\xc0\x80",
                           "\xc1\xbf",
                           "\xe0\x80\x80",
                           "\xe0\x9f\xbf",
                           "\xed\xa0\x80",
                           "\xed\xbf\xbf",
                           "\xf0\x80\x80\x80",
                           "\xf0\x8f\xbf\xbf",
                           "\xf4\x90\x80\x80",
                           "\xf5\x80\x80\x80",
                           "\xfe",
                           "\xff",
                           "\xc2",
                           "\xe2\x82",
                           "\xf0\x9f\x98",
                           "\xc2 ",
                           "\xe2\x28\xa1",
                           "\xf0\x9f\x98 "}) {
    CHECK_FALSE(is_utf8(text));
    CHECK_FALSE(is_utf8("ok " + std::string(text)));
  }
}

TEST_CASE("a character is known by its number, whatever its length") {
  CHECK(utf8_character("a") == U'a');
  CHECK(utf8_character("\u00e4") == U'\u00e4');
  CHECK(utf8_character("\u202e") == U'\u202e');
  CHECK(utf8_character("\U0001F600") == U'\U0001F600');
}

TEST_CASE("characters that change how a line is read are known, and those of languages are not among them") {
  for (const char32_t mark :
       U"\u061c\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
    if (mark != 0) CHECK(changes_reading(mark));
  for (const char32_t other : U"a\u00e4\u05d0\u0627\u200c\u200d\u2027\u202f\u2065\u206a\u20ac\U0001F600")
    CHECK_FALSE(changes_reading(other));
}

TEST_CASE("a long text is cut between two characters, and says how long it was") {
  CHECK(cut_text("short", 5) == "short");
  CHECK(cut_text("longer", 5) == "longe… (6 bytes)");
  CHECK(cut_text("ab\u20acd", 3) == "ab… (6 bytes)");
  CHECK(cut_text("ab\u20acd", 4) == "ab… (6 bytes)");
  CHECK(cut_text("ab\u20acd", 5) == "ab\u20ac… (6 bytes)");
  CHECK(cut_text("\U0001F600", 3) == "… (4 bytes)");
  CHECK(cut_text(std::string(100, '\x80'), 10) == std::string(10, '\x80') + "… (100 bytes)");
  CHECK(is_utf8(quote_of(std::string(300, 'x'))));
  CHECK(quote_of(std::string(300, 'x')).size() < kLongestQuote + 20);
}

}  // namespace base

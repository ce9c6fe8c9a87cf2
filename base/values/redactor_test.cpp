#include "base/values/redactor.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

namespace base {

namespace {

// The same text in chunks of one size, put together again.
std::string streamed(const Redactor& redactor, std::string_view text, std::size_t chunk) {
  RedactingStream stream(redactor);
  std::string shown;
  for (std::size_t at = 0; at < text.size(); at += chunk)
    shown += stream.add(text.substr(at, chunk));
  return shown + stream.finish();
}

}  // namespace

TEST_CASE("every occurrence of a secret is replaced, and nothing else") {
  Redactor redactor;
  redactor.add("hunter22");
  CHECK(redactor.redact("") == "");
  CHECK(redactor.redact("hunter2") == "hunter2");
  CHECK(redactor.redact("hunter22") == "***");
  CHECK(redactor.redact("a hunter22, hunter22hunter22 b") == "a ***, ****** b");
}

TEST_CASE("without secrets a text passes unchanged") {
  const Redactor redactor;
  const std::string binary("a\0\xff:/ ://", 9);
  CHECK(redactor.redact(binary) == binary);
  CHECK_FALSE(redactor.is_needed("anything at all"));
}

TEST_CASE("a secret is hidden in base64, standard and URL-safe, with and without padding") {
  Redactor redactor;
  redactor.add("\xfb\xef\xbe~~?>-p1");  // has + and / in base64
  CHECK(redactor.redact("x=++++fn4/Pi1wMQ== y") == "x=*** y");
  CHECK(redactor.redact("x=++++fn4/Pi1wMQ y") == "x=*** y");
  CHECK(redactor.redact("x=----fn4_Pi1wMQ== y") == "x=*** y");
  CHECK(redactor.redact("x=----fn4_Pi1wMQ y") == "x=*** y");
}

TEST_CASE("a secret is hidden in hexadecimal digits, of both cases") {
  base::Redactor redactor;
  redactor.add("correct-horse");
  CHECK(redactor.redact("dump 636f72726563742d686f727365 end") == "dump *** end");
  CHECK(redactor.redact("0x636F72726563742D686F7273650a") == "0x***0a");
  CHECK(redactor.redact("636f72726563742d") == "636f72726563742d");  // another text
}

TEST_CASE("a password inside the base64 of an Authorization header is hidden, wherever it begins") {
  Redactor redactor;
  redactor.add("correct-horse");
  // base64 of "a:correct-horse", "ab:correct-horse" and "abc:correct-horse"
  CHECK(redactor.redact("Basic YTpjb3JyZWN0LWhvcnNl") == "Basic YTp***");
  const std::string two = redactor.redact("Basic YWI6Y29ycmVjdC1ob3JzZQ==");
  CHECK(two == "Basic YWI6***");
  const std::string three = redactor.redact("Basic YWJjOmNvcnJlY3QtaG9yc2U=");
  CHECK(three.find("NvcnJlY3QtaG9yc2") == std::string::npos);
}

TEST_CASE("a secret is hidden percent-encoded in both letter cases, and JSON-escaped") {
  Redactor redactor;
  redactor.add("p/w: \"x\"\n+");
  CHECK(redactor.redact("q=p%2Fw%3A%20%22x%22%0A%2B&r") == "q=***&r");
  CHECK(redactor.redact("q=p%2fw%3a%20%22x%22%0a%2b&r") == "q=***&r");
  CHECK(redactor.redact(R"({"a":"p/w: \"x\"\n+"})") == R"({"a":"***"})");
}

TEST_CASE("a secret with a line end, as a YAML block gives it, is hidden without it") {
  Redactor redactor;
  redactor.add("seven77\n");
  CHECK(redactor.redact("password is seven77, sorry") == "password is ***, sorry");
  CHECK(redactor.redact("c2V2ZW43Nwo= c2V2ZW43Nw==") == "*** ***");
}

TEST_CASE("of a secret with several lines each long line is hidden alone") {
  Redactor redactor;
  redactor.add("first-line-of-key\r\n  second-line-of-key\nshort\n");
  CHECK(redactor.redact("error near second-line-of-key") == "error near ***");
  CHECK(redactor.redact("first-line-of-key!") == "***!");
  CHECK(redactor.redact("a short one") == "a short one");
}

TEST_CASE("texts of fewer than four bytes are not registered") {
  Redactor redactor;
  redactor.add("");
  redactor.add("abc");
  redactor.add(" ab \n");
  CHECK(redactor.redact("abc ab YWJj") == "abc ab YWJj");
  redactor.add("abcd");
  CHECK(redactor.redact("abcd") == "***");
}

TEST_CASE("of secrets that begin alike the longest is taken") {
  Redactor redactor;
  redactor.add("secret");
  redactor.add("secret-and-more");
  CHECK(redactor.redact("secret secret-and-more secret-and") == "*** *** ***-and");
}

TEST_CASE("secrets that overlap leave nothing between them") {
  Redactor redactor;
  redactor.add("abcdef");
  redactor.add("efghij");
  redactor.add("cdef");
  CHECK(redactor.redact("<abcdefghij>") == "<***>");
  CHECK(redactor.redact("<abcdefcdef>") == "<******>");
  redactor.add("aaaa");
  CHECK(redactor.redact("baaaaaaab") == "b***b");
}

TEST_CASE("credentials in URLs are hidden always") {
  CHECK(redact_url_credentials("https://bob:pw@host/path?q#f") == "https://***@host/path?q#f");
  CHECK(redact_url_credentials("git+ssh://u:p@h and ftp://a:b@c/") == "git+ssh://***@h and ftp://***@c/");
  CHECK(redact_url_credentials("http://u:p@ss@h/") == "http://***@h/");
  CHECK(redact_url_credentials("http://:pw@h/") == "http://***@h/");
  CHECK(redact_url_credentials("(\"http://u:p@h\")") == "(\"http://***@h\")");
  CHECK(Redactor().redact("proxy=http://u:p@h:3128") == "proxy=http://***@h:3128");
}

TEST_CASE("URLs without credentials, and user names without a password, stay") {
  for (const char* text : {"https://host:8080/a@b:c@d", "ssh://git@host/repo", "http://h", "a://", "://@x",
                           ":", "mailto:a:b@c", "http://h/?next=u:p@x", "see http://h or mail bob:x@y"})
    CHECK(redact_url_credentials(text) == text);
}

TEST_CASE("a long user name without a password is a token and is hidden") {
  CHECK(redact_url_credentials("https://ghp_0123456789abcdef@host/x") == "https://***@host/x");
}

TEST_CASE("is_needed says whether anything would be replaced") {
  Redactor redactor;
  redactor.add("hunter22");
  CHECK(redactor.is_needed("x hunter22"));
  CHECK(redactor.is_needed("x http://a:b@c"));
  CHECK_FALSE(redactor.is_needed("x hunter2 http://c"));
}

TEST_CASE("a stream hides secrets and credentials that are split over chunks of any size") {
  Redactor redactor;
  redactor.add("hunter22");
  redactor.add("hunter22-longer-still");
  redactor.add("22-longeur");
  redactor.add("aaaa");
  const std::string text =
      "a hunter22-longeur b hunter22-longer-still c http://user:pa@ss@host/x aaaaaaaaab hunter2 http://h: "
      "hunter22";
  const std::string whole = redactor.redact(text);
  CHECK(whole == "a *** b *** c http://***@host/x ***b hunter2 http://h: ***");
  for (std::size_t chunk = 1; chunk <= text.size(); ++chunk)
    CHECK(streamed(redactor, text, chunk) == whole);
}

TEST_CASE("a stream passes at once what cannot be the beginning of a secret") {
  Redactor redactor;
  redactor.add("hunter22");
  RedactingStream stream(redactor);
  CHECK(stream.add("progress 10%\n") == "progress 10%\n");
  CHECK(stream.add("oh hun") == "oh ");
  CHECK(stream.add("dred") == "hundred");
  CHECK(stream.add("hunter2") == "");
  CHECK(stream.finish() == "hunter2");
  CHECK(stream.add("x") == "x");
}

TEST_CASE("a stream and a whole text are redacted alike, whatever they contain") {
  std::mt19937 random(1);
  const auto letters = [&](std::size_t length) {
    std::string text;
    for (std::size_t i = 0; i < length; ++i)
      text += "ab:/@ "[random() % 6];
    return text;
  };
  for (int round = 0; round < 300; ++round) {
    Redactor redactor;
    for (int i = 0; i < 4; ++i)
      redactor.add(letters(4 + random() % 6));
    const std::string text = letters(200);
    CHECK(streamed(redactor, text, 1 + random() % 20) == redactor.redact(text));
  }
}

TEST_CASE("a stream holds back no more than a bounded part of something that only looks like a URL") {
  const Redactor redactor;
  RedactingStream stream(redactor);
  std::size_t shown = stream.add("http://").size();
  for (int i = 0; i < 100; ++i)
    shown += stream.add(std::string(1000, 'x')).size();
  CHECK(shown > 90'000);
}

TEST_CASE("a large output with many secrets is redacted quickly") {
  std::mt19937 random(2);
  Redactor redactor;
  for (int i = 0; i < 50; ++i) {
    std::string secret;
    for (int j = 0; j < 24; ++j)
      secret += static_cast<char>('!' + random() % 94);
    redactor.add(secret);
  }
  redactor.add("hunter22");
  std::string text;
  while (text.size() < 1024 * 1024)
    text += static_cast<char>(' ' + random() % 95);
  text += "hunter22";
  auto best = std::chrono::steady_clock::duration::max();
  for (int i = 0; i < 5; ++i) {
    const auto start = std::chrono::steady_clock::now();
    const std::string redacted = redactor.redact(text);
    best = std::min(best, std::chrono::steady_clock::now() - start);
    CHECK(redacted.ends_with("***"));
  }
  MESSAGE("1 MiB in " << std::chrono::duration_cast<std::chrono::microseconds>(best).count() << " us");
  // A few ms when optimised; the limit is for unoptimised builds and busy machines, and far below what a
  // search per secret takes.
  CHECK(best < std::chrono::milliseconds(500));
}

TEST_CASE("what an owner replaces is forgotten, unless somebody else has registered it, too") {
  Redactor redactor;
  redactor.add("stays-for-good");
  redactor.replace("one", {"of-one-only", "shared-by-both"});
  redactor.replace("other", {"shared-by-both"});
  CHECK(redactor.redact("of-one-only shared-by-both stays-for-good") == "*** *** ***");
  redactor.replace("one", {"of-one-later"});
  CHECK(redactor.redact("of-one-only of-one-later shared-by-both stays-for-good") ==
        "of-one-only *** *** ***");
  redactor.replace("other", {});
  CHECK(redactor.redact("shared-by-both c2hhcmVkLWJ5LWJvdGg=") == "shared-by-both c2hhcmVkLWJ5LWJvdGg=");
  CHECK_FALSE(redactor.is_needed("shared-by-both"));
}

TEST_CASE("secrets may be added while others read") {
  Redactor redactor;
  redactor.add("hunter22");
  std::atomic<bool> stop = false;
  std::atomic<int> leaks = 0;
  std::vector<std::jthread> readers;
  for (int i = 0; i < 2; ++i)
    readers.emplace_back([&] {
      while (!stop)
        if (redactor.redact("x hunter22 y") != "x *** y") ++leaks;
    });
  for (int i = 0; i < 200; ++i)
    redactor.add("secret number " + std::to_string(i));
  stop = true;
  readers.clear();
  CHECK(leaks == 0);
  CHECK(redactor.redact("secret number 7!") == "***!");
}

TEST_CASE("short numbers, and words that are to stay readable, are not searched for") {
  Redactor redactor;
  redactor.keep_readable(std::make_shared<const Redactor::Words>(Redactor::Words{"state", "true"}));
  for (const char* common : {"state", "True", "12345", "abc", " true\n"}) {
    redactor.add(common);
    CHECK_FALSE(redactor.can_hide(common));
  }
  CHECK(redactor.redact("state True true 12345 abc") == "state True true 12345 abc");
  for (const char* rare : {"statement", "123456", "abcd"}) {
    redactor.add(rare);
    CHECK(redactor.can_hide(rare));
    CHECK(redactor.redact(rare) == "***");
  }
  redactor.add("a line of a key\nstate\nanother line");
  CHECK(redactor.redact("a line of a key, state") == "***, state");
}

TEST_CASE("words can become readable after a secret was registered") {
  Redactor redactor;
  redactor.add("state");
  CHECK(redactor.redact("state") == "***");
  redactor.keep_readable(std::make_shared<const Redactor::Words>(Redactor::Words{"state"}));
  CHECK(redactor.redact("state") == "state");
}

TEST_CASE(
    "of secrets that begin alike the longest that fits is found, whatever stands between them in order") {
  Redactor redactor;
  for (const char* each : {"abcd", "abcdef", "abcdefgh", "abcdeg", "abcz"})
    redactor.add(each);
  CHECK(redactor.redact("abcd abcde abcdef abcdefg abcdefgh abcdeh abcy") ==
        "*** ***e *** ***g *** ***eh abcy");
}

TEST_CASE("a secret of many kilobytes is hidden whole, in a stream too, and each part of it") {
  std::mt19937 random(3);
  std::string secret;
  while (secret.size() < 50'000)
    secret += static_cast<char>('a' + random() % 26);
  Redactor redactor;
  redactor.add(secret);
  for (const std::string& shown :
       {redactor.redact("<" + secret + ">"), streamed(redactor, "<" + secret + ">", 1000)}) {
    CHECK(shown.starts_with("<***"));
    CHECK(shown.find_first_not_of("<*>") == std::string::npos);
  }
  CHECK(redactor.redact(secret.substr(0, 8192)).find_first_not_of('*') == std::string::npos);
}

TEST_CASE("a file of 160,000 lines is registered, and its lines are found") {
  std::mt19937 random(4);
  std::string file;
  for (int i = 0; i < 160'000; ++i)
    file += "password_of_user_" + std::to_string(i) + " = " + std::to_string(random()) + "\n";
  Redactor redactor;
  const auto start = std::chrono::steady_clock::now();
  redactor.replace("recipe", {file});
  const auto built = std::chrono::steady_clock::now() - start;
  CHECK(redactor.redact("x" + file.substr(0, file.find('\n')) + "y") == "x***y");
  CHECK(redactor.redact("password_of_user_77") == "password_of_user_77");
  MESSAGE("160,000 lines in " << std::chrono::duration_cast<std::chrono::milliseconds>(built).count()
                              << " ms");
  const auto search = std::chrono::steady_clock::now();
  CHECK(redactor.redact(file).find("password") == std::string::npos);
  MESSAGE(file.size() << " bytes searched in "
                      << std::chrono::duration_cast<std::chrono::milliseconds>(
                             std::chrono::steady_clock::now() - search)
                             .count()
                      << " ms");
}

}  // namespace base

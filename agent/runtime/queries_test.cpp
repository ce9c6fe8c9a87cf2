#include "agent/runtime/queries.hpp"

#include <doctest/doctest.h>

#include "base/values/json.hpp"
#include "tests/support/scratch_folder.hpp"

using namespace agent;
using namespace agent::runtime;

TEST_CASE("queries need the permission that is named for them") {
  CHECK(!is_query_allowed("file_hash", {}));
  CHECK(!is_query_allowed("file_hash", {"query:unit", "run"}));
  CHECK(is_query_allowed("file_hash", {"query:file"}));
  CHECK(is_query_allowed("journal", {"query"}));
  CHECK(!is_query_allowed("nothing", {"query"}));
}

TEST_CASE("a file is hashed, and what is no regular file is refused") {
  const tests::ScratchFolder scratch;
  scratch.write("f", "hello");
  scratch.link("l", scratch / "f");
  base::Redactor redactor;
  base::NoInterrupt interrupt;
  const auto ask = [&](const std::string& path) {
    return answer_query({.kind = "file_hash", .args = "{\"path\":" + base::json_quote(path) + "}"}, redactor,
                        interrupt);
  };
  const auto answer = ask(scratch / "f");
  REQUIRE(answer);
  CHECK(answer->data.find("2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824") !=
        std::string::npos);
  CHECK(!ask(scratch / "l"));
  CHECK(!ask("/dev/zero"));
  CHECK(!ask(scratch.path()));
  CHECK(!ask("f"));
}

TEST_CASE("processes are listed up to the limit") {
  base::Redactor redactor;
  base::NoInterrupt interrupt;
  const auto answer = answer_query({.kind = "processes", .limit = 1}, redactor, interrupt);
  REQUIRE(answer);
  CHECK(answer->more);
  base::Arena arena;
  const auto parsed = base::parse_json(answer->data, arena);
  CHECK(std::get<base::Value>(parsed).find("processes")->items().size() == 1);
}

TEST_CASE("names of units cannot become options or paths") {
  base::Redactor redactor;
  base::NoInterrupt interrupt;
  for (const char* name : {"", "--root=/", "a b", "../x", "a\nb"})
    CHECK_MESSAGE(answer_query({.kind = "unit", .args = "{\"unit\":" + base::json_quote(name) + "}"},
                               redactor, interrupt)
                          .error()
                          .code() == base::ErrorCode::invalid,
                  name);
}

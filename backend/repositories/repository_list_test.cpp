#include "backend/repositories/repository_list.hpp"

#include <doctest/doctest.h>

#include "tests/support/store_bench.hpp"

using backend::repositories::RepositoryList;
using tests::must;

namespace {

const std::vector<std::string> kSchemes{"file"};

bool allows(const std::vector<std::string>& patterns, const std::string& address) {
  const auto list = must(RepositoryList::parse(patterns, kSchemes));
  return list.allows(must(modules::fetch::parse_repository(address, kSchemes)));
}

std::string refusal(const std::string& pattern) {
  const auto list = RepositoryList::parse({pattern}, {});
  return list ? "" : list.error().message();
}

}  // namespace

TEST_CASE("a pattern without a star is one repository") {
  CHECK(allows({"https://git.example.com/ops/m.git"}, "https://git.example.com/ops/m.git"));
  CHECK(allows({"https://git.example.com/ops/m.git"}, "https://GIT.example.com:443/ops/m.git"));
  CHECK_FALSE(allows({"https://git.example.com/ops/m.git"}, "https://git.example.com/ops/m.git/x"));
  CHECK_FALSE(allows({"https://git.example.com/ops/m.git"}, "https://git.example.com/ops/M.git"));
  CHECK_FALSE(allows({}, "https://git.example.com/ops/m.git"));
}

TEST_CASE("one star is one name below a path, two are any path below it") {
  CHECK(allows({"https://h/ops/*"}, "https://h/ops/a"));
  CHECK_FALSE(allows({"https://h/ops/*"}, "https://h/ops/a/b"));
  CHECK(allows({"https://h/ops/**"}, "https://h/ops/a/b"));
  CHECK(allows({"https://h/**"}, "https://h/a"));
  CHECK(allows({"git@h:ops/*"}, "ssh://git@h/ops/a"));
  CHECK(allows({"ssh://git@h/ops/*"}, "git@h:ops/a"));
  CHECK(allows({"file:///srv/git/*"}, "file:///srv/git/m.git"));
  CHECK_FALSE(allows({"https://h/ops/*"}, "https://h/opsx/a"));
}

TEST_CASE("scheme, user, host and port are never matched by a star") {
  for (const char* address : {"ssh://git@h/ops/a", "https://h:8443/ops/a", "https://h.evil.example/ops/a",
                              "https://evil.example/ops/a", "file:///ops/a", "https://127.0.0.1/ops/a"})
    CHECK_FALSE(allows({"https://h/ops/*"}, address));
  CHECK_FALSE(allows({"ssh://git@h/ops/*"}, "ssh://root@h/ops/a"));
  CHECK_FALSE(allows({"ssh://git@h/ops/*"}, "ssh://h/ops/a"));
}

TEST_CASE("paths that could mean another one are below nothing") {
  for (const char* address :
       {"https://h/ops/../secret", "https://h/ops/a/../../secret", "https://h/ops/./a", "https://h/ops//a",
        "https://h/ops/%2e%2e/secret", "https://h/ops/a?x=/", "https://h/ops/a#x", "https://h/ops/a/"})
    CHECK_FALSE(allows({"https://h/ops/**"}, address));
}

TEST_CASE("a pattern that would mean more than it seems is refused at the start") {
  CHECK(refusal("https://*/ops/x").find("stars can only be at the end") != std::string::npos);
  CHECK(refusal("https://h/*/x").find("stars can only be at the end") != std::string::npos);
  CHECK(refusal("https://h/a*").find("stars can only be at the end") != std::string::npos);
  CHECK(refusal("https://h/a/../b/*").find("means another one") != std::string::npos);
  CHECK(refusal("file:///srv/*").find("module_scheme = file") != std::string::npos);
  CHECK(refusal("http://h/x").find("neither https nor ssh") != std::string::npos);
  CHECK(refusal("https://u:p@h/x").find("credentials") != std::string::npos);
  CHECK_FALSE(RepositoryList::parse(std::vector<std::string>(101, "https://h/x"), {}));
}

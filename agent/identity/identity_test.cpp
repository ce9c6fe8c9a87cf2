#include "agent/identity/identity.hpp"

#include <doctest/doctest.h>

#include "tests/support/scratch_folder.hpp"

using namespace agent;
using namespace agent::identity;

TEST_CASE("an identity is made once and stays") {
  const tests::ScratchFolder scratch;
  const IdentityOptions options{.state_dir = scratch.path(), .app_id = "default"};
  const auto first = load_identity(options);
  REQUIRE(first);
  CHECK(check_instance_id(first->instance_id));
  CHECK(first->token.size() == 64);
  CHECK(scratch.mode("token") == 0600);
  const auto second = load_identity(options);
  REQUIRE(second);
  CHECK(second->token == first->token);
  CHECK(second->instance_id == first->instance_id);

  scratch.write("instance_id", "other\n");
  CHECK(load_identity(options)->instance_id == "other");
  CHECK(load_identity({.state_dir = scratch.path(), .app_id = "a", .instance_id = "given"})->instance_id ==
        "given");
  scratch.write("instance_id", "../x\n");
  CHECK(!load_identity(options));
}

TEST_CASE("what the identity source says counts before the machine has a name, and not afterwards") {
  const tests::ScratchFolder scratch;
  IdentityOptions options{.state_dir = scratch.path(), .app_id = "a", .announced_id = "i-0abc"};
  CHECK(load_identity(options)->instance_id == "i-0abc");
  options.announced_id = "i-other";
  CHECK(load_identity(options)->instance_id == "i-0abc");
  CHECK(scratch.read("instance_id") == "i-0abc\n");
  options.instance_id = "given";
  CHECK(load_identity(options)->instance_id == "given");
}

TEST_CASE("a token that is not of our making is the whole file, byte by byte") {
  const tests::ScratchFolder scratch;
  const IdentityOptions options{.state_dir = scratch.path(), .app_id = "a"};
  const auto token_of = [&](const std::string& text) {
    scratch.write("token", text);
    return load_identity(options)->token;
  };
  CHECK(token_of("original \n") == "original \n");
  const std::string ours(64, 'a');
  CHECK(token_of(ours + "\n") == ours);
  CHECK(token_of("\n").size() == 64);  // nothing is no token
  scratch.write("token", "\xff\xfe");
  CHECK_FALSE(load_identity(options));
}

TEST_CASE("ids that would be trouble in file names and logs are refused") {
  for (const char* id : {"", ".", "..", "-a", "a b", "a/b", "a\nb", "ä", "a\x7f"})
    CHECK_MESSAGE(!check_instance_id(id), id);
  CHECK(!check_instance_id(std::string(129, 'a')));
  for (const char* id : {"web1", "i-0abc", "web1.example.com", "A_b"})
    CHECK_MESSAGE(check_instance_id(id), id);
}

// What a repository does not publish, or not without a word.
#include <filesystem>

#include <doctest/doctest.h>

#include "tests/support/release_base.hpp"

using namespace release;
using namespace release::testing;

TEST_CASE("a signature that agents would refuse is left out of what is published") {
  Base base;
  base.begin();
  base.publish("1.4.0");
  const SigningKey second = new_key(), stranger = new_key();
  RootChoice two{
      .roles = {{Role::root, {.keys = {base.root.public_key(), second.public_key()}, .threshold = 2}}},
      .expires = at(365 * kDay)};
  auto draft = base.repository.rotate_root(two, {base.root});
  REQUIRE(draft);
  // Somebody signs elsewhere, where nobody knows the roots, with a wrong key first and then with the right
  // one.
  base.scratch.write("away/2.root.json.draft", base.scratch.read("base/2.root.json.draft"));
  base.scratch.write("away/2.root.json.draft.sig", base.scratch.read("base/2.root.json.draft.sig"));
  REQUIRE(Repository::sign(base.scratch / "away/2.root.json.draft", {stranger}));
  REQUIRE(Repository::sign(base.scratch / "away/2.root.json.draft", {second}));
  base.scratch.write("base/2.root.json.draft.sig", base.scratch.read("away/2.root.json.draft.sig"));
  auto done = Repository::sign(draft->path, {});
  REQUIRE_MESSAGE(done, done.error().message());
  CHECK(done->missing == "");
  REQUIRE(done->left_out.size() == 1);
  CHECK(done->left_out.front().find(stranger.public_key().id()) != std::string::npos);
  CHECK(base.wrong() == "");
  CHECK(base.publish("1.5.0").release.number == 2);
  // Nor can one be added afterwards.
  CHECK_FALSE(Repository::sign(base.scratch / "base/2.root.json", {stranger}));
  CHECK_FALSE(Repository::sign(base.scratch / "base/releases/1.json", {stranger}));
  CHECK(Repository::sign(base.scratch / "base/releases/1.json", {base.release}));
  CHECK(base.wrong() == "");
}

TEST_CASE("a surplus signature of other bytes does not get into a release") {
  Base base;
  const SigningKey second = new_key();
  RootChoice choice = base.choice();
  choice.roles[Role::release] = {.keys = {base.release.public_key(), second.public_key()}, .threshold = 2};
  REQUIRE(base.repository.create_root(choice, {base.root}));
  auto published = base.repository.publish(base.of("1.4.0", {base.archive("1.4.0")}), {base.release},
                                           {base.timestamp}, at(0));
  REQUIRE(published);
  const std::string sig = "base/releases/1.json.draft.sig";
  base.scratch.write(sig, base.scratch.read(sig) + write(std::vector<Signature>{
                                                       {second.public_key().id(), *second.sign("other")}}));
  auto still = Repository::sign(published->release_document.path, {});
  REQUIRE(still);
  CHECK(still->missing == "1 more 'release' key of root 1");
  CHECK(still->left_out.size() == 1);
  REQUIRE(Repository::sign(published->release_document.path, {second})->missing == "");
  REQUIRE(base.repository.stamp({base.timestamp}, {.expires = at(kDay), .offer = "1.4.0"}));
  CHECK(base.wrong() == "");
}

TEST_CASE("an offer that cannot be read is never dropped") {
  Base base;
  base.begin();
  base.publish("1.4.0");
  const std::string before = base.scratch.read("base/timestamp.json");
  const std::string sig = base.scratch.read("base/releases/1.json.sig");
  REQUIRE(std::filesystem::remove(base.scratch / "base/releases/1.json.sig"));
  for (const bool drop : {false, true}) {
    CHECK_FALSE(base.repository.stamp({base.timestamp}, {.expires = at(kDay), .drop = drop}));
    Publication next = base.of("1.5.0", {base.archive("1.5.0")});
    next.drop = drop;
    auto published = base.repository.publish(next, {base.release}, {base.timestamp}, at(0));
    REQUIRE_FALSE(published);
    CHECK(published.error().message().find("cannot be read") != std::string::npos);
  }
  CHECK(base.scratch.read("base/timestamp.json") == before);
  CHECK_FALSE(base.scratch.exists("base/releases/2.json"));
  base.scratch.write("base/releases/1.json.sig", sig);
  CHECK(base.wrong() == "");
}

TEST_CASE("what expires soon is told in time") {
  Base base;
  base.begin();
  base.publish("1.4.0");
  const auto said = [&](Instant now, int days) {
    std::string text;
    for (const Checked& each : base.repository.check("", now, std::chrono::seconds(days * kDay)))
      if (!each.is_good) text += each.text + "\n";
    return text;
  };
  CHECK(said(at(0), 14) == "");
  CHECK(said(at(0), 90).find("release 1 (1.4.0) expires soon") != std::string::npos);
  CHECK(said(at(0), 90).find("root 1") == std::string::npos);
  CHECK(said(at(0), 365).find("root 1 expires soon") != std::string::npos);
  auto fresh = base.repository.stamp({base.timestamp}, {.expires = at(95 * kDay), .now = at(80 * kDay)});
  REQUIRE(fresh);
  CHECK(fresh->expired.empty());
  auto late = base.repository.stamp({base.timestamp}, {.expires = at(95 * kDay), .now = at(91 * kDay)});
  REQUIRE(late);
  REQUIRE(late->expired.size() == 1);
  CHECK(late->expired.front().find("release 1 (1.4.0)") != std::string::npos);
}

TEST_CASE("a draft of the next root is not overwritten by another") {
  Base base;
  base.begin();
  const SigningKey second = new_key();
  RootChoice two{
      .roles = {{Role::root, {.keys = {base.root.public_key(), second.public_key()}, .threshold = 2}}},
      .expires = at(365 * kDay)};
  REQUIRE(base.repository.rotate_root(two, {base.root}));
  const std::string sig = base.scratch.read("base/2.root.json.draft.sig");
  auto again = base.repository.rotate_root(two, {});
  REQUIRE_FALSE(again);
  CHECK(again.error().message().find("waits for signatures") != std::string::npos);
  CHECK(base.scratch.read("base/2.root.json.draft.sig") == sig);
}

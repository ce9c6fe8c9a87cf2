#include "release/repository.hpp"

#include <sys/file.h>

#include <doctest/doctest.h>

#include "tests/support/release_base.hpp"

using namespace release;
using namespace release::testing;

TEST_CASE("what is published is believed by an agent, and offered until it is withdrawn") {
  Base base;
  base.begin();
  CHECK(base.publish("1.4.0").release.number == 1);
  CHECK(base.publish("1.5.0").release.number == 2);
  CHECK(base.wrong() == "");
  CHECK(base.offered() == "1.4.0 1.5.0 ");
  auto stamped = base.repository.withdraw("1.5.0", {base.timestamp}, {.expires = at(3 * kDay)});
  REQUIRE(stamped);
  CHECK(stamped->timestamp.version == 3);
  CHECK(base.offered() == "1.4.0 ");
  CHECK_FALSE(base.repository.withdraw("1.5.0", {base.timestamp}, {.expires = at(3 * kDay)}));
  REQUIRE(base.repository.stamp({base.timestamp}, {.expires = at(4 * kDay), .offer = "1.5.0"}));
  CHECK(base.offered() == "1.4.0 1.5.0 ");
  CHECK(base.wrong() == "");
  CHECK(base.publish("1.5.0").release.number == 3);  // the same again: a new number takes the old one's place
  CHECK(parse_timestamp(base.scratch.read("base/timestamp.json"))->offers.size() == 2);
  CHECK(base.scratch.mode("base/timestamp.json") == 0644);
  CHECK(base.scratch.count("base/files") == 2);
}

TEST_CASE("a check finds what an agent would refuse") {
  Base base;
  base.begin();
  base.publish("1.4.0");
  CHECK(base.wrong(at(3 * kDay)).find("the timestamp document expired") != std::string::npos);
  const std::string file = "base/files/opsagent-1.4.0-linux-amd64.tar.gz";
  const std::string good = base.scratch.read(file);
  base.scratch.write(file, good + "x");
  CHECK(base.wrong().find("another size") != std::string::npos);
  std::string flipped = good;
  flipped.back() ^= 1;
  base.scratch.write(file, flipped);
  CHECK(base.wrong().find("another hash") != std::string::npos);
  base.scratch.write(file, good);
  CHECK(base.wrong() == "");
  base.scratch.write("base/releases/1.json.sig", "");
  CHECK(base.wrong().find("0 of the 1") != std::string::npos);
}

TEST_CASE("archives that are not what they should be are not published") {
  Base base;
  base.begin();
  const auto said = [&](const std::string& version, const std::vector<std::string>& archives) {
    auto published =
        base.repository.publish(base.of(version, archives), {base.release}, {base.timestamp}, at(0));
    return published ? "" : published.error().message();
  };
  CHECK(said("1.4.0", {base.archive("1.4.0", "amd64", "1.3.0")}).find("should have the name") !=
        std::string::npos);
  CHECK(said("1.5.0", {base.archive("1.4.0")}).find("is of version 1.4.0") != std::string::npos);
  CHECK(said("", {base.archive("1.4.0"), base.archive("1.5.0")}).find("is of version") != std::string::npos);
  CHECK(said("1.4.0", {base.archive("1.4.0"), base.archive("1.4.0")}).find("twice") != std::string::npos);
  base.scratch.write("in/opsagent-1.6.0-linux-amd64.tar.gz", "x");
  CHECK(said("1.6.0", {base.scratch / "in/opsagent-1.6.0-linux-amd64.tar.gz"}).find("damaged") !=
        std::string::npos);
  CHECK_FALSE(base.scratch.exists("base/timestamp.json"));
  CHECK(said("", {base.archive("1.4.0"), base.archive("1.4.0", "arm64")}) == "");
  CHECK(base.wrong() == "");
  // The same name with another content.
  base.scratch.write("in/opsagent-1.4.0-linux-amd64.tar.gz",
                     gzipped(tar_file("manifest", "opsagent 1.4.0\ntarget linux amd64\nmore\n") + tar_end()));
  CHECK(said("1.4.0", {base.scratch / "in/opsagent-1.4.0-linux-amd64.tar.gz"}).find("never changes") !=
        std::string::npos);
  CHECK(base.wrong() == "");
}

TEST_CASE("with too few signatures a document stays a draft that no agent sees") {
  Base base;
  base.begin();
  base.publish("1.4.0");
  const SigningKey second = new_key(), stranger = new_key();
  RootChoice two{
      .roles = {{Role::root, {.keys = {base.root.public_key(), second.public_key()}, .threshold = 2}}},
      .expires = at(365 * kDay)};
  auto placed = base.repository.rotate_root(two, {base.root});
  REQUIRE(placed);
  CHECK(placed->missing == "1 more 'root' key of root 2");
  CHECK(placed->path == base.scratch / "base/2.root.json.draft");
  CHECK_FALSE(base.scratch.exists("base/2.root.json"));
  CHECK(base.wrong() == "");

  auto wrong_key = Repository::sign(placed->path, {stranger});
  REQUIRE_FALSE(wrong_key);
  CHECK(wrong_key.error().message().find("may not sign") != std::string::npos);

  // On another machine, with nothing but the draft.
  base.scratch.write("away/2.root.json.draft", base.scratch.read("base/2.root.json.draft"));
  base.scratch.write("away/2.root.json.draft.sig", base.scratch.read("base/2.root.json.draft.sig"));
  auto away = Repository::sign(base.scratch / "away/2.root.json.draft", {second});
  REQUIRE(away);
  CHECK(away->missing == "unknown");
  base.scratch.write("base/2.root.json.draft.sig", base.scratch.read("away/2.root.json.draft.sig"));
  auto done = Repository::sign(placed->path, {});
  REQUIRE_MESSAGE(done, done.error().message());
  CHECK(done->missing == "");
  CHECK(base.scratch.exists("base/2.root.json"));
  CHECK_FALSE(base.scratch.exists("base/2.root.json.draft"));
  CHECK(base.repository.roots()->size() == 2);
  CHECK(base.wrong() == "");
}

TEST_CASE("a release that several must sign is offered when they have") {
  Base base;
  const SigningKey second = new_key();
  RootChoice choice = base.choice();
  choice.roles[Role::release] = {.keys = {base.release.public_key(), second.public_key()}, .threshold = 2};
  REQUIRE(base.repository.create_root(choice, {base.root}));
  auto published = base.repository.publish(base.of("1.4.0", {base.archive("1.4.0")}), {base.release},
                                           {base.timestamp}, at(0));
  REQUIRE(published);
  CHECK(published->release_document.missing == "1 more 'release' key of root 1");
  CHECK_FALSE(published->timestamp_document);
  CHECK_FALSE(base.repository.stamp({base.timestamp}, {.expires = at(kDay), .offer = "1.4.0"}));
  auto done = Repository::sign(published->release_document.path, {second});
  REQUIRE_MESSAGE(done, done.error().message());
  CHECK(done->missing == "");
  REQUIRE(base.repository.stamp({base.timestamp}, {.expires = at(kDay), .offer = "1.4.0"}));
  CHECK(base.wrong() == "");
  CHECK(base.offered() == "1.4.0 ");
}

TEST_CASE("after a key was replaced, offers of the old key are dropped and new ones are believed") {
  Base base;
  base.begin();
  base.publish("1.4.0");
  const SigningKey release = new_key(), timestamp = new_key();
  RootChoice next{.roles = {{Role::release, {.keys = {release.public_key()}}},
                            {Role::timestamp, {.keys = {timestamp.public_key()}}}},
                  .expires = at(365 * kDay)};
  REQUIRE(base.repository.rotate_root(next, {base.root})->missing == "");
  CHECK_FALSE(
      base.repository.stamp({base.timestamp}, {.expires = at(kDay)}));  // the old key means nothing any more
  auto kept = base.repository.stamp({timestamp}, {.expires = at(kDay)});
  REQUIRE_FALSE(kept);
  CHECK(kept.error().message().find("--drop") != std::string::npos);
  CHECK(base.offered() == "1.4.0 ");
  auto stamped = base.repository.stamp({timestamp}, {.expires = at(kDay), .drop = true});
  REQUIRE_MESSAGE(stamped, stamped.error().message());
  CHECK(stamped->timestamp.version == 2);
  REQUIRE(stamped->dropped.size() == 1);
  base.release = release;
  base.timestamp = timestamp;
  CHECK(base.publish("1.4.0").release.number == 2);
  CHECK(base.wrong() == "");
}

TEST_CASE("a folder is changed by one at a time, and what a killed one left is completed") {
  Base base;
  base.begin();
  base.publish("1.4.0");
  const base::UniqueFd other(::open((base.scratch / "base").c_str(), O_RDONLY | O_DIRECTORY));
  REQUIRE(::flock(other.get(), LOCK_EX) == 0);
  auto busy = base.repository.stamp({base.timestamp}, {.expires = at(kDay)});
  REQUIRE_FALSE(busy);
  CHECK(busy.error().message().find("another opsctl") != std::string::npos);
  REQUIRE(::flock(other.get(), LOCK_UN) == 0);

  // Killed between the two renames of a timestamp.
  const std::string before = base.scratch.read("base/timestamp.json.sig");
  REQUIRE(base.repository.stamp({base.timestamp}, {.expires = at(kDay)}));
  base.scratch.write("base/timestamp.json.sig.next", base.scratch.read("base/timestamp.json.sig"));
  base.scratch.write("base/timestamp.json.sig", before);
  CHECK(base.wrong() != "");
  auto stamped = base.repository.stamp({base.timestamp}, {.expires = at(kDay)});
  REQUIRE_MESSAGE(stamped, stamped.error().message());
  CHECK(stamped->timestamp.version == 3);
  CHECK(base.wrong() == "");
}

TEST_CASE("a timestamp that somebody has changed is not continued") {
  Base base;
  base.begin();
  base.publish("1.4.0");
  Timestamp changed = *parse_timestamp(base.scratch.read("base/timestamp.json"));
  changed.version = 1;
  changed.offers.clear();
  base.scratch.write("base/timestamp.json", write(changed));
  auto refused = base.repository.stamp({base.timestamp}, {.expires = at(kDay)});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message().find("somebody has changed it") != std::string::npos);
}

TEST_CASE("a root's life is renewed without naming any key") {
  Base base;
  base.begin();
  base.publish("1.4.0");
  REQUIRE(base.repository.rotate_root({.roles = {}, .expires = at(700 * kDay)}, {base.root})->missing == "");
  const auto roots = base.repository.roots();
  REQUIRE(roots);
  CHECK(roots->back().version == 2);
  CHECK(roots->back().expires == at(700 * kDay));
  CHECK(roots->back().role(Role::release).keys == roots->front().role(Role::release).keys);
  CHECK(base.wrong() == "");
}

TEST_CASE("a draft of a timestamp that was overtaken is not published") {
  Base base;
  const SigningKey second = new_key();
  RootChoice choice = base.choice();
  choice.roles[Role::timestamp] = {.keys = {base.timestamp.public_key(), second.public_key()},
                                   .threshold = 2};
  REQUIRE(base.repository.create_root(choice, {base.root}));
  auto draft = base.repository.stamp({base.timestamp}, {.expires = at(kDay)});
  REQUIRE(draft);
  CHECK(draft->document.missing == "1 more 'timestamp' key of root 1");
  const std::string text = base.scratch.read("base/timestamp.json.draft");
  REQUIRE(base.repository.stamp({base.timestamp, second}, {.expires = at(kDay)})->document.missing == "");
  CHECK_FALSE(base.scratch.exists("base/timestamp.json.draft"));
  base.scratch.write("base/timestamp.json.draft", text);
  CHECK_FALSE(Repository::sign(base.scratch / "base/timestamp.json.draft", {base.timestamp, second}));
}

TEST_CASE("a base has one first root, and only its keys sign") {
  Base base;
  base.begin();
  CHECK_FALSE(base.repository.create_root(base.choice(), {base.root}));
  auto wrong = base.repository.publish(base.of("1.4.0", {base.archive("1.4.0")}), {base.timestamp},
                                       {base.timestamp}, at(0));
  REQUIRE_FALSE(wrong);
  CHECK(wrong.error().message().find("may not sign") != std::string::npos);
  CHECK_FALSE(base.repository.publish(base.of("1.4.0", {base.archive("1.4.0")}), {base.release},
                                      {base.release}, at(0)));
  CHECK_FALSE(base.scratch.exists("base/releases"));  // nothing is done by halves
  RootChoice none{.roles = {{Role::root, {.keys = {base.root.public_key()}}}}, .expires = at(kDay)};
  auto missing = Repository(base.scratch / "other").create_root(none, {base.root});
  REQUIRE_FALSE(missing);
  CHECK(missing.error().message().find("--release-key") != std::string::npos);
}

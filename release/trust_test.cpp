#include "release/trust.hpp"

#include <functional>
#include <set>

#include <doctest/doctest.h>

#include "tests/support/release_documents.hpp"

using namespace release;
using namespace release::testing;

namespace {

// Two root keys of two, one release key, one timestamp key; release 7 (1.4.0) on offer.
struct Fixture {
  SigningKey root_a = new_key(), root_b = new_key(), root_c = new_key();
  SigningKey release_key = new_key(), timestamp_key = new_key(), stranger = new_key();
  Root root = root_of(1, {&root_a, &root_b}, 2, {&release_key}, {&timestamp_key});
  Release release = release_of("1.4.0", 7);
  Timestamp timestamp = timestamp_of(12, {offer_of(release)});
  Machine machine{.os = "linux", .arch = "amd64", .channel = "stable", .version = "1.3.0"};
  Memory memory{.root = write(root)};
  Instant now = at(0);
  std::string version = "1.4.0";

  // What a test may put in the place of the right thing.
  std::function<std::string(const std::string&)> sign_timestamp = [this](const std::string& document) {
    return signed_by({&timestamp_key}, document);
  };
  std::function<std::string(const std::string&)> sign_release = [this](const std::string& document) {
    return signed_by({&release_key}, document);
  };
  std::function<std::string(std::string)> served_release = [](std::string document) { return document; };
  bool offer_anew = true;  // the timestamp names the release as it is
  std::string next_root, next_signatures;

  Trust trust() const {
    auto opened = Trust::open(memory);
    REQUIRE_MESSAGE(opened, opened.error().message());
    return std::move(*opened);
  }

  struct Outcome {
    Refusal refusal = Refusal::none;
    std::string message;
    Memory memory;
  };

  // All steps of an update, as an agent takes them, until one is refused.
  Outcome update() {
    Trust trusted = trust();
    const auto outcome = [&](const base::Error& error) {
      return Outcome{trusted.last_refusal(), error.message(), trusted.memory()};
    };
    if (!next_root.empty())
      if (auto taken = trusted.take_root(next_root, next_signatures); !taken) return outcome(taken.error());
    if (offer_anew) timestamp.offers = {offer_of(release)};
    const std::string document = write(timestamp);
    auto stamp = trusted.take_timestamp(document, sign_timestamp(document), now);
    if (!stamp) return outcome(stamp.error());
    auto offer = trusted.choose(*stamp, machine, version);
    if (!offer) return outcome(offer.error());
    const std::string about = write(release);
    auto target = trusted.take_release(*offer, served_release(about), sign_release(about), machine, now);
    if (!target) return outcome(target.error());
    CHECK(target->arch == "amd64");
    return {trusted.last_refusal(), "", trusted.memory()};
  }
};

struct Row {
  Refusal refusal;
  const char* said;
  void (*change)(Fixture&);
};

// One for each reason at least; where a reason has several causes, one for each.
const Row kRows[] = {
    {Refusal::malformed, "has a 'version' that is not",
     [](Fixture& f) {
       f.release.version = "1.4";
       f.timestamp.offers = {offer_of(f.release)};
       f.timestamp.offers[0].version = "1.4.0";
       f.offer_anew = false;
     }},
    {Refusal::malformed, "signature file",
     [](Fixture& f) { f.sign_timestamp = [](const std::string&) { return std::string("x"); }; }},
    {Refusal::malformed, "ends in the middle",
     [](Fixture& f) {
       f.sign_release = [&f](const std::string& d) { return signed_by({&f.release_key}, d).substr(0, 100); };
     }},
    {Refusal::unknown_key, "may not sign it",
     [](Fixture& f) {
       f.sign_timestamp = [&f](const std::string& d) { return signed_by({&f.stranger}, d); };
     }},
    {Refusal::unknown_key, "not a 'release' key",
     [](Fixture& f) {
       f.sign_release = [&f](const std::string& d) { return signed_by({&f.timestamp_key}, d); };
     }},
    {Refusal::key_twice, "counts once",
     [](Fixture& f) {
       f.sign_release = [&f](const std::string& d) { return signed_by({&f.release_key, &f.release_key}, d); };
     }},
    {Refusal::bad_signature, "not of this document",
     [](Fixture& f) {
       f.sign_release = [&f](const std::string& d) { return signed_by({&f.release_key}, d + " "); };
     }},
    {Refusal::below_threshold, "0 of the 1",
     [](Fixture& f) { f.sign_timestamp = [](const std::string&) { return std::string(); }; }},
    {Refusal::expired, "the timestamp document expired", [](Fixture& f) { f.timestamp.expires = f.now; }},
    {Refusal::expired, "the release document expired", [](Fixture& f) { f.release.expires = f.now; }},
    {Refusal::expired, "the root document expired",
     [](Fixture& f) {
       f.root.expires = f.now;
       f.memory.root = write(f.root);
     }},
    {Refusal::clock_behind, "set the clock", [](Fixture& f) { f.memory.trusted_time = at(1); }},
    {Refusal::wrong_product, "release document is of the product 'other'",
     [](Fixture& f) { f.release.product = "other"; }},
    {Refusal::wrong_product, "timestamp document is of the product",
     [](Fixture& f) { f.timestamp.product = "other"; }},
    {Refusal::wrong_channel, "on offer in the channel 'beta'",
     [](Fixture& f) { f.release.channel = "beta"; }},
    {Refusal::wrong_channel, "document is of the channel 'beta'",
     [](Fixture& f) {
       f.release.channel = "beta";
       f.timestamp.offers = {offer_of(f.release)};
       f.timestamp.offers[0].channel = "stable";
       f.offer_anew = false;
     }},
    {Refusal::wrong_target, "not made for linux arm64", [](Fixture& f) { f.machine.arch = "arm64"; }},
    {Refusal::wrong_target, "not made for plan9 amd64", [](Fixture& f) { f.machine.os = "plan9"; }},
    {Refusal::below_floor, "older than release 8", [](Fixture& f) { f.memory.floor = 8; }},
    {Refusal::release_changed, "with another content",
     [](Fixture& f) { f.memory.seen[7] = std::string(64, 'a'); }},
    {Refusal::release_changed, "has the number 6",
     [](Fixture& f) {
       f.release.number = 6;
       f.timestamp.offers = {offer_of(f.release)};
       f.timestamp.offers[0].number = 7;
       f.offer_anew = false;
     }},
    {Refusal::version_unknown, "not on offer", [](Fixture& f) { f.version = "1.5.0"; }},
    {Refusal::version_unknown, "no release is on offer",
     [](Fixture& f) {
       f.version = "";
       f.timestamp.offers.clear();
       f.offer_anew = false;
     }},
    {Refusal::version_unknown, "though the timestamp says 1.4.0",
     [](Fixture& f) {
       f.release.version = "1.3.9";
       f.timestamp.offers = {offer_of(f.release)};
       f.timestamp.offers[0].version = "1.4.0";
       f.offer_anew = false;
     }},
    {Refusal::bad_version, "is not a version", [](Fixture& f) { f.version = "../../etc"; }},
    {Refusal::bad_version, "which runs here",
     [](Fixture& f) {
       f.machine.version = "dev";
       f.release.min_from = "1.2.0";
     }},
    {Refusal::too_old_to_update, "between them", [](Fixture& f) { f.release.min_from = "1.3.1"; }},
    {Refusal::timestamp_older, "serves old files", [](Fixture& f) { f.memory.timestamp = 13; }},
    {Refusal::hash_differs, "not the one that the timestamp names",
     [](Fixture& f) { f.served_release = [](const std::string& document) { return document + "\n"; }; }},
    {Refusal::root_not_next, "after root 1 comes 2, not 3",
     [](Fixture& f) {
       f.next_root = write(root_of(3, {&f.root_a, &f.root_b}, 2, {&f.release_key}, {&f.timestamp_key}));
       f.next_signatures = signed_by({&f.root_a, &f.root_b}, f.next_root);
     }},
    {Refusal::root_not_next, "not 1",
     [](Fixture& f) {
       f.next_root = write(f.root);
       f.next_signatures = signed_by({&f.root_a, &f.root_b}, f.next_root);
     }},
    {Refusal::below_threshold, "of root 1 wants",
     [](Fixture& f) {  // not enough of the old
       f.next_root = write(root_of(2, {&f.root_a, &f.root_c}, 2, {&f.release_key}, {&f.timestamp_key}));
       f.next_signatures = signed_by({&f.root_a, &f.root_c}, f.next_root);
     }},
    {Refusal::below_threshold, "of root 2 wants",
     [](Fixture& f) {  // not enough of the new
       f.next_root = write(root_of(2, {&f.root_a, &f.root_c}, 2, {&f.release_key}, {&f.timestamp_key}));
       f.next_signatures = signed_by({&f.root_a, &f.root_b}, f.next_root);
     }},
    {Refusal::unknown_key, "may not sign it",
     [](Fixture& f) {
       f.next_root = write(root_of(2, {&f.root_a, &f.root_b}, 2, {&f.release_key}, {&f.timestamp_key}));
       f.next_signatures = signed_by({&f.root_a, &f.root_b, &f.stranger}, f.next_root);
     }},
    {Refusal::malformed, "never reach",
     [](Fixture& f) {
       f.next_root = write(root_of(2, {&f.root_a, &f.root_b}, 3, {&f.release_key}, {&f.timestamp_key}));
       f.next_signatures = signed_by({&f.root_a, &f.root_b}, f.next_root);
     }},
};

}  // namespace

TEST_CASE("each reason to refuse has its own value and its own words, and leaves the memory as it was") {
  std::set<Refusal> shown;
  std::set<std::string> words;
  for (const Row& row : kRows) {
    Fixture f;
    row.change(f);
    const auto outcome = f.update();
    CHECK_MESSAGE(outcome.refusal == row.refusal,
                  row.said << ": " << name_of(outcome.refusal) << " " << outcome.message);
    CHECK_MESSAGE(outcome.message.find(row.said) != std::string::npos, row.said << ": " << outcome.message);
    CHECK(outcome.memory.seen == f.memory.seen);
    CHECK(outcome.memory.floor == f.memory.floor);
    CHECK(outcome.memory.root == f.memory.root);
    shown.insert(row.refusal);
    words.insert(outcome.message);
  }
  // Every value of the enumeration is in the table.
  for (int value = 1; value <= static_cast<int>(Refusal::hash_differs); ++value)
    CHECK_MESSAGE(shown.contains(static_cast<Refusal>(value)), name_of(static_cast<Refusal>(value)));
}

TEST_CASE("what is in order is believed, and remembered") {
  Fixture f;
  const auto outcome = f.update();
  CHECK_MESSAGE(outcome.refusal == Refusal::none, outcome.message);
  CHECK(outcome.memory.timestamp == 12);
  CHECK(outcome.memory.seen.at(7) == offer_of(f.release).sha256);
  CHECK(outcome.memory.trusted_time == f.now - kClockSkew);
  CHECK(outcome.memory.floor == 0);  // only a confirmed update raises it

  f.memory = outcome.memory;  // the same again
  CHECK(f.update().refusal == Refusal::none);
  f.now -= kClockSkew;  // a clock that is set right by a little
  CHECK(f.update().refusal == Refusal::none);
  f.now -= std::chrono::seconds(1);
  CHECK(f.update().refusal == Refusal::clock_behind);
}

TEST_CASE("without a version the newest of the channel is chosen") {
  Fixture f;
  Release other = release_of("2.0.0", 9);
  other.channel = "beta";
  Trust trust = f.trust();
  const Timestamp stamp =
      timestamp_of(1, {offer_of(release_of("1.5.0", 7)), offer_of(release_of("1.4.9", 8)), offer_of(other)});
  CHECK(trust.choose(stamp, f.machine, "")->version == "1.4.9");
  CHECK(trust.choose(stamp, f.machine, "1.5.0")->number == 7);
}

TEST_CASE("the floor rises when it is told to, and never falls") {
  Trust trust = Fixture().trust();
  trust.raise_floor(7);
  CHECK(trust.memory().floor == 7);
  trust.raise_floor(3);
  CHECK(trust.memory().floor == 7);
}

TEST_CASE("the release of the floor itself may be installed again") {
  Fixture f;
  f.memory.floor = 7;
  CHECK(f.update().refusal == Refusal::none);
}

TEST_CASE("a root follows its predecessor, with enough signatures of both") {
  Fixture f;
  Trust trust = f.trust();
  CHECK(trust.next_root() == 2);
  // b goes, c comes.
  const std::string two = write(root_of(2, {&f.root_a, &f.root_c}, 2, {&f.release_key}, {&f.timestamp_key}));
  REQUIRE(trust.take_root(two, signed_by({&f.root_a, &f.root_b, &f.root_c}, two)));
  CHECK(trust.memory().root == two);
  CHECK(trust.next_root() == 3);
  // The old key means nothing any more.
  const std::string three = write(root_of(3, {&f.root_b}, 1, {&f.release_key}, {&f.timestamp_key}));
  CHECK_FALSE(trust.take_root(three, signed_by({&f.root_a, &f.root_b}, three)));
  CHECK(trust.last_refusal() == Refusal::below_threshold);
  CHECK(trust.memory().root == two);
}

TEST_CASE("an expired root still leads to its successor") {
  Fixture f;
  f.root.expires = at(-kDay);
  f.memory.root = write(f.root);
  f.next_root = write(root_of(2, {&f.root_a, &f.root_b}, 2, {&f.release_key}, {&f.timestamp_key}));
  f.next_signatures = signed_by({&f.root_a, &f.root_b}, f.next_root);
  CHECK(f.update().refusal == Refusal::none);
}

TEST_CASE("versions of timestamps begin anew when a root changes who signs them, and only then") {
  Fixture f;
  f.memory.timestamp = 1'000'000;  // whoever stole the key has used up the numbers
  Trust trust = f.trust();
  const std::string two = write(root_of(2, {&f.root_a, &f.root_b}, 2, {&f.release_key}, {&f.timestamp_key}));
  REQUIRE(trust.take_root(two, signed_by({&f.root_a, &f.root_b}, two)));
  CHECK(trust.memory().timestamp == 1'000'000);
  const std::string three = write(root_of(3, {&f.root_a, &f.root_b}, 2, {&f.release_key}, {&f.stranger}));
  REQUIRE(trust.take_root(three, signed_by({&f.root_a, &f.root_b}, three)));
  CHECK(trust.memory().timestamp == 0);
}

TEST_CASE("the memory is the same after it was written and read") {
  Fixture f;
  const Memory memory = f.update().memory;
  const std::string text = to_text(memory);
  auto back = parse_memory(text);
  REQUIRE_MESSAGE(back, back.error().message());
  CHECK(to_text(*back) == text);
  CHECK(back->root == memory.root);
  CHECK(back->seen == memory.seen);
  CHECK(back->trusted_time == memory.trusted_time);
  const Memory fresh{.root = write(f.root)};
  CHECK(parse_memory(to_text(fresh))->trusted_time == Instant{});
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string flipped = text;
    flipped[i] = static_cast<char>(flipped[i] ^ 1);
    CHECK_FALSE(parse_memory(flipped));
    if (!parse_memory(text.substr(0, i))) continue;
    FAIL("a part of the file was accepted");
  }
}

TEST_CASE("a memory that nobody wrote is damaged, whatever its checksum says") {
  Fixture f;
  f.memory.seen[7] = std::string(64, 'a');
  f.memory.seen[9] = std::string(64, 'b');
  const std::string good = to_text(f.memory);
  const std::string lines = good.substr(good.find('\n') + 1);
  const auto read = [](const std::string& text) {
    return parse_memory("opsagent trusted 1 " + base::sha256_hex(text) + "\n" + text);
  };
  REQUIRE(read(lines));
  const std::string seven = "seen 7 " + std::string(64, 'a') + "\n";
  const std::string nine = "seen 9 " + std::string(64, 'b') + "\n";
  const auto with = [&](const std::string& part, const std::string& instead) {
    std::string changed = lines;
    changed.replace(changed.find(part), part.size(), instead);
    return static_cast<bool>(read(changed));
  };
  CHECK_FALSE(with("floor 0", "floor 00"));
  CHECK_FALSE(with("floor 0", "floor -0"));
  CHECK_FALSE(with("root ", "root 0"));
  CHECK_FALSE(with(seven + nine, nine + seven));
  CHECK_FALSE(with(seven, seven + "seen 7 " + std::string(64, 'c') + "\n"));
  CHECK(with(seven, ""));
}

TEST_CASE("hashes of releases are remembered up to a limit") {
  Fixture f;
  for (std::uint64_t number = 100; number < 100 + kMostSeen; ++number)
    f.memory.seen[number] = std::string(64, 'a');
  f.release.number = 5000;
  const auto outcome = f.update();
  CHECK(outcome.refusal == Refusal::none);
  CHECK(outcome.memory.seen.size() == kMostSeen);
  CHECK(outcome.memory.seen.contains(5000));
  CHECK_FALSE(outcome.memory.seen.contains(100));
}

TEST_CASE("a machine without a root that can be read trusts nothing") {
  CHECK_FALSE(Trust::open(Memory{}));
  Fixture f;
  f.root.product = "other";
  CHECK_FALSE(Trust::open(Memory{.root = write(f.root)}));
}

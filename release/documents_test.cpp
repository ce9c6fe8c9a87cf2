#include "release/documents.hpp"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "tests/support/release_documents.hpp"

using namespace release;
using namespace release::testing;

namespace {

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  const std::size_t at = text.find(what);
  REQUIRE_MESSAGE(at != std::string::npos, what);
  return text.replace(at, what.size(), by);
}

struct Change {
  std::string what, by, said;
};

template <class Parse>
void check_refused(Parse parse, const std::string& good, const std::vector<Change>& changes) {
  REQUIRE(parse(good));
  for (const Change& change : changes) {
    const auto parsed = parse(replaced(good, change.what, change.by));
    REQUIRE_MESSAGE(!parsed, change.what << " -> " << change.by);
    CHECK_MESSAGE(parsed.error().message().find(change.said) != std::string::npos,
                  change.said << " is not in: " << parsed.error().message());
  }
}

}  // namespace

TEST_CASE("documents are laid out line by line, so that a shell can read them") {
  Release release = release_of("1.4.0", 7);
  release.targets[0].sha256 = std::string(64, 'a');
  CHECK(write(release) ==
        "{\n"
        "  \"type\": \"release\",\n"
        "  \"product\": \"opsagent\",\n"
        "  \"channel\": \"stable\",\n"
        "  \"version\": \"1.4.0\",\n"
        "  \"release\": 7,\n"
        "  \"min_from\": \"\",\n"
        "  \"expires\": \"2027-04-15T08:00:00Z\",\n"
        "  \"targets\": [\n"
        "    {\"os\": \"linux\", \"arch\": \"amd64\", \"size\": 1000, \"sha256\": \"" +
            std::string(64, 'a') +
            "\", \"path\": \"files/opsagent-1.4.0-linux-amd64.tar.gz\"}\n"
            "  ]\n"
            "}\n");
  Timestamp timestamp = timestamp_of(12, {});
  CHECK(write(timestamp) ==
        "{\n  \"type\": \"timestamp\",\n  \"product\": \"opsagent\",\n  \"version\": 12,\n"
        "  \"expires\": \"2027-01-17T08:00:00Z\",\n  \"offers\": [\n  ]\n}\n");
  const SigningKey a = new_key(), b = new_key();
  const std::string id_a = a.public_key().id(), id_b = b.public_key().id();
  CHECK(write(root_of(1, {&a, &b}, 2, {&b}, {&b})) ==
        "{\n  \"type\": \"root\",\n  \"product\": \"opsagent\",\n  \"version\": 1,\n"
        "  \"expires\": \"2028-01-15T08:00:00Z\",\n  \"keys\": [\n"
        "    {\"id\": \"" +
            id_a + "\", \"public\": \"" + a.public_key().text() + "\"},\n    {\"id\": \"" + id_b +
            "\", \"public\": \"" + b.public_key().text() +
            "\"}\n  ],\n  \"roles\": [\n"
            "    {\"role\": \"root\", \"threshold\": 2, \"keys\": [\"" +
            id_a + "\", \"" + id_b + "\"]},\n    {\"role\": \"release\", \"threshold\": 1, \"keys\": [\"" +
            id_b + "\"]},\n    {\"role\": \"timestamp\", \"threshold\": 1, \"keys\": [\"" + id_b +
            "\"]}\n  ]\n}\n");
}

TEST_CASE("what was written is read back") {
  const SigningKey a = new_key(), b = new_key();
  const Root root = root_of(3, {&a, &b}, 2, {&a}, {&b});
  auto read = parse_root(write(root));
  REQUIRE_MESSAGE(read, read.error().message());
  CHECK(read->version == 3);
  CHECK(read->expires == at(365 * kDay));
  CHECK(read->role(Role::root).threshold == 2);
  CHECK(read->role(Role::timestamp).keys == std::vector{b.public_key().id()});

  Release release = release_of("1.4.0-rc.1", 7);
  release.min_from = "1.2.0";
  auto back = parse_release(write(release));
  REQUIRE(back);
  CHECK(back->min_from == "1.2.0");
  CHECK(back->number == 7);
  CHECK(back->targets.at(0).path == "files/opsagent-1.4.0-rc.1-linux-amd64.tar.gz");

  auto stamp = parse_timestamp(write(timestamp_of(9, {offer_of(release), offer_of(release_of("1.5.0", 8))})));
  REQUIRE(stamp);
  CHECK(stamp->version == 9);
  CHECK(stamp->offers.at(1).path == "releases/8.json");
  CHECK(parse_timestamp(write(timestamp_of(1, {}))));
}

TEST_CASE("a release document that is not exactly one is refused, and the member named") {
  check_refused([](std::string_view text) { return parse_release(text); }, write(release_of("1.4.0", 7)),
                {{"\"type\": \"release\"", "\"type\": \"timestamp\"", "'type'"},
                 {"{\n", "", "not JSON"},
                 {"\"opsagent\"", "\"\"", "'product'"},
                 {"\"stable\"", "\"../x\"", "'channel'"},
                 {"\"1.4.0\"", "\"1.4\"", "'version'"},
                 {"\"release\": 7", "\"release\": 0", "'release'"},
                 {"\"release\": 7", "\"release\": -7", "'release'"},
                 {"\"release\": 7", "\"release\": 7.5", "'release'"},
                 {"\"release\": 7", "\"release\": \"7\"", "'release'"},
                 {"\"release\": 7", "\"release\": 9007199254740992", "'release'"},
                 {"\"release\": 7,", "\"release\": 7,\n  \"release\": 8,", "not JSON"},
                 {"\"release\": 7,", "\"release\": 7,\n  \"more\": 8,", "'more'"},
                 {"  \"release\": 7,\n", "", "no 'release'"},
                 {"\"min_from\": \"\"", "\"min_from\": \"x\"", "'min_from'"},
                 {"08:00:00Z", "08:00:00+00:00", "'expires'"},
                 {"2027-04-15", "2027-04-31", "'expires'"},
                 {"\"linux\"", "\"lin ux\"", "'os'"},
                 {"\"arch\": \"amd64\"", "\"arch\": 64", "'arch'"},
                 {"\"size\": 1000", "\"size\": 0", "'size'"},
                 {"\"sha256\": \"", "\"sha256\": \"A", "'sha256'"},
                 {"files/", "/files/", "'path'"},
                 {"files/", "files/../", "'path'"},
                 {"files/", "files//", "'path'"},
                 {"files/", "https://x/", "'path'"},
                 {"{\"os\"", "{\"os\":  \"linux\", \"arch\": \"amd64\"}, {\"os\"", "no 'size'"},
                 {"\"release\": 7", "\"release\":  7", "laid out"},
                 {"}\n", "}", "laid out"}});
}

TEST_CASE("a timestamp's offers are in order, and each is there once") {
  const Release one = release_of("1.4.0", 7), two = release_of("1.5.0", 8);
  CHECK_FALSE(parse_timestamp(write(timestamp_of(1, {offer_of(two), offer_of(one)}))));
  CHECK_FALSE(parse_timestamp(write(timestamp_of(1, {offer_of(one), offer_of(one)}))));
  CHECK_FALSE(parse_timestamp(write(timestamp_of(1, {offer_of(one), offer_of(release_of("1.4.0", 9))}))));
}

TEST_CASE("a root whose roles do not fit its keys is refused") {
  const SigningKey a = new_key(), b = new_key();
  const Root good = root_of(1, {&a}, 1, {&a}, {&b});
  const std::string other(64, '0');
  check_refused([](std::string_view text) { return parse_root(text); }, write(good),
                {{"\"threshold\": 1", "\"threshold\": 2", "never reach"},
                 {"\"threshold\": 1", "\"threshold\": 0", "'threshold'"},
                 {"\"id\": \"" + a.public_key().id(), "\"id\": \"" + other, "not its own"},
                 {"[\"" + a.public_key().id(), "[\"" + other, "not there"},
                 {"[\"" + a.public_key().id() + "\"]",
                  "[\"" + a.public_key().id() + "\", \"" + a.public_key().id() + "\"]", "twice"},
                 {"\"role\": \"release\"", "\"role\": \"root\"", "where 'release' belongs"},
                 {"\"public\": \"MCow", "\"public\": \"NCow", "cannot be read"}});
  Root doubled = good;
  doubled.keys.push_back(doubled.keys.front());
  CHECK_FALSE(parse_root(write(doubled)));
}

TEST_CASE("a document beyond its largest size is not even parsed") {
  CHECK_FALSE(parse_release(std::string(kLargestDocument + 1, ' ')));
}

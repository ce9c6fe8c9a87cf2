#include "states/linux_apt_package/entry.hpp"

#include <doctest/doctest.h>

namespace {

using namespace states::linux_apt_package;
using states::Pair;

Entry entry(std::string_view value) {
  auto read = read_entry({"tiny", value});
  REQUIRE_MESSAGE(read, value);
  return *read;
}

std::string problem(Pair pair) {
  auto read = read_entry(pair);
  return read ? "" : read.error().message();
}

}  // namespace

TEST_CASE("values of linux.apt.package say what is wanted") {
  struct Row {
    const char* value;
    Want want;
    Relation relation;
    const char* version;
  };
  for (const Row& row : std::initializer_list<Row>{
           {"", Want::installed, Relation::matching, ""},
           {"installed", Want::installed, Relation::matching, ""},
           {" latest ", Want::latest, Relation::matching, ""},
           {"removed", Want::removed, Relation::matching, ""},
           {"purged", Want::purged, Relation::matching, ""},
           {"10.18", Want::version, Relation::matching, "10.18"},
           {"1:2.0-1~bpo1", Want::version, Relation::matching, "1:2.0-1~bpo1"},
           {"=1.0", Want::version, Relation::equal, "1.0"},
           {"<2", Want::version, Relation::less, "2"},
           {"<=2", Want::version, Relation::less_equal, "2"},
           {">2", Want::version, Relation::greater, "2"},
           {">= 2.0", Want::version, Relation::greater_equal, "2.0"},
       }) {
    CAPTURE(row.value);
    const Entry read = entry(row.value);
    CHECK(read.want == row.want);
    CHECK(read.relation == row.relation);
    CHECK(read.version == row.version);
  }
}

TEST_CASE("package files are given by path or address") {
  CHECK(entry("/srv/x.deb").file == "/srv/x.deb");
  CHECK(entry("file:///srv//x.deb").file == "/srv/x.deb");
  CHECK(entry("https://example.org/x.deb").file == "https://example.org/x.deb");
  const std::string sum = "#sha256=" + std::string(64, 'a');
  for (const std::string& file : {std::string("http://example.org/x.deb"), std::string("/srv/x.deb")}) {
    CHECK(entry(file + sum).file == file);
    CHECK(entry(file + sum).checksum->text() == "sha256:" + std::string(64, 'a'));
    CHECK_FALSE(entry(file).checksum);
  }
  CHECK_FALSE(problem({"x", "/srv/x.deb#sha256=0"}).empty());
  CHECK(entry("/srv/x.deb").want == Want::file);
  CHECK(problem({"x", "x.deb"}) == "'x.deb' is not an absolute path");
  CHECK(problem({"any label", "/srv/x.deb"}).empty());
}

TEST_CASE("names and values that cannot be meant are refused") {
  CHECK(problem({"tiny", "lastest"}) == "Illegal value for 'name': 'lastest'");
  CHECK(problem({"tiny", "true"}) == "Illegal value for 'name': 'true'");
  CHECK(problem({"tiny", "<<2"}) == "Illegal value for 'name': '<<2'");
  CHECK(problem({"tiny", ">="}) == "Illegal value for 'name': '>='");
  CHECK(problem({"tiny", "x.rpm"}) == "Illegal value for 'name': 'x.rpm'");
  for (const char* name :
       {"-y", "--purge", "a b", "tiny*", "tiny=1", "./tiny", "tiny:", ":amd64", "a;b", "^tiny"}) {
    CAPTURE(name);
    CHECK(problem({name, ""}) == "Illegal value for 'name': '" + std::string(name) + "'");
  }
  for (const char* name : {"g++", "libc6:i386", "0ad", "python3.11", "linux-image-6.1.0-1-amd64"})
    CHECK(problem({name, ""}).empty());
}

TEST_CASE("a version is satisfied by itself, without its epoch, and by what it begins at a separator") {
  struct Row {
    const char* wanted;
    const char* found;
    bool satisfied;
  };
  for (const Row& row : std::initializer_list<Row>{
           {"10.18", "10.18", true},     {"10.18", "10.18.2-1", true},
           {"10.18", "10.18-1", true},   {"10.18", "10.18+dfsg-1", true},
           {"10.18", "10.18~rc1", true}, {"10.18", "10.180", false},
           {"10.18", "1:10.18-1", true}, {"1", "10.18", false},
           {"1", "1:10.18", true},       {"2.0-1", "1:2.0-1", true},
           {"1:2.0-1", "2.0-1", false},  {"1.0", "1.0-0", true},
           {"10.18", "10.1", false},     {"=1.0", "1.0-1", false},
           {"=1.0", "1.0", true},        {"=1.0", "1:1.0", false},
           {"<2", "1.9-1", true},        {"<2", "2", false},
           {"<2", "2~rc1", true},        {"<=2", "2", true},
           {"<=2", "2-1", false},        {">2", "2-1", true},
           {">2", "2", false},           {">=2", "2", true},
           {">=2", "1:0", true},         {">=2", "1.9", false},
       }) {
    CAPTURE(row.wanted);
    CAPTURE(row.found);
    CHECK(is_satisfied(entry(row.wanted), row.found) == row.satisfied);
  }
}

TEST_CASE("packages beside package files are skipped") {
  const Pair pairs[] = {{"a", ""}, {"label", "/x.deb"}, {"b", "purged"}, {"label", "/y.deb"}};
  const auto request = read_request(pairs);
  REQUIRE(request);
  REQUIRE(request->entries.size() == 2);
  CHECK(request->entries[1].file == "/y.deb");
  CHECK(request->skipped == std::vector<std::string>{"a", "b"});
}

TEST_CASE("attack: as many names as a recipe can make are read soon") {
  std::vector<std::string> names;
  for (int i = 0; i < 100'000; ++i)
    names.push_back("package-" + std::to_string(i));
  std::vector<Pair> pairs;
  for (const std::string& name : names)
    pairs.push_back({.key = name});
  const auto started = std::chrono::steady_clock::now();
  REQUIRE(read_request(pairs));
  CHECK(std::chrono::steady_clock::now() - started < std::chrono::seconds(5));  // one by one it took minutes
}

TEST_CASE("a package may be given twice only with the same value") {
  const Pair equal[] = {{"a", ""}, {"a", "installed"}};
  const auto request = read_request(equal);
  REQUIRE(request);
  CHECK(request->entries.size() == 1);
  const Pair different[] = {{"a", ""}, {"a", "purged"}};
  const auto refused = read_request(different);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message() == "Package 'a' is given twice with different values");
}

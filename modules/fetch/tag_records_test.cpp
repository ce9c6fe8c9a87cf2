#include "modules/fetch/tag_records.hpp"

#include <doctest/doctest.h>

#include "tests/support/scratch_folder.hpp"

namespace modules::fetch {

namespace {

constexpr const char* kFirst = "1111111111111111111111111111111111111111";
constexpr const char* kOther = "2222222222222222222222222222222222222222";
constexpr const char* kOurs = "https://git.example.com/ours/modules.git";
constexpr TagRecords::Limits kFew{.whole = 4, .brief = 6, .of_owner = 7};

struct TagBench {
  TagRecords load() const {
    auto records = TagRecords::load(path, kFew);
    REQUIRE(records);
    return std::move(*records);
  }
  base::Result<void> add(const std::string& repository, const std::string& tag, std::int64_t seen,
                         const std::string& signer = {}) const {
    return load().store(
        {.repository = repository, .tag = tag, .commit = kFirst, .signer = signer, .seen = seen});
  }

  const tests::ScratchFolder scratch{tests::folder_in_memory()};
  const std::string path = scratch / "tags.json";
};

std::string of_stranger(const std::string& owner) {
  return "https://git.example.net/" + owner + "/x.git";
}

}  // namespace

TEST_CASE("whoever has many tags fetched makes nobody's tag be forgotten, nor his own") {
  const TagBench bench;
  REQUIRE(bench.add(kOurs, "v1", 1, "SHA256:us"));  // the one that was not seen for longest
  for (int i = 0; i < 7; ++i)
    REQUIRE(bench.add(of_stranger("s"), "t" + std::to_string(i), 100 + i));
  const TagRecords records = bench.load();
  const auto ours = records.find(kOurs, "v1");
  REQUIRE(ours);
  CHECK(ours->commit == kFirst);
  CHECK(ours->signer == "SHA256:us");
  for (int i = 0; i < 7; ++i) {
    const auto found = records.find(of_stranger("s"), "t" + std::to_string(i));
    REQUIRE(found);
    CHECK(found->commit == kFirst);
  }
  CHECK_FALSE(records.find(of_stranger("s"), "t7"));
  CHECK_FALSE(records.find(of_stranger("s2"), "t1"));
}

TEST_CASE("beyond the limits a new tag is refused with what to do, and a known one is not") {
  const TagBench bench;
  for (int i = 0; i < 7; ++i)
    REQUIRE(bench.add(of_stranger("s"), "t" + std::to_string(i), i));
  const auto one_more = bench.add(of_stranger("s"), "t7", 7);
  REQUIRE_FALSE(one_more);
  CHECK(one_more.error().code() == base::ErrorCode::no_space);
  CHECK(one_more.error().message().find("7 tags of https://git.example.net/s and takes no more") !=
        std::string::npos);
  CHECK(one_more.error().message().find("Give the commit") != std::string::npos);
  CHECK(bench.add(of_stranger("s"), "t0", 9));  // one that had become short
  CHECK(bench.add(kOurs, "v1", 10));            // and another owner's
  for (int i = 0; i < 2; ++i)
    CHECK(bench.add(of_stranger("other" + std::to_string(i)), "t", 11));
  const auto full = bench.add(of_stranger("another"), "t", 12);
  REQUIRE_FALSE(full);
  CHECK(full.error().message().find("remembers 10 tags and takes no more") != std::string::npos);
  CHECK(bench.load().check_room(kOurs, "v1"));
  CHECK_FALSE(bench.load().check_room(kOurs, "v2"));
}

TEST_CASE("a tag that had become short is whole again when it is seen, with what it stands for now") {
  const TagBench bench;
  for (int i = 0; i < 6; ++i)
    REQUIRE(bench.add(kOurs, "v" + std::to_string(i), i, "SHA256:us"));
  CHECK(bench.load().find(kOurs, "v0")->commit == kFirst);
  CHECK(bench.load().find(kOurs, "v0")->signer == "SHA256:us");
  REQUIRE(bench.load().store(
      {.repository = kOurs, .tag = "v0", .commit = kOther, .signer = "SHA256:us", .seen = 50}));
  const TagRecords records = bench.load();
  CHECK(records.find(kOurs, "v0")->commit == kOther);
  CHECK(records.find(kOurs, "v0")->signer == "SHA256:us");
  CHECK(records.find(kOurs, "v2")->commit == kFirst);
}

TEST_CASE("short records that are damaged are not passed over") {
  const TagBench bench;
  for (const char* text : {R"({"tags": [], "short": ["x"]})", R"({"tags": [], "short": {}})",
                           R"({"tags": [], "short": [7]})", R"({"tags": [], "short": ["a b c"]})"}) {
    bench.scratch.write("tags.json", text);
    CHECK_FALSE(TagRecords::load(bench.path));
  }
}

}  // namespace modules::fetch

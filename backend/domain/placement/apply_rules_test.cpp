#include "backend/domain/placement/apply_rules.hpp"

#include <doctest/doctest.h>

using namespace backend::domain;

namespace {

Assignment assignment(std::int64_t id, const std::string& recipe, const std::string& set = {},
                      const std::string& owner = {}, const std::string& selector = "role=web") {
  Assignment made;
  made.id = id;
  made.app_id = "default";
  made.selector = selector;
  made.recipe = recipe;
  made.set = set;
  made.owner = owner;
  return made;
}

std::string ids_of(const std::vector<Assignment>& assignments) {
  std::string ids;
  for (const Assignment& each : assignments)
    ids += (ids.empty() ? "" : " ") + std::to_string(each.id);
  return ids;
}

}  // namespace

TEST_CASE("an item is about the assignment of the same recipe for the same selector in the same app") {
  std::vector<Assignment> present{assignment(1, "web"), assignment(2, "db")};
  CHECK(find_described(present, assignment(0, "db"))->id == 2);
  CHECK(find_described(present, assignment(0, "mail")) == nullptr);
  CHECK(find_described(present, assignment(0, "web", "", "", "*")) == nullptr);
  present[0].app_id = "shop";
  CHECK(find_described(present, assignment(0, "web")) == nullptr);
}

TEST_CASE("only what the set has made, for the same scope, and does not describe any more is pruned") {
  const std::vector<Assignment> present{
      assignment(1, "by-hand"),
      assignment(2, "of-another-set", "mail"),
      assignment(3, "of-another-scope", "site", "role=web"),
      assignment(4, "described", "site"),
      assignment(5, "gone", "site"),
      assignment(6, "described", "site", "", "role=old"),
  };
  const std::vector<Assignment> wanted{assignment(0, "described"), assignment(0, "new")};
  CHECK(ids_of(find_pruned(present, wanted, {"site", ""})) == "5 6");
  CHECK(ids_of(find_pruned(present, wanted, {"site", "role=web"})) == "3");
  CHECK(ids_of(find_pruned(present, wanted, {"mail", ""})) == "2");
  CHECK(find_pruned(present, wanted, {"", ""}).empty());
}

TEST_CASE("an assignment of one set is not another's to describe") {
  CHECK(problem_of_set(assignment(1, "web"), "site").empty());
  CHECK(problem_of_set(assignment(1, "web", "site"), "site").empty());
  CHECK(problem_of_set(assignment(1, "web", "mail"), "site").find("--set mail") != std::string::npos);
}

TEST_CASE("what an assignment says is its revision, its order and how it changes") {
  const Assignment present = assignment(1, "web", "site", "role=web");
  Assignment wanted = assignment(0, "web");
  CHECK(says_same(present, wanted));
  wanted.revision = 3;
  CHECK_FALSE(says_same(present, wanted));
  wanted = assignment(0, "web");
  wanted.order = 1;
  CHECK_FALSE(says_same(present, wanted));
  wanted = assignment(0, "web");
  wanted.kill_on_change = true;
  CHECK_FALSE(says_same(present, wanted));
  wanted = assignment(0, "web");
  wanted.round_delay_s = 60;
  CHECK_FALSE(says_same(present, wanted));
}

TEST_CASE("a pin that the item does not name stays where the recipe is others', and only there") {
  Assignment present = assignment(1, "web");
  present.revision = 3;
  Assignment wanted = assignment(0, "web");
  CHECK(kept_pin(&present, wanted, true) == 3);
  CHECK(kept_pin(&present, wanted, false) == std::nullopt);  // it is to follow
  CHECK(kept_pin(nullptr, wanted, true) == std::nullopt);    // it is pinned to the newest
  wanted.revision = 5;
  CHECK(kept_pin(&present, wanted, true) == 5);
}

TEST_CASE("lines are counted as a diff shows them") {
  CHECK(count_lines("", "a\nb\n") == LineCounts{2, 0});
  CHECK(count_lines("a\nb\nc\n", "a\nx\nc\n") == LineCounts{1, 1});
  CHECK(count_lines("a\n-- b\n", "a\n") == LineCounts{0, 1});
  CHECK(count_lines("a\n", "a\n") == LineCounts{0, 0});
}

TEST_CASE("two plans with other parts have other fingerprints, however the parts run together") {
  const auto print = [](std::initializer_list<std::string_view> parts) {
    ShownPlan plan;
    for (const std::string_view part : parts)
      plan.add(part);
    return plan.fingerprint();
  };
  CHECK(print({"a", "b"}) == print({"a", "b"}));
  CHECK(print({"a", "b"}) != print({"ab"}));
  CHECK(print({"a", "b"}) != print({"b", "a"}));
  CHECK(print({"a:1"}) != print({"a", "1"}));
  CHECK(print({}) != print({""}));
}

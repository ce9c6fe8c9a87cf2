#include "backend/domain/limits/recipe_quota.hpp"

#include <doctest/doctest.h>

using namespace backend::domain;

TEST_CASE("an owner has so many revisions and bytes of recipes, and tokens without a scope more") {
  const RecipeQuota quota{.revisions = 3, .bytes = 100};
  CHECK(problem_of_use("role=web", {.revisions = 2, .bytes = 60}, 40, quota).empty());
  CHECK_FALSE(problem_of_use("role=web", {.revisions = 2, .bytes = 60}, 41, quota).empty());
  CHECK_FALSE(problem_of_use("role=web", {.revisions = 3, .bytes = 0}, 1, quota).empty());
  CHECK(problem_of_use("", {.revisions = 3, .bytes = 100}, 41, quota).empty());
  CHECK_FALSE(problem_of_use("", {.revisions = 3 * kQuotasWithoutScope, .bytes = 0}, 1, quota).empty());
  const std::string said = problem_of_use("role=web", {.revisions = 3, .bytes = 9}, 1, quota);
  CHECK(said.find("'role=web' have 3 revisions of 9 bytes") != std::string::npos);
  CHECK(said.find("recipe_bytes") != std::string::npos);
}

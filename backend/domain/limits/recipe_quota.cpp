#include "backend/domain/limits/recipe_quota.hpp"

namespace backend::domain {

std::string problem_of_use(std::string_view owner, const RecipeUse& use, std::uint64_t bytes,
                           const RecipeQuota& quota) {
  const std::uint64_t times = owner.empty() ? kQuotasWithoutScope : 1;
  const std::uint64_t most_revisions = quota.revisions * times, most_bytes = quota.bytes * times;
  if (use.revisions < most_revisions && use.bytes + bytes <= most_bytes) return {};
  return "the recipes of " +
         (owner.empty() ? std::string("tokens without a scope") : "'" + std::string(owner) + "'") + " have " +
         std::to_string(use.revisions) + " revisions of " + std::to_string(use.bytes) + " bytes, and " +
         std::to_string(most_revisions) + " of " + std::to_string(most_bytes) +
         " are the most: an administrator can hand some of them to another owner (opsctl recipe owner), or "
         "raise recipe_revisions and recipe_bytes in the backend's configuration";
}

}  // namespace backend::domain

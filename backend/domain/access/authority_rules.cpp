#include "backend/domain/access/authority_rules.hpp"

#include <algorithm>

namespace backend::domain {

std::string names_of(const RelyingMachines& relying) {
  constexpr std::size_t kMostMachinesNamed = 20;
  const std::size_t named = std::min(relying.some.size(), kMostMachinesNamed);
  std::string text;
  for (std::size_t i = 0; i < named; ++i)
    text += (i == 0 ? "" : ", ") + relying.some[i].app_id + "/" + relying.some[i].instance_id;
  if (relying.count > named) text += " and " + std::to_string(relying.count - named) + " more";
  return text;
}

std::string refuse_retirement(const RelyingMachines& relying, bool is_forced) {
  if (relying.count == 0 || is_forced) return {};
  return std::to_string(relying.count) +
         (relying.count == 1 ? " machine still relies" : " machines still rely") +
         " on the authority that would be retired: " + names_of(relying) +
         ". Those that are offline get the new one when they come back; those that are online and are still "
         "here have an agent that is too old for this, or a ca_file without it. Retired by force, the "
         "authority is gone for them too: each then needs a new join token";
}

}  // namespace backend::domain

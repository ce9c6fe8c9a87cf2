// How many revisions of recipes one owner may have: they are never removed, because what machines were told
// must stay known. Pure; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace backend::domain {

struct RecipeUse {
  std::uint64_t revisions = 0;
  std::uint64_t bytes = 0;  // as they were uploaded, and what was made of them
};

// Of one scope. Ten thousand are a push an hour for a year; 256 MiB are ten thousand of 13 KiB, twice.
struct RecipeQuota {
  std::uint64_t revisions = 10'000;
  std::uint64_t bytes = std::uint64_t{256} << 20;
};

// Tokens without a scope share one owner, and are those of whoever runs the backend: so many times as much.
inline constexpr std::uint64_t kQuotasWithoutScope = 16;

// What is wrong with one more revision of `bytes` for this owner (""; tokens without a scope), and what to do
// about it; "" when there is room.
std::string problem_of_use(std::string_view owner, const RecipeUse& use, std::uint64_t bytes,
                           const RecipeQuota& quota);

}  // namespace backend::domain

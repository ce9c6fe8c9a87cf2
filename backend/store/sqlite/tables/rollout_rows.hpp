// Rows of rollouts, as the files of rollouts and of changes read them.
#pragma once

#include <string>
#include <string_view>

#include "backend/store/sqlite/tables/tables.hpp"

namespace backend::store::sqlite {

// "SELECT ... FROM rollouts " with what read_rollout() needs, and the rest behind it.
std::string select_rollouts(std::string_view rest);
domain::Rollout read_rollout(const Query& row);

}  // namespace backend::store::sqlite

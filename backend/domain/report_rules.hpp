// What reports of an agent mean for its instance. Pure; one thread per object.
#pragma once

#include <string>
#include <string_view>

#include "backend/domain/model.hpp"

namespace backend::domain {

// Version 1 says only whether it went well.
std::string_view outcome_of(const protocol::StateLog& log);

// Reports outside the recipe (of a single run) say nothing about how far it has come.
bool is_of_recipe(const protocol::StateLog& log);

// What a batch of reports changes in the row of its instance. Each report that is new is taken once, in
// order; the row is written at the end. The reports must outlive this.
struct InstanceNews {
  std::int64_t reported_version = 0;  // at first that of the row
  bool has_status = false;
  std::string status, errors = "[]";          // with has_status; errors are JSON
  const protocol::RoundEnd* round = nullptr;  // the last one
  std::int64_t converged_version = 0;         // 0: none

  void take(const protocol::StateLog& log);
  void take(const protocol::RoundEnd& end);
  void take(const protocol::RecipeStatus& report);
  void take(const protocol::UpdateStatus&) {}  // is in the rows of rollouts
};

}  // namespace backend::domain

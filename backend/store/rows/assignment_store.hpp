// AssignmentStore: the rows of assignments. What one may say is checked before (recipes.hpp); placing them is
// place_app()'s business (fleet/placer.hpp). See store.hpp for threads and errors.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "backend/domain/model.hpp"
#include "base/result.hpp"

namespace backend::store {

class AssignmentStore {
 public:
  virtual ~AssignmentStore() = default;

  virtual base::Result<domain::Page<domain::Assignment>> list_assignments(
      std::string_view app_id,  // "": of all apps
      const domain::PageRequest& page) = 0;
  virtual base::Result<std::vector<domain::Assignment>> assignments_in_order(std::string_view app_id) = 0;
  virtual base::Result<std::vector<std::string>> apps_that_follow(std::string_view recipe) = 0;
  virtual base::Result<domain::Assignment> find_assignment(std::int64_t id) = 0;
  virtual base::Result<domain::Assignment> insert_assignment(const domain::Assignment& assignment,
                                                             domain::Millis now) = 0;
  // All but its app and its set; its `edit` grows.
  virtual base::Result<domain::Assignment> write_assignment(const domain::Assignment& assignment) = 0;
  virtual base::Result<void> delete_assignment(std::int64_t id) = 0;
};

}  // namespace backend::store

// RecipeStore: the rows of recipes' revisions, which never change, and whose each recipe is. See store.hpp
// for threads and errors.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "backend/domain/limits/recipe_quota.hpp"
#include "backend/domain/model.hpp"
#include "base/result.hpp"

namespace backend::store {

class RecipeStore {
 public:
  virtual ~RecipeStore() = default;

  virtual base::Result<domain::Page<domain::RecipeSummary>> list_recipes(const domain::PageRequest& page) = 0;
  // Newest first, without content.
  virtual base::Result<domain::Page<domain::Revision>> list_revisions(std::string_view name,
                                                                      const domain::PageRequest& page) = 0;
  // `revision` nothing: the newest.
  virtual base::Result<domain::Revision> find_revision(std::string_view name,
                                                       std::optional<std::int64_t> revision) = 0;
  // The same without content and states.
  virtual base::Result<domain::Revision> find_revision_row(std::string_view name,
                                                           std::optional<std::int64_t> revision) = 0;
  // The caller has chosen the number: put_revision() (recipes.hpp).
  virtual base::Result<void> insert_revision(const domain::NewRevision& revision, std::int64_t number,
                                             domain::Millis now) = 0;
  // The scope that a recipe belongs to; "": of tokens without one, also when nothing is known of it.
  virtual base::Result<std::string> recipe_owner(std::string_view name) = 0;
  virtual base::Result<void> set_recipe_owner(std::string_view name, std::string_view scope) = 0;
  // What all revisions of an owner's recipes take; reads no content.
  virtual base::Result<domain::RecipeUse> recipe_use(std::string_view owner) = 0;
};

}  // namespace backend::store

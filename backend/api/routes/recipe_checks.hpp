// Recipes that came along with a call, checked as the agents will: with the native states, and with the
// modules of the repository that they, or their app, name.
#pragma once

#include <string>
#include <vector>

#include "backend/api/context.hpp"
#include "backend/domain/placement/module_source.hpp"
#include "backend/domain/placement/recipe_check.hpp"
#include "backend/store/store.hpp"
#include "base/values/json_text.hpp"

namespace backend::api {

struct RecipeToCheck {
  std::string content;
  bool is_single_state = false;  // as of `run`, not a recipe
  // Of the apps that it is for: what counts when the recipe names none itself.
  std::vector<domain::ModuleSource> of_apps = {};
  domain::ModuleSource before = {};  // of the revision before, to see whether its tag has moved
  // It was checked with this commit before, and is to be so again; what cannot be checked any more is taken.
  domain::ModuleSource pinned = {};
  bool compat_v1 = false;  // the apps that it is for take recipes of version 1
};

struct CheckedContent {
  domain::CheckedRecipe recipe;
  domain::ModuleSource module = {};  // no repository: it uses none
  std::string unchecked = {};        // why its modules were not looked at; "": they were
};

// An error: it could not be checked at all. Takes as long as a fetch when the recipe uses modules; `asker` is
// whose turn it is.
transport::Task<base::Result<CheckedContent>> check_content(Context& context, std::string asker,
                                                            RecipeToCheck wanted);

// The module repositories of apps, each once; apps that are not there have none. On a store's thread.
base::Result<std::vector<domain::ModuleSource>> modules_of_apps(store::Store& store,
                                                                const std::vector<std::string>& apps);

// For a recipe that is pushed: of the app that the caller names, which has to be visible, or else of those
// that follow it; and what it had before. On a store's thread.
base::Result<void> find_modules(store::Store& store, const Scope& scope, const std::string& recipe,
                                const std::string& app, RecipeToCheck& wanted);

// "module": {"repo", "tag", "commit", "checked", "unchecked"}; nothing without a repository.
void add_module(base::JsonText& json, const domain::ModuleSource& module, const std::string& unchecked);

}  // namespace backend::api

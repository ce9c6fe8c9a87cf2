// Several changes of apps, recipes, assignments and variables as one: written in one transaction, placed
// together, so that a machine gets one new version with all of it, or nothing is changed at all.
//
// Each item passes through the functions of its single call, in an order in which the caller could have made
// the single calls, too: what the role and the scope do not allow there is not allowed here. Only placing is
// left for the end, so states that move from one recipe to another do not meet on the way. For the writer
// thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "backend/api/changes/app_changes.hpp"
#include "backend/api/changes/recipe_changes.hpp"
#include "backend/api/changes/variable_changes.hpp"
#include "backend/api/reply.hpp"
#include "backend/domain/placement/apply_rules.hpp"

namespace backend::api {

// Each item has the caller's name for its place ("site/web.yaml:3:1"), for what is said about it.
struct RecipeItem {
  RecipePush push;
  std::string source;
  std::string content_source = {};  // where the content is, if that is a file of its own
  bool is_refused = false;          // it was found wrong before
};
struct AssignmentItem {
  domain::Assignment wanted;  // narrowed to the caller's scope
  std::string source;
};
struct AppItem {
  AppEdit wanted;
  std::string source;
};

struct VariablesItem {
  store::LayerEdit wanted;  // all variables of that layer
  std::string source;
};

struct ApplyProblem {
  base::ErrorCode code;
  ProblemItem item;
};

struct ApplyRequest {
  std::string set;
  bool prune = false;
  bool dry_run = false;       // all of it is done, looked at, and undone
  bool now = false;           // to all machines at once, also where an app's changes go ring by ring
  std::string expected = {};  // the fingerprint of what the caller was shown; "": any
  std::vector<AppItem> apps = {};
  std::vector<RecipeItem> recipes = {};
  std::vector<AssignmentItem> assignments = {};
  std::vector<VariablesItem> variables = {};
  std::vector<ApplyProblem> known = {};  // found before; what else is wrong is added, and nothing is changed
};

struct ApplyCaller {
  Scope scope;
  Actor actor;
  std::string default_report;  // of apps that do not say
  domain::RecipeQuota quota = {};
};

enum class Applied { unchanged, added, edited, removed };
std::string_view name_of(Applied change);

struct AppliedRecipe {
  Applied change = Applied::unchanged;
  domain::Revision revision;  // without states; its content, and the one before, where it has changed
  std::optional<domain::Revision> before = {};
  std::string owner, source;
};
struct AppliedAssignment {
  Applied change = Applied::unchanged;
  domain::Assignment assignment = {};
  std::optional<std::int64_t> revision_before = {};
  std::string notice = {};  // why it was pinned, if it was
  std::string source = {};
};
struct AppliedVariables {
  Applied change = Applied::unchanged;
  domain::VariableLayer layer = {};
  std::vector<domain::VariableChange> changes = {};
  std::string source = {};
};
struct AppliedApp {
  Applied change = Applied::unchanged;
  domain::App app;
  std::string source;
};

struct ApplyResult {
  // Not empty: nothing was changed, and the rest says nothing.
  std::vector<ApplyProblem> problems = {};
  std::vector<AppliedApp> apps = {};
  std::vector<AppliedRecipe> recipes = {};
  std::vector<AppliedAssignment> assignments = {};  // with those that were pruned
  std::vector<AppliedVariables> variables = {};     // likewise
  std::vector<fleet::PlacedVersion> machines =
      {};  // those that get a new version and that the caller reaches
  std::vector<std::string> warnings = {};
  fleet::Delivery delivery = {};
  std::string fingerprint = {};
  bool is_stale = false;  // it is not what was expected, and nothing was changed

  std::size_t changes() const;
};

// An error: the database fails, and nothing was changed.
base::Result<ApplyResult> apply_changes(store::Store& store, const ApplyRequest& request,
                                        const ApplyCaller& caller);

// Two items about the same thing: which would count?
std::vector<ApplyProblem> find_repeated(const ApplyRequest& request);

}  // namespace backend::api

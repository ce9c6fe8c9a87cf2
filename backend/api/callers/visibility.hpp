// What a token with a scope sees of what is not a machine: apps, recipes, assignments, rollouts. The rule for
// all of them: what reaches a machine in the scope, or reaches nobody outside. A machine that is revoked or
// not approved is reached by nothing. Without a scope: everything.
//
// For a store's thread; fails when the database does.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "backend/api/callers/scope.hpp"

namespace backend::api {

// What an assignment or a rollout is for.
struct MachineSet {
  std::string app_id;
  std::string selector;
};

// For each, whether it can be seen. The machines in the scope are read once for all of them.
base::Result<std::vector<bool>> visible_sets(store::Store& store, const Scope& scope,
                                             std::span<const MachineSet> sets);
base::Result<bool> is_visible(store::Store& store, const Scope& scope, const MachineSet& set);

// An app that is in the scope as a whole, or that has a machine in it; an app that is not is not there.
base::Result<bool> is_app_visible(store::Store& store, const Scope& scope, const std::string& app_id);
base::Result<domain::App> find_visible_app(store::Store& store, const Scope& scope,
                                           const std::string& app_id);

// Which revisions of a recipe may be read: all by whoever owns it, else those that are assigned to machines
// in the scope.
struct ReadableRevisions {
  bool all = false;
  bool newest = false;
  std::set<std::int64_t> numbers = {};

  bool any() const { return all || newest || !numbers.empty(); }
};

// The assignments that a scope sees, as what they let it read. Made once for a list of recipes.
class ReadableRecipes {
 public:
  // `recipe`: this one alone is asked for; "": any.
  static base::Result<ReadableRecipes> load(store::Store& store, const Scope& scope,
                                            const std::string& recipe = {});
  ReadableRevisions of(const std::string& recipe, std::string_view owner) const;

 private:
  explicit ReadableRecipes(Scope scope) : scope_(std::move(scope)) {}

  Scope scope_;
  std::map<std::string, ReadableRevisions> assigned_;
};

// The revision (nothing: the newest) that the caller may read. `not_found`, as if it were not there, when
// there is none for the caller.
base::Result<domain::Revision> find_readable(store::Store& store, const Scope& scope,
                                             const std::string& recipe, std::optional<std::int64_t> revision);

// A machine that is about to be approved must not be given what the scope does not see yet: whoever has the
// scope could have sent it themselves, under a name that somebody else's assignment asks for. Call it before
// the machine is let in.
base::Result<void> check_nothing_new(store::Store& store, const Scope& scope,
                                     const domain::Instance& instance);

}  // namespace backend::api

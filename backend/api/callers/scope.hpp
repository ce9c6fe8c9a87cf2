// Scopes: a token with one sees and reaches only the machines that its selector matches.
#pragma once

#include <string>
#include <string_view>

#include "backend/api/callers/caller.hpp"
#include "backend/store/store.hpp"
#include "base/values/json_text.hpp"

namespace backend::api {

// The machines of both, "(scope) and (selector)"; the selector as it is without a scope. One that has that
// form already keeps its text. Fails when it gets too long.
base::Result<domain::Selector> narrowed(const Scope& scope, const domain::Selector& selector);

// Whether a selector is one that narrowed() has made for this scope, and so reaches nobody else.
bool is_narrowed(const Scope& scope, std::string_view selector);

// Whose something is, as a member of a JSON object. null: of tokens without a scope.
inline void add_owner(base::JsonText& json, std::string_view owner) {
  json.key("owner");
  if (owner.empty())
    json.null();
  else
    json.value(owner);
}

inline bool covers(const Scope& scope, const domain::Instance& instance) {
  return !scope || scope->matches(instance);
}

// ---- on a store's thread

// An instance outside of the scope is not there.
base::Result<domain::Instance> find_covered(store::Store& store, const Scope& scope,
                                            const std::string& app_id, const std::string& instance_id);
// Whether it is there and inside.
base::Result<bool> is_covered(store::Store& store, const Scope& scope, const std::string& app_id,
                              const std::string& instance_id);

// Answers for the instances of a list, each looked up once.
class CoveredNames {
 public:
  CoveredNames(store::Store& store, const Scope& scope) : store_(store), scope_(scope) {}
  base::Result<bool> has(const std::string& app_id, const std::string& instance_id);

 private:
  store::Store& store_;
  const Scope& scope_;
  std::map<std::pair<std::string, std::string>, bool> known_;
};

// A recipe that only machines inside follow; else the error says who else does. Who owns a recipe is asked
// apart (domain/ownership.hpp): this holds also for what was assigned before the recipe got its owner.
base::Result<void> check_followers(store::Store& store, const Scope& scope, const std::string& recipe);

}  // namespace backend::api

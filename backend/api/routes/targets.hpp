// Asking many instances at once.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "backend/api/callers/caller.hpp"
#include "backend/api/context.hpp"
#include "backend/domain/selectors/selector.hpp"

namespace backend::api {

struct Target {
  domain::InstanceKey key = 0;
  std::string instance_id;
  domain::PlacementKey placement = 0;
  std::int64_t recipe_version = 0;
};

// The instances of an app that a selector matches, but for those that are out, by id; the selector is within
// the caller's scope. On a store's thread. An error when the app is not there for the caller.
base::Result<std::vector<domain::Instance>> read_meant(store::Store& store, const Scope& scope,
                                                       const std::string& app_id,
                                                       const domain::Selector& selector);

struct Targets {
  std::vector<Target> connected;
  std::vector<std::string> not_connected;
};

// The instances of an app that a selector matches, by id; the selector is within the caller's scope. An error
// when the app is not there for it.
transport::Task<base::Result<Targets>> find_targets(Context& context, const Caller& caller,
                                                    std::string app_id, domain::Selector selector);

// Asks all of them at the same time; the answers are in the order of the targets.
using AskOne = std::function<transport::Task<base::Result<fleet::Answer>>(const Target& target)>;
transport::Task<std::vector<base::Result<fleet::Answer>>> ask_all(Context& context,
                                                                  const std::vector<Target>& targets,
                                                                  AskOne ask);

}  // namespace backend::api

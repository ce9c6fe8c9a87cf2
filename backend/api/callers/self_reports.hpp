// What rests on the word of machines: for the answers to those who give them something. On a store's thread.
#pragma once

#include <string>
#include <vector>

#include "backend/api/callers/caller.hpp"
#include "backend/domain/selectors/self_report_rules.hpp"
#include "backend/store/store.hpp"
#include "base/values/json_text.hpp"

namespace backend::api {

// All machines of an app that are in the scope, through a study: of others nobody is told.
base::Result<domain::SelfReportEffect> study(store::Store& store, const Scope& scope,
                                             const std::string& app_id, const domain::Selector& selector);

// An error (`invalid`) when the app does not rely on what the selector asks for, or is not there.
base::Result<void> check_self_report(store::Store& store, const std::string& app_id,
                                     const domain::Selector& selector);

void add_warnings(base::JsonText& json, const std::vector<std::string>& warnings);

}  // namespace backend::api

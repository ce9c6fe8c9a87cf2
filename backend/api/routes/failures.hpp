// Where recipes fail now: the state and the reason, for whoever asks about a machine or about all of them.
#pragma once

#include <optional>

#include "backend/domain/model.hpp"
#include "backend/store/store.hpp"
#include "base/values/json_text.hpp"

namespace backend::api {

// For a store's thread. Nothing when the machine's recipe has not failed.
base::Result<std::optional<domain::FailedState>> find_failure(store::Store& store,
                                                              const domain::Instance& instance);

// The member "failed_state": an object, or null.
void add_failure(base::JsonText& json, const std::optional<domain::FailedState>& failed);

}  // namespace backend::api

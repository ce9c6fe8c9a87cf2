// Changes made over the API: each in one transaction with its audit row and with what it means to instances.
// All of this is for the writer thread.
#pragma once

#include <string>

#include "backend/api/callers/caller.hpp"
#include "backend/domain/access/instants.hpp"
#include "backend/fleet/delivery.hpp"
#include "backend/store/history/audit.hpp"
#include "backend/store/store.hpp"
#include "base/values/json_text.hpp"

namespace backend::api {

// The audit row of a call, inside the change's transaction.
inline base::Result<void> audit(store::Store& store, const Actor& actor, std::string action,
                                std::string object, std::string detail = {},
                                std::string_view result = domain::kDone) {
  domain::AuditRow row{.at = domain::now_millis(), .actor = actor.name};
  row.from = actor.from;
  row.action = std::move(action);
  row.object = std::move(object);
  row.detail = std::move(detail);
  row.result = result;
  return store::add_audit(store, row);
}

// What cannot be placed (a wait that can never end) is a conflict (409) whatever edit the client had seen.
inline base::Error as_conflict(base::Error error) {
  if (error.code() != base::ErrorCode::exists) return error;
  return base::Error(base::ErrorCode::unsupported, error.message());
}

// "rejected": how many machines that the change is for could not be given it; "rejections": the first of
// them, with the reason. Others of the app may be out of the caller's scope.
inline void add_rejected(base::JsonText& json, const fleet::Delivery& delivery) {
  constexpr std::size_t kMostNamed = 20;
  std::size_t count = 0;
  json.key("rejections").begin_list();
  for (const fleet::RejectedInstance& each : delivery.rejected) {
    if (!each.is_touched || ++count > kMostNamed) continue;
    json.begin_object().member("app_id", each.app_id).member("instance_id", each.instance_id);
    json.member("reason", each.reason).end_object();
  }
  json.end_list().member("rejected", count);
}

}  // namespace backend::api

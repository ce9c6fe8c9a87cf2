// Reports as JSON: the same in lists and in events.
#pragma once

#include "backend/domain/model.hpp"
#include "base/values/json_text.hpp"

namespace backend::domain {

// The members of the report, without the brackets.
void add_log(base::JsonText& json, const protocol::StateLog& log);
void add_round(base::JsonText& json, const protocol::RoundEnd& end);
void add_status(base::JsonText& json, const protocol::RecipeStatus& status);

// "progress": 0 to 1, or null.
void add_progress(base::JsonText& json, std::optional<double> progress);

// An event's data for any report.
std::string report_json(const std::string& app_id, const std::string& instance_id, const Report& report);
// "result", "round", "recipe", "update"
std::string_view report_event(const Report& report);

}  // namespace backend::domain

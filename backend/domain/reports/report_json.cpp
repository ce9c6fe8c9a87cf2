#include "backend/domain/reports/report_json.hpp"

#include <array>
#include <cstdio>

#include "backend/domain/json_text.hpp"

namespace backend::domain {

void add_log(base::JsonText& json, const protocol::StateLog& log) {
  json.member("state_id", log.id).member("recipe_version", log.recipe_version);
  json.member("run_id", log.run_id).member("round", log.round).member("outcome", log.outcome);
  if (log.cause != protocol::ChangeCause::none) json.member("cause", name_of(log.cause));
  json.member("ok", log.state_result).member("comment", log.state_comment);
  json.key("output");
  if (log.state_stdout)
    json.value(*log.state_stdout);
  else
    json.null();
  json.member("attempt", log.attempt).key("exit_code");
  if (log.exit_code)
    json.value(*log.exit_code);
  else
    json.null();
  json.member("started", log.started).member("duration_ms", log.duration_ms);
  json.member("cpu_ms", log.cpu_ms).member("max_rss_kb", log.max_rss_kb).member("truncated", log.truncated);
}

void add_round(base::JsonText& json, const protocol::RoundEnd& end) {
  json.member("recipe_version", end.recipe_version).member("run_id", end.run_id).member("round", end.round);
  json.key("counts").begin_object();
  for (const auto& [outcome, count] : end.counts)
    json.member(outcome, count);
  json.end_object().member("not_reached", end.not_reached).member("duration_ms", end.duration_ms);
  json.key("drift").begin_list();
  for (const std::string& id : end.drift)
    json.value(id);
  json.end_list();
}

void add_status(base::JsonText& json, const protocol::RecipeStatus& status) {
  json.member("recipe_version", status.recipe_version).member("status", progress_name(status.status));
  json.key("errors").begin_list();
  for (const std::string& error : status.errors)
    json.value(error);
  json.end_list();
}

void add_progress(base::JsonText& json, std::optional<double> progress) {
  json.key("progress");
  if (!progress || !(*progress >= 0 && *progress <= 1)) {
    json.null();
    return;
  }
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), "%.3f", *progress);
  json.json(text.data());
}

namespace {

struct AddReport {
  base::JsonText& json;
  void operator()(const protocol::StateLog& log) const { add_log(json, log); }
  void operator()(const protocol::RoundEnd& end) const { add_round(json, end); }
  void operator()(const protocol::RecipeStatus& status) const { add_status(json, status); }
  void operator()(const protocol::UpdateStatus& status) const {
    json.member("action_id", status.action_id).member("version", status.version);
    json.member("phase", name_of(status.phase));
    add_progress(json, status.progress);
    json.member("error", status.error);
  }
};

}  // namespace

std::string report_json(const std::string& app_id, const std::string& instance_id, const Report& report) {
  base::JsonText json;
  json.begin_object().member("app_id", app_id).member("instance_id", instance_id);
  std::visit(AddReport{json}, report);
  return json.end_object().take();
}

std::string_view report_event(const Report& report) {
  constexpr std::array<std::string_view, 4> kEvents{"result", "round", "recipe", "update"};
  static_assert(std::variant_size_v<Report> == kEvents.size());
  return kEvents[report.index()];
}

}  // namespace backend::domain

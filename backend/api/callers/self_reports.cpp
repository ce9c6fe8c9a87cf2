#include "backend/api/callers/self_reports.hpp"

namespace backend::api {

using base::Result;

Result<domain::SelfReportEffect> study(store::Store& store, const Scope& scope, const std::string& app_id,
                                       const domain::Selector& selector) {
  domain::SelfReportStudy studied(selector);
  domain::PageRequest page{.limit = domain::kLargestPage};
  do {
    auto some =
        store.list_instances({.app_id = app_id}, scope ? &*scope : nullptr, page, selector.uses_facts());
    if (!some) return std::move(some).error();
    for (const domain::Instance& instance : some->items)
      studied.add(instance);
    page.after = some->next;
  } while (!page.after.empty());
  return studied.effect();
}

Result<void> check_self_report(store::Store& store, const std::string& app_id,
                               const domain::Selector& selector) {
  auto app = store.find_app(app_id);
  if (!app) return std::move(app).error();
  std::string wrong = domain::problem_of_self_report(selector, *app);
  if (wrong.empty()) return {};
  return base::Error(base::ErrorCode::invalid, "selector: " + wrong);
}

void add_warnings(base::JsonText& json, const std::vector<std::string>& warnings) {
  json.key("warnings").begin_list();
  for (const std::string& warning : warnings)
    json.value(warning);
  json.end_list();
}

}  // namespace backend::api

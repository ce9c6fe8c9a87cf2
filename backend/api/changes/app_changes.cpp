#include "backend/api/changes/app_changes.hpp"

#include <iterator>

#include "backend/api/changes.hpp"
#include "backend/api/changes/change_terms.hpp"
#include "backend/api/names.hpp"
#include "backend/domain/placement/module_source.hpp"
#include "backend/store/inventory/apps.hpp"

namespace backend::api {

base::Result<std::vector<domain::InstanceKey>> machines_of(store::Store& store, const std::string& app_id) {
  std::vector<domain::InstanceKey> all;
  domain::PageRequest page{.limit = domain::kLargestPage};
  do {
    auto some = store.list_instances({.app_id = app_id}, nullptr, page);
    if (!some) return std::move(some).error();
    for (const domain::Instance& instance : some->items)
      all.push_back(instance.key);
    page.after = some->next;
  } while (!page.after.empty());
  return all;
}

namespace {

// "": none any more.
std::optional<protocol::ModuleSource> read_module(Fields& fields, const base::Value& given) {
  protocol::ModuleSource module;
  if (given.is_text() && given.text().empty()) return module;
  if (!given.is_object()) {
    fields.complain("module", "must be an object with 'repo' and 'tag', or \"\" for none");
    return {};
  }
  Fields inner(given);
  module.repo = inner.text("repo");
  module.tag = inner.text("tag");
  for (const ProblemItem& item : inner.problem_items())
    fields.complain("module." + item.field, item.message);
  if (module.repo.empty() || module.tag.empty()) return {};
  if (std::string wrong = domain::problem_of_source(module); !wrong.empty())
    fields.complain("module", std::move(wrong));
  return module;
}

std::string text_of_module(const protocol::ModuleSource& module) {
  return module.repo.empty() ? "" : " module=" + module.repo + "@" + module.tag;
}

}  // namespace

AppEdit read_app_edit(Fields& fields, std::string app_id) {
  AppEdit app{.app_id = std::move(app_id)};
  if (fields.value("report")) app.report = fields.one_of("report", "all changes", "");
  if (fields.value("agent_version")) app.agent_version = fields.text_or("agent_version", "");
  if (const std::string version = app.agent_version.value_or(""); !version.empty())
    if (const auto wrong = protocol::problem_of_name(version); !wrong.empty())
      fields.complain("agent_version", std::string(wrong));
  if (const std::string given = fields.text_or("trust_self_reported", ""); !given.empty()) {
    app.trust = domain::self_trust_of(given);
    if (!app.trust) fields.complain("trust_self_reported", "must be one of: off named all");
  }
  if (const base::Value* rings = fields.value("rings")) {
    const bool is_at_once = rings->is_list() && rings->items().empty();
    app.rings = is_at_once ? std::vector<int>() : read_per_cent(fields, "rings", *rings);
  }
  if (const base::Value* module = fields.value("module")) app.module = read_module(fields, *module);
  if (fields.value("compat")) {
    const std::string given = fields.text_or("compat", "");
    if (given != "v1" && !given.empty()) fields.complain("compat", "must be \"v1\", or \"\" for none");
    app.compat_v1 = given == "v1";
  }
  check_name(fields, "app_id", app.app_id);
  return app;
}

base::Result<PutApp> put_app(store::Store& store, const AppEdit& wanted, const std::string& default_report,
                             std::optional<domain::Edit> edit, const Actor& actor, PutAlways always) {
  const auto before = store.find_app(wanted.app_id);
  if (!before && before.error().code() != base::ErrorCode::not_found) return before.error();
  domain::App app = before ? *before : domain::App{.app_id = wanted.app_id, .report = default_report};
  if (!before) app.rings.assign(std::begin(domain::kChangeRings), std::end(domain::kChangeRings));
  app.report = wanted.report.value_or(app.report);
  app.agent_version = wanted.agent_version.value_or(app.agent_version);
  app.trust = wanted.trust.value_or(app.trust);
  app.rings = wanted.rings.value_or(app.rings);
  app.module = wanted.module.value_or(app.module);
  app.compat_v1 = wanted.compat_v1.value_or(app.compat_v1);
  const bool is_same = before && before->report == app.report && before->agent_version == app.agent_version &&
                       before->trust == app.trust && before->rings == app.rings &&
                       before->module == app.module && before->compat_v1 == app.compat_v1;
  if (is_same && always == PutAlways::no) return PutApp{.app = std::move(app)};
  auto put = store::put_app(store, app, edit, domain::now_millis());
  if (!put) return std::move(put).error();
  auto noted = audit(
      store, actor, before ? "app.edit" : "app.create", app.app_id,
      "report=" + app.report + (app.agent_version.empty() ? "" : " agent_version=" + app.agent_version) +
          " trust_self_reported=" + std::string(domain::name_of(app.trust)) + " rings=" +
          domain::rings_text(app.rings) + text_of_module(app.module) + (app.compat_v1 ? " compat=v1" : ""));
  if (!noted) return std::move(noted).error();
  return PutApp{.app = std::move(*put),
                .is_new = !before,
                .is_changed = true,
                .has_other_trust = before && before->trust != app.trust};
}

}  // namespace backend::api

// Changes of apps: what an edit says, and what it writes. For the writer thread, inside the transaction of
// the change; read_app_edit() for any.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "backend/api/callers/caller.hpp"
#include "backend/api/fields.hpp"
#include "backend/store/store.hpp"

namespace backend::api {

// Absent: as it is. Who does not know of a member, an older opsctl say, must not change it; and a body that
// was lost on its way must not take the pin off.
struct AppEdit {
  std::string app_id;
  std::optional<std::string> report, agent_version;
  std::optional<domain::SelfTrust> trust;
  std::optional<std::vector<int>> rings = {};
  std::optional<protocol::ModuleSource> module = {};  // no repository: none any more
  std::optional<bool> compat_v1 = {};
};

// "rings": the percentages by which changes of the app go out; none: to all at once.
inline void add_app_rings(base::JsonText& json, const domain::App& app) {
  json.key("rings").begin_list();
  for (const int part : app.rings)
    json.value(part);
  json.end_list();
}

// "module": where recipes of the app take modules from; null: nowhere, unless they name that themselves.
inline void add_app_module(base::JsonText& json, const domain::App& app) {
  json.key("module");
  if (app.module.repo.empty())
    json.null();
  else
    json.begin_object().member("repo", app.module.repo).member("tag", app.module.tag).end_object();
}

// "compat": "v1" where the app's recipes are of version 1, else "".
inline void add_app_compat(base::JsonText& json, const domain::App& app) {
  json.member("compat", app.compat_v1 ? "v1" : "");
}

// Complains about what is wrong.
AppEdit read_app_edit(Fields& fields, std::string app_id);

struct PutApp {
  domain::App app;
  bool is_new = false;
  bool is_changed = false;
  bool has_other_trust = false;  // than before: all of its machines are to be placed anew
};

// Whether an edit that changes nothing is written and noted, too.
enum class PutAlways { no, yes };

// Creates or edits it, with the audit row. Placing is up to the caller.
base::Result<PutApp> put_app(store::Store& store, const AppEdit& wanted, const std::string& default_report,
                             std::optional<domain::Edit> edit, const Actor& actor, PutAlways always);

// All of them, for prepare_delivery() where it is to look at all again.
base::Result<std::vector<domain::InstanceKey>> machines_of(store::Store& store, const std::string& app_id);

}  // namespace backend::api

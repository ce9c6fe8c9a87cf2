#include "backend/store/inventory/apps.hpp"

#include "backend/domain/access/name_rules.hpp"
#include "backend/domain/rollouts/update_rules.hpp"
#include "backend/store/transaction.hpp"
#include "base/token.hpp"

namespace backend::store {

using base::Error;
using base::ErrorCode;
using base::Result;

namespace {

Result<void> set_pin(Store& store, const domain::App& app, domain::Millis now) {
  auto ended = store.end_pin(app.app_id, now);
  if (!ended || app.agent_version.empty()) return ended;
  auto added = store.add_rollout(domain::make_pin(app, base::random_hex(4), now), {});
  if (!added) return std::move(added).error();
  return {};
}

}  // namespace

Result<domain::App> put_app(Store& store, const domain::App& app, std::optional<domain::Edit> expected,
                            domain::Millis now) {
  if (auto fine = domain::check_name("an app", app.app_id); !fine) return std::move(fine).error();
  if (app.report != "all" && app.report != "changes")
    return Error(ErrorCode::invalid, "'report' must be \"all\" or \"changes\"");
  return in_transaction(store, [&]() -> Result<domain::App> {
    auto present = store.find_app(app.app_id);
    if (!present && present.error().code() != ErrorCode::not_found) return present;
    const domain::Edit edit = present ? present->edit : 0;
    if (auto same = check_edit(expected, edit, "app '" + app.app_id + "'"); !same)
      return std::move(same).error();
    if (auto written = store.write_app(app, now); !written) return std::move(written).error();
    if (app.agent_version != (present ? present->agent_version : ""))
      if (auto pinned = set_pin(store, app, now); !pinned) return std::move(pinned).error();
    return store.find_app(app.app_id);
  });
}

}  // namespace backend::store

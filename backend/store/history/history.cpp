#include "backend/store/history/history.hpp"

#include "backend/store/history/audit.hpp"
#include "backend/store/inventory/apps.hpp"
#include "backend/store/transaction.hpp"
#include "base/token.hpp"

namespace backend::store {

using base::Result;

namespace {

constexpr std::size_t kIdBytes = 8;
constexpr const char* kWhyHeld = "the database was put back from a backup: look at it, then resume or abort";

// Answers the apps.
Result<std::string> lift_pins(Store& store, domain::Millis now) {
  std::string lifted;
  domain::PageRequest page{.limit = domain::kLargestPage};
  do {
    auto apps = store.list_apps(page);
    if (!apps) return std::move(apps).error();
    for (domain::App& app : apps->items) {
      if (app.agent_version.empty()) continue;
      lifted += (lifted.empty() ? "" : ", ") + app.app_id + " (" + app.agent_version + ")";
      app.agent_version.clear();
      if (auto put = put_app(store, app, std::nullopt, now); !put) return std::move(put).error();
    }
    page.after = apps->next;
  } while (!page.after.empty());
  return lifted;
}

}  // namespace

Result<std::string> history_mark(Store& store) {
  auto history = store.history();
  if (!history) return std::move(history).error();
  auto head = store.audit_head();
  if (!head) return std::move(head).error();
  return domain::mark_text(*history, *head);
}

Result<std::string> look_at_mark(Store& store, std::string_view said, const std::string& instance,
                                 domain::Millis now) {
  return in_transaction(store, [&]() -> Result<std::string> {
    auto history = store.history();
    if (!history) return std::move(history).error();
    const auto mark = domain::read_mark(said, *history);
    if (!mark) return std::string();
    if (mark->history == history->id) {
      auto chain = store.audit_chain(mark->audit_id);
      if (!chain || domain::is_of(*mark, *chain))
        return chain ? Result<std::string>("") : std::move(chain).error();
    } else {
      auto is_known = store.knows_history(mark->history);
      if (!is_known) return std::move(is_known).error();
      if (*is_known) return std::string();  // noticed before
    }
    auto held = store.hold_rollouts(kWhyHeld);
    if (!held) return std::move(held).error();
    auto lifted = lift_pins(store, now);
    if (!lifted) return std::move(lifted).error();
    if (auto begun = store.begin_history(base::random_hex(kIdBytes), mark->history, now); !begun)
      return std::move(begun).error();
    std::string text = "the database was put back from a backup: " + instance +
                       " was told of changes up to row " + std::to_string(mark->audit_id) +
                       " of the audit, which is another one here or is missing. ";
    text += std::to_string(*held) + " rollouts are paused; resume or abort them";
    if (!lifted->empty()) text += ". Pinned versions were lifted, set them again: " + *lifted;
    domain::AuditRow row{.at = now, .actor = "backend"};
    row.action = "store.put_back";
    row.object = "database";
    row.detail = text;
    if (auto added = add_audit(store, row); !added) return std::move(added).error();
    return text;
  });
}

}  // namespace backend::store

#include "backend/store/inventory/update_orders.hpp"

#include "backend/domain/rollouts/update_rules.hpp"
#include "backend/store/transaction.hpp"

namespace backend::store {

using base::Result;
using Order = std::optional<domain::UpdateOrder>;

namespace {

Result<Order> pinned_update_for(Store& store, const domain::UpdateCaller& caller, domain::Millis now) {
  auto pin = store.find_pin(caller.app_id);
  if (!pin) return std::move(pin).error();
  if (!*pin) return Order();
  auto last = store.pin_attempt(**pin, caller.instance);
  if (!last) return std::move(last).error();
  using Kind = domain::PinnedUpdate::Kind;
  const auto decided = domain::decide_pinned_update(caller, (*pin)->version, *last);
  const std::string action = domain::pin_action((*pin)->id, decided.attempt);
  const auto set_phase = [&](std::string_view phase) {
    return store.set_target_phase((*pin)->number, caller.instance, phase, now);
  };
  Result<void> noted;
  switch (decided.kind) {
    case Kind::nothing:
      return Order();
    case Kind::confirm:
      noted = set_phase(domain::kConfirmed);
      break;
    case Kind::tell_again:
      noted = set_phase(last->phase == domain::kLost ? domain::kTold : std::string_view(last->phase));
      break;
    case Kind::new_attempt:
      noted = store.begin_pin_attempt(**pin, caller, action, decided.attempt, now);
      break;
  }
  if (!noted) return std::move(noted).error();
  if (decided.kind == Kind::confirm) return Order();
  return Order({caller.instance, action, (*pin)->version, ""});
}

}  // namespace

Result<Order> update_for(Store& store, const domain::UpdateCaller& caller, domain::Millis now) {
  return in_transaction(store, [&]() -> Result<Order> {
    auto target = store.newest_target_of(caller.instance);
    if (!target) return std::move(target).error();
    if (*target) {
      const auto missed = domain::decide_missed_update(caller, **target, now);
      if (!missed.note_phase.empty())
        if (auto noted = store.set_target_phase((*target)->rollout, caller.instance, missed.note_phase, now);
            !noted)
          return std::move(noted).error();
      if (missed.tells)
        return Order({caller.instance, std::move((*target)->action_id), std::move((*target)->version),
                      std::move((*target)->url)});
    }
    return domain::looks_at_pin(caller, *target) ? pinned_update_for(store, caller, now) : Order();
  });
}

}  // namespace backend::store

#include "backend/rollouts/change_rollout.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <span>

#include "backend/domain/rollouts/change_rules.hpp"
#include "base/token.hpp"

namespace backend::rollouts {

using base::Error;
using base::ErrorCode;
using base::Result;

namespace {

// Where machines are that were not told: the change that was begun before is not everybody's either.
Result<domain::HeldChange> with_start(store::Store& store, const ChangeOrder& order,
                                      const std::optional<domain::Rollout>& held) {
  domain::HeldChange change = order.change;
  if (change.layer != 0) {
    if (held) change.layer_before = held->change.layer_before;
    return change;
  }
  if (change.assignment == 0) {
    if (held) change.from_revision = held->change.from_revision;
    return change;
  }
  if (held) change.before = held->change.before;
  if (!change.before || change.before->revision) return change;
  // It does not follow its recipe on: what is pushed meanwhile is for those who have the change.
  auto followed = find_held(store, order.app_id, {.recipe = change.before->recipe});
  if (!followed) return std::move(followed).error();
  auto newest = store.find_revision_row(change.before->recipe, std::nullopt);
  if (!newest) return std::move(newest).error();
  change.before->revision = *followed ? (*followed)->change.from_revision : newest->revision;
  return change;
}

// Those who were not told have it already: only the others go back, and they should at once.
Result<bool> leads_back(store::Store& store, const ChangeOrder& order,
                        const std::optional<domain::Rollout>& held) {
  if (!held || order.change.assignment != 0) return false;
  if (order.change.layer != 0) {
    auto now = store.find_layer(order.change.layer);
    if (!now) return std::move(now).error();
    return domain::says_same(*now, held->change.layer_before);
  }
  auto before = store.find_revision_row(order.change.recipe, held->change.from_revision);
  if (!before) return std::move(before).error();
  auto now = store.find_revision_row(order.change.recipe, order.change.to_revision);
  if (!now) return std::move(now).error();
  return before->digest == now->digest;
}

Error busy(const domain::Rollout& held) {
  const std::string back = held.kind == domain::RolloutKind::recipe
                               ? ", or go back: 'opsctl recipe rollback " + held.change.recipe + "'"
                           : held.kind == domain::RolloutKind::variables ? ", or set the former values again"
                                                                         : "";
  return Error(ErrorCode::unsupported, "rollout " + held.id + " of " + held.version + " is " +
                                           std::string(domain::name_of(held.state)) +
                                           ": wait until it is done, or abort it ('opsctl rollout abort " +
                                           held.id + "')" + back);
}

// Looks what the change would do to everybody, and undoes it.
Result<fleet::Placed> look_ahead(store::Store& store, const ChangeOrder& order,
                                 const std::optional<domain::Rollout>& held, const fleet::Change& change) {
  std::optional<Result<fleet::Placed>> looked;
  auto undone = store.transact([&]() -> Result<void> {
    if (held)
      if (auto ended = store.end_change(*held, "", order.now); !ended) return ended;
    looked.emplace(fleet::place_app(store, order.app_id, change));
    return Error(ErrorCode::cancelled, "it was only looked at");
  });
  if (!looked) return std::move(undone).error();
  return std::move(*looked);
}

Result<std::vector<domain::Candidate>> find_candidates(store::Store& store, const ChangeOrder& order,
                                                       const std::vector<fleet::PlacedVersion>& changed) {
  std::vector<domain::Candidate> all;
  std::vector<bool> is_well;
  for (const fleet::PlacedVersion& each : changed) {
    auto instance = store.find_instance(each.instance);
    if (!instance) return std::move(instance).error();
    const auto& canary = order.terms.canary;
    all.push_back({.instance = instance->key,
                   .instance_id = instance->instance_id,
                   .is_online = instance->online,
                   .may_be_canary = instance->excluded == 0 && (!canary || canary->matches(*instance))});
    is_well.push_back(instance->status != "failed" && instance->status != "rejected");
  }
  const auto may_be = [](const domain::Candidate& machine) { return machine.may_be_canary; };
  if (order.terms.canary && std::ranges::none_of(all, may_be))
    return Error(ErrorCode::invalid,
                 "none of the machines matches the canaries, " + order.terms.canary->text());
  // One that fails already shows nothing, unless there are no others.
  std::vector<domain::Candidate> well = all;
  for (std::size_t i = 0; i < well.size(); ++i)
    well[i].may_be_canary = well[i].may_be_canary && is_well[i];
  return std::ranges::any_of(well, may_be) ? well : all;
}

Result<domain::Rollout> begin_rollout(store::Store& store, const ChangeOrder& order,
                                      domain::HeldChange change, std::vector<domain::Candidate> machines,
                                      const std::vector<int>& per_cent) {
  domain::Rollout rollout;
  rollout.id = base::random_hex(8);
  rollout.app_id = order.app_id;
  rollout.selector = order.selector;
  rollout.kind = change.layer != 0        ? domain::RolloutKind::variables
                 : change.assignment != 0 ? domain::RolloutKind::assignment
                                          : domain::RolloutKind::recipe;
  rollout.version = domain::name_of_change(change);
  rollout.change = std::move(change);
  if (order.terms.canary) rollout.canary = order.terms.canary->text();
  rollout.may_fail = order.terms.may_fail;
  rollout.pause_s = order.terms.pause_s;
  rollout.jitter_s = order.terms.jitter_s;
  rollout.timeout_s = order.terms.timeout_s;
  rollout.created = order.now;
  rollout.created_by = order.created_by;
  rollout.owner = order.owner;
  const std::size_t canaries = order.terms.canaries.value_or(domain::change_canaries(machines.size()));
  const domain::Rings rings = domain::make_rings(std::move(machines), rollout.version, per_cent, canaries);
  rollout.rings = rings.sizes;
  auto added = store.add_rollout(rollout, rings.targets);
  if (!added) return added;
  if (auto begun = store.begin_ring(*added, order.now); !begun) return std::move(begun).error();
  return added;
}

}  // namespace

Result<std::optional<domain::Rollout>> find_held(store::Store& store, std::string_view app_id,
                                                 const domain::HeldChange& what) {
  auto held = store.held_changes(app_id);
  if (!held) return std::move(held).error();
  for (domain::Rollout& rollout : *held)
    if (what.is_of_recipe()
            ? rollout.change.is_of_recipe() && rollout.change.recipe == what.recipe
            : rollout.change.assignment == what.assignment && rollout.change.layer == what.layer)
      return std::optional(std::move(rollout));
  return std::optional<domain::Rollout>();
}

namespace {

fleet::Change placed_change(const ChangeOrder& order) {
  if (order.change.layer != 0) return {.layer = order.change.layer};
  if (order.change.assignment != 0) return {.assignment = order.change.assignment, .recipe = ""};
  return {.assignment = {}, .recipe = order.change.recipe};
}

Result<void> end_held(store::Store& store, const ChangeOrder& order,
                      const std::optional<domain::Rollout>& held) {
  if (!held) return {};
  return store.end_change(*held, domain::name_of_change(order.change) + " took its place", order.now);
}

Result<PlacedChange> place_at_once(store::Store& store, const ChangeOrder& order,
                                   const std::optional<domain::Rollout>& held) {
  if (auto ended = end_held(store, order, held); !ended) return std::move(ended).error();
  auto placed = fleet::place_app(store, order.app_id, placed_change(order));
  if (!placed) return std::move(placed).error();
  PlacedChange done;
  done.affected = placed->changed.size();
  done.rejected = placed->rejected;
  done.placed = std::move(*placed);
  return done;
}

}  // namespace

Result<PlacedChange> place_change(store::Store& store, const ChangeOrder& order) {
  auto app = store.find_app(order.app_id);
  if (!app) return std::move(app).error();
  auto held = find_held(store, order.app_id, order.change);
  if (!held) return std::move(held).error();
  if (*held && (*held)->is_active() && !order.terms.supersedes) return busy(**held);
  auto is_way_back = leads_back(store, order, *held);
  if (!is_way_back) return std::move(is_way_back).error();
  domain::ChangePace pace = order.terms.pace;
  if (*is_way_back && pace == domain::ChangePace::as_app) pace = domain::ChangePace::at_once;
  // However many there are, it is for all of them: they need not be looked at first.
  constexpr std::size_t kAnyNumber = SIZE_MAX;
  if (!domain::goes_in_rings(pace, !app->rings.empty(), kAnyNumber))
    return place_at_once(store, order, *held);

  auto ahead = look_ahead(store, order, *held, placed_change(order));
  if (!ahead) return std::move(ahead).error();
  if (!domain::goes_in_rings(pace, !app->rings.empty(), ahead->changed.size()))
    return place_at_once(store, order, *held);
  auto machines = find_candidates(store, order, ahead->changed);
  if (!machines) return std::move(machines).error();
  auto change = with_start(store, order, *held);
  if (!change) return std::move(change).error();
  if (auto ended = end_held(store, order, *held); !ended) return std::move(ended).error();
  const std::vector<int> standard(std::begin(domain::kChangeRings), std::end(domain::kChangeRings));
  const std::vector<int>& per_cent = !order.terms.per_cent.empty() ? order.terms.per_cent
                                     : !app->rings.empty()         ? app->rings
                                                                   : standard;
  auto rollout = begin_rollout(store, order, std::move(*change), std::move(*machines), per_cent);
  if (!rollout) return std::move(rollout).error();
  // Who has a change that this one takes the place of goes back; nobody else gets anything yet.
  auto placed = fleet::place_app(store, order.app_id, std::span<const fleet::Change>());
  if (!placed) return std::move(placed).error();
  PlacedChange done;
  done.affected = ahead->changed.size();
  done.rejected = std::move(ahead->rejected);
  done.placed = std::move(*placed);
  done.rollout = std::move(*rollout);
  return done;
}

}  // namespace backend::rollouts

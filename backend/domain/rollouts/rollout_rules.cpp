#include "backend/domain/rollouts/rollout_rules.hpp"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "base/sha256.hpp"

namespace backend::domain {

namespace {

constexpr std::array<std::pair<RolloutState, std::string_view>, 7> kStates{{
    {RolloutState::running, "running"},
    {RolloutState::paused, "paused"},
    {RolloutState::stopped, "stopped"},
    {RolloutState::aborted, "aborted"},
    {RolloutState::done, "done"},
    {RolloutState::pinned, "pinned"},
    {RolloutState::ended, "ended"},
}};

constexpr std::array<std::pair<RolloutKind, std::string_view>, 4> kKinds{{
    {RolloutKind::version, "version"},
    {RolloutKind::recipe, "recipe"},
    {RolloutKind::assignment, "assignment"},
    {RolloutKind::variables, "variables"},
}};

// Per cent.
constexpr std::size_t kMostLost = 5;
constexpr std::size_t kLeastBack = 90;
// So many say more than chance, however few there are in all.
constexpr std::size_t kTooManyLost = 2;

std::size_t share_up(std::size_t of, std::size_t per_cent) {
  return (of * per_cent + 99) / 100;
}
std::size_t share_down(std::size_t of, std::size_t per_cent) {
  return of * per_cent / 100;
}

std::string of(std::size_t part, std::size_t whole, std::string_view what) {
  return std::to_string(part) + " of " + std::to_string(whole) + " machines " + std::string(what);
}

// What a rollout bears.
struct Tolerance {
  explicit Tolerance(const Rollout& rollout)
      : failed(static_cast<std::size_t>(rollout.may_fail)),
        // One canary that goes back to its old version by itself may be chance. One with which a new revision
        // fails stays as it is until somebody looks.
        canaries_by_chance(rollout.is_change() ? 0 : 1),
        back(std::min(kLeastBack, 100 - failed)),
        words(rollout.is_change() ? "failed" : "rolled back") {}

  std::size_t failed;  // per cent
  std::size_t canaries_by_chance;
  std::size_t back;  // per cent of a ring that is through
  std::string words;
};

std::string canaries_text(std::size_t count) {
  return std::to_string(count) + (count == 1 ? " canary " : " canaries ");
}

// Why it must not go on; "" when it may.
std::string reason_to_stop(const Tolerance& may, std::span<const RingCounts> rings) {
  std::size_t told = 0, failed = 0, lost = 0;
  for (const RingCounts& ring : rings) {
    told += ring.ordered;
    failed += ring.failed + ring.rolled_back;
    lost += ring.lost;
  }
  const RingCounts& canaries = rings.front();
  if (canaries.rolled_back > std::max(may.canaries_by_chance, share_down(canaries.size, may.failed)))
    return canaries_text(canaries.rolled_back) + may.words;
  // What canaries have not shown: measured against the rings that were begun, so that an early one of many is
  // not taken for many.
  std::size_t size = 0, rolled_back = 0;
  for (const RingCounts& ring : rings.subspan(1)) {
    if (ring.ordered > 0) size += ring.size;
    rolled_back += ring.rolled_back;
  }
  if (rolled_back > share_down(size, may.failed))
    return of(rolled_back, size, "after the canaries " + may.words);
  // One failure is chance; it is more when it is all that there is, which decide() sees.
  if (failed > std::max<std::size_t>(1, share_down(told, may.failed)))
    return of(failed, told, "that were told failed");
  if (lost >= std::max(kTooManyLost, share_up(told, kMostLost)))
    return of(lost, told, "that were told are lost");
  return {};
}

// One ring, as far as it can be reached. Machines that are away and were never told hold nobody up: the
// update cannot have hurt them.
struct RingStanding {
  RingStanding(const RingCounts& ring, std::size_t least_back)
      : reachable(ring.size - ring.offline),
        open(reachable - (ring.confirmed + ring.rolled_back + ring.failed + ring.lost)),
        // In a ring of up to nine one may be missing, when nothing more is to be expected of it.
        enough(std::max<std::size_t>(1, share_down(reachable, least_back))),
        is_through(ring.reconnected >= std::max<std::size_t>(1, share_up(reachable, least_back)) ||
                   (open == 0 && ring.reconnected >= enough && ring.reconnected == ring.confirmed)),
        is_hopeless(open == 0 && reachable > 0 && ring.confirmed < enough) {}

  std::size_t reachable;
  std::size_t open;  // told or to be told, and not closed
  std::size_t enough;
  bool is_through;
  bool is_hopeless;
};

}  // namespace

std::string_view name_of(RolloutState state) {
  return std::ranges::find(kStates, state, &decltype(kStates)::value_type::first)->second;
}

std::optional<RolloutState> rollout_state_of(std::string_view name) {
  const auto found = std::ranges::find(kStates, name, &decltype(kStates)::value_type::second);
  return found == kStates.end() ? std::nullopt : std::optional(found->first);
}

std::string_view name_of(RolloutKind kind) {
  return std::ranges::find(kKinds, kind, &decltype(kKinds)::value_type::first)->second;
}

std::optional<RolloutKind> rollout_kind_of(std::string_view name) {
  const auto found = std::ranges::find(kKinds, name, &decltype(kKinds)::value_type::second);
  return found == kKinds.end() ? std::nullopt : std::optional(found->first);
}

std::size_t change_canaries(std::size_t machines) {
  constexpr std::size_t kShare = 4;
  return std::clamp(machines / kShare, kCanaries, kChangeCanaries);
}

bool goes_in_rings(ChangePace pace, bool app_rings, std::size_t machines) {
  if (machines == 0) return false;
  if (pace == ChangePace::as_app) return app_rings && machines >= kSmallFleet;
  return pace == ChangePace::in_rings;
}

bool is_closed(std::string_view phase) {
  return std::ranges::find(kClosedPhases, phase) != kClosedPhases.end();
}

std::vector<std::size_t> ring_sizes(std::size_t machines, std::size_t canaries,
                                    std::span<const int> per_cent) {
  std::vector<std::size_t> sizes;
  std::size_t before = 0;
  const auto add = [&](std::size_t up_to) {
    up_to = std::min(up_to, machines);
    if (up_to <= before) return;
    sizes.push_back(up_to - before);
    before = up_to;
  };
  add(canaries);
  for (const int part : per_cent)
    add(share_up(machines, static_cast<std::size_t>(part)));
  add(machines);
  return sizes;
}

Rings make_rings(std::vector<Candidate> machines, const std::string& version, std::span<const int> per_cent,
                 std::size_t most_canaries) {
  struct Placed {
    bool is_later;  // than the canaries
    bool is_away;   // only looked at among canaries
    std::string hash;
    Candidate machine;
  };
  std::vector<Placed> order;
  for (Candidate& machine : machines) {
    std::string hash = base::sha256_hex(version + "/" + machine.instance_id);
    order.push_back({!machine.may_be_canary, !machine.is_online, std::move(hash), std::move(machine)});
  }
  std::ranges::sort(order, {}, [](const Placed& one) {
    return std::tuple<bool, bool, std::string_view>(one.is_later, one.is_away, one.hash);
  });
  std::size_t canaries = 0;
  while (canaries < std::min(most_canaries, order.size()) && !order[canaries].is_later)
    ++canaries;
  std::ranges::sort(order.begin() + static_cast<std::ptrdiff_t>(canaries), order.end(), {}, &Placed::hash);

  Rings rings{.targets = {}, .sizes = ring_sizes(order.size(), canaries, per_cent)};
  std::size_t ring = 0, left = rings.sizes.empty() ? 0 : rings.sizes[0];
  for (Placed& one : order) {
    while (left == 0)
      left = rings.sizes[++ring];
    --left;
    RolloutTarget target;
    target.instance = one.machine.instance;
    target.instance_id = std::move(one.machine.instance_id);
    target.ring = ring;
    rings.targets.push_back(std::move(target));
  }
  return rings;
}

Decision decide(const Rollout& rollout, std::span<const RingCounts> rings, Millis now) {
  using Kind = Decision::Kind;
  if (rollout.state != RolloutState::running) return {};
  if (rings.empty()) return {.kind = Kind::finish};
  const Tolerance may(rollout);
  if (std::string reason = reason_to_stop(may, rings); !reason.empty())
    return {Kind::stop, std::move(reason)};
  const RingCounts& counts = rings[rollout.ring];
  const RingStanding ring(counts, may.back);
  if (ring.is_hopeless)
    return {Kind::stop, of(counts.confirmed, ring.reachable, "of ring " + std::to_string(rollout.ring + 1)) +
                            " are confirmed, and the others will not be"};
  if (rollout.ring == 0 && counts.size == 0 && rings.size() > 1)
    return {Kind::stop, "no canary is left: all were forgotten, revoked or excluded. Start another rollout"};
  // Nobody of it can be reached. Canaries are waited for; without one there is nothing to learn from.
  const bool is_empty = ring.reachable == 0 && (rollout.ring > 0 || counts.size == 0);
  if (rollout.ring + 1 == rings.size())
    return ring.open == 0 && (is_empty || counts.reconnected >= ring.enough) ? Decision{.kind = Kind::finish}
                                                                             : Decision{};
  if (!is_empty && !ring.is_through) return {};
  if (rollout.next_at == 0) return {.kind = Kind::schedule, .is_empty = is_empty};
  return now >= rollout.next_at ? Decision{.kind = Kind::begin} : Decision{};
}

}  // namespace backend::domain

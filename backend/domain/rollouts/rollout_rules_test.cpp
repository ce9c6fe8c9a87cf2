#include "backend/domain/rollouts/rollout_rules.hpp"

#include <algorithm>
#include <set>

#include <doctest/doctest.h>

using namespace backend;
using namespace backend::domain;
using Kind = Decision::Kind;

namespace {

constexpr int kPerCent[] = {10, 50, 100};

std::vector<std::size_t> sizes(std::size_t machines) {
  return ring_sizes(machines, std::min(kCanaries, machines), kPerCent);
}

std::vector<Candidate> machines(std::size_t count) {
  std::vector<Candidate> all;
  for (std::size_t i = 0; i < count; ++i)
    all.push_back({.instance = static_cast<InstanceKey>(i + 1),
                   .instance_id = "m" + std::to_string(i),
                   .is_online = true,
                   .may_be_canary = true});
  return all;
}

// A ring of so many, all connected, and what became of them.
struct Ring {
  std::size_t size;
  std::size_t ordered = 0, confirmed = 0, rolled_back = 0, failed = 0, lost = 0, offline = 0;
  std::size_t not_back = 0;
  RingCounts counts() const {
    return {size, offline, ordered, confirmed, confirmed - not_back, rolled_back, failed, lost};
  }
};

// A ring whose machines are all confirmed and back.
Ring whole(std::size_t size) {
  return {.size = size, .ordered = size, .confirmed = size};
}

Decision decided(std::size_t ring, std::vector<Ring> rings, Millis next_at = 0, Millis now = 1000,
                 RolloutState state = RolloutState::running) {
  Rollout rollout;
  rollout.state = state;
  rollout.ring = ring;
  rollout.next_at = next_at;
  std::vector<RingCounts> counts;
  for (const Ring& each : rings) {
    counts.push_back(each.counts());
    rollout.rings.push_back(each.size);
  }
  return decide(rollout, counts, now);
}

}  // namespace

TEST_CASE("attack: without any canary left the next ring does not begin") {
  Rollout rollout;
  rollout.rings = {5, 15};
  const std::vector<RingCounts> rings{{.size = 0}, {.size = 15}};
  const Decision decision = decide(rollout, rings, 1);
  CHECK(decision.kind == Decision::Kind::stop);
  CHECK(decision.reason.find("no canary is left") != std::string::npos);
}

TEST_CASE("rings: up to five canaries, then 10, 50 and 100 per cent of all, none of them empty") {
  using Sizes = std::vector<std::size_t>;
  CHECK(sizes(0) == Sizes{});
  CHECK(sizes(1) == Sizes{1});
  CHECK(sizes(2) == Sizes{2});
  CHECK(sizes(3) == Sizes{3});
  CHECK(sizes(5) == Sizes{5});
  CHECK(sizes(6) == Sizes{5, 1});
  CHECK(sizes(10) == Sizes{5, 5});
  CHECK(sizes(11) == Sizes{5, 1, 5});
  CHECK(sizes(200) == Sizes{5, 15, 80, 100});
  CHECK(sizes(1000) == Sizes{5, 95, 400, 500});
  constexpr int kOther[] = {1, 100};
  CHECK(ring_sizes(1000, 2, kOther) == Sizes{2, 8, 990});
  CHECK(ring_sizes(7, 0, kOther) == Sizes{1, 6});
}

TEST_CASE("the order is the same each time, another one for another version, and has every machine once") {
  const Rings rings = make_rings(machines(200), "1.4.0", kPerCent);
  CHECK(rings.sizes == sizes(200));
  std::set<InstanceKey> seen;
  std::vector<std::size_t> counted(4);
  for (const RolloutTarget& target : rings.targets) {
    seen.insert(target.instance);
    ++counted[target.ring];
  }
  CHECK(seen.size() == 200);
  CHECK(counted == rings.sizes);
  auto reversed = machines(200);
  std::ranges::reverse(reversed);
  const Rings again = make_rings(std::move(reversed), "1.4.0", kPerCent);
  const Rings other = make_rings(machines(200), "1.5.0", kPerCent);
  std::size_t same = 0;
  for (std::size_t i = 0; i < 200; ++i) {
    CHECK(again.targets[i].instance == rings.targets[i].instance);
    same += other.targets[i].instance == rings.targets[i].instance;
  }
  CHECK(same < 20);
}

TEST_CASE("canaries are connected, and those that were chosen for it") {
  auto all = machines(20);
  for (std::size_t i = 0; i < 17; ++i)
    all[i].is_online = false;
  Rings rings = make_rings(all, "1.4.0", kPerCent);
  std::set<InstanceKey> canaries;
  for (std::size_t i = 0; i < 5; ++i)
    canaries.insert(rings.targets[i].instance);
  for (const InstanceKey online : {18, 19, 20})
    CHECK(canaries.contains(online));

  for (std::size_t i = 0; i < 20; ++i)
    all[i].may_be_canary = i == 3 || i == 7;
  rings = make_rings(all, "1.4.0", kPerCent);
  CHECK(rings.sizes == std::vector<std::size_t>{2, 8, 10});
  CHECK(rings.targets[0].instance + rings.targets[1].instance == 4 + 8);
}

TEST_CASE("a ring is through when nine of ten are confirmed and back; then there is a pause, then the next") {
  CHECK(decided(0, {{.size = 5}, {.size = 15}}).kind == Kind::nothing);
  CHECK(decided(0, {{.size = 5, .ordered = 5, .confirmed = 4}, {.size = 15}}).kind == Kind::nothing);
  CHECK(decided(0, {whole(5), {.size = 15}}).kind == Kind::schedule);
  CHECK(decided(0, {whole(5), {.size = 15}}, 1001).kind == Kind::nothing);
  CHECK(decided(0, {whole(5), {.size = 15}}, 1000).kind == Kind::begin);
  // Confirmed, and not connected.
  Ring gone = whole(5);
  gone.not_back = 1;
  CHECK(decided(0, {gone, {.size = 15}}).kind == Kind::nothing);
  CHECK(decided(0, {gone, {.size = 15}}, 1000).kind == Kind::nothing);
  // 90 per cent of 100, and of 200.
  CHECK(decided(1, {whole(5), {.size = 100, .ordered = 100, .confirmed = 89}, {.size = 9}}).kind ==
        Kind::nothing);
  CHECK(decided(1, {whole(5), {.size = 100, .ordered = 100, .confirmed = 90}, {.size = 9}}).kind ==
        Kind::schedule);
  CHECK(decided(1, {whole(5), {.size = 201, .ordered = 201, .confirmed = 180}, {.size = 9}}).kind ==
        Kind::nothing);
  CHECK(decided(1, {whole(5), {.size = 201, .ordered = 201, .confirmed = 181}, {.size = 9}}).kind ==
        Kind::schedule);
}

TEST_CASE("the last ring is done when nothing more is to be expected of it") {
  CHECK(decided(0, {{.size = 1}}).kind == Kind::nothing);
  CHECK(decided(0, {{.size = 1, .ordered = 1}}).kind == Kind::nothing);
  CHECK(decided(0, {whole(1)}).kind == Kind::finish);
  CHECK(decided(1, {whole(5), {.size = 100, .ordered = 100, .confirmed = 99}}).kind == Kind::nothing);
  CHECK(decided(1, {whole(5), {.size = 100, .ordered = 100, .confirmed = 99, .failed = 1}}).kind ==
        Kind::finish);
  CHECK(decided(1, {whole(5), {.size = 100, .ordered = 98, .confirmed = 98, .offline = 2}}).kind ==
        Kind::finish);
  CHECK(decided(0, {}).kind == Kind::finish);
}

TEST_CASE("one failure is chance, two canaries that rolled back are not") {
  CHECK(decided(0, {{.size = 5, .ordered = 5, .confirmed = 3, .rolled_back = 1}, {.size = 9}}).kind ==
        Kind::nothing);
  CHECK(decided(0, {{.size = 5, .ordered = 5, .confirmed = 4, .rolled_back = 1}, {.size = 9}}).kind ==
        Kind::schedule);
  const auto two = decided(0, {{.size = 5, .ordered = 5, .rolled_back = 2}, {.size = 9}});
  CHECK(two.kind == Kind::stop);
  CHECK(two.reason == "2 canaries rolled back");
  CHECK(decided(0, {{.size = 5, .ordered = 5, .failed = 2}, {.size = 9}}).kind == Kind::stop);
  // Later, too: also while the next ring waits for the pause to end.
  CHECK(decided(0, {{.size = 5, .ordered = 5, .confirmed = 3, .rolled_back = 2}, {.size = 9}}, 5000).kind ==
        Kind::stop);
}

TEST_CASE("more than 2 per cent of those told that failed stop it") {
  const auto at = [](std::size_t told, std::size_t failed) {
    return decided(
               2,
               {whole(5), whole(95), {.size = 400, .ordered = told - 100, .failed = failed}, {.size = 500}})
        .kind;
  };
  CHECK(at(149, 1) == Kind::nothing);
  CHECK(at(149, 2) == Kind::nothing);  // 2 of 149 is less than 2 per cent
  CHECK(at(149, 3) == Kind::stop);
  CHECK(at(500, 10) == Kind::nothing);
  CHECK(at(500, 11) == Kind::stop);
  const auto said = decided(1, {whole(5), {.size = 15, .ordered = 15, .failed = 2}});
  CHECK(said.reason == "2 of 20 machines that were told failed");
}

TEST_CASE("after the canaries more than 2 per cent that rolled back stop it, of the rings that were begun") {
  const auto small =
      decided(1, {whole(5), {.size = 15, .ordered = 15, .confirmed = 14, .rolled_back = 1}, {.size = 80}});
  CHECK(small.kind == Kind::stop);
  CHECK(small.reason == "1 of 15 machines after the canaries rolled back");
  // A canary is one of five: it is not counted again here.
  CHECK(decided(1, {{.size = 5, .ordered = 5, .confirmed = 4, .rolled_back = 1},
                    {.size = 15, .ordered = 15},
                    {.size = 80}})
            .kind == Kind::nothing);
  // The first of many that were told says less.
  CHECK(decided(1, {whole(5), {.size = 95, .ordered = 3, .rolled_back = 1}, {.size = 400}}).kind ==
        Kind::nothing);
  CHECK(decided(2, {whole(5), whole(15), {.size = 80, .ordered = 3, .rolled_back = 1}, {.size = 100}}).kind ==
        Kind::nothing);
}

TEST_CASE("with one of ten machines bad, a rollout to 200 stops in whatever order they are told") {
  // All machines of a ring are told at once, and all have answered before anybody decides: the worst case.
  constexpr std::size_t kOrders = 2000;
  std::vector<std::size_t> stopped_in(4);
  for (std::size_t order = 0; order < kOrders; ++order) {
    const Rings rings = make_rings(machines(200), "1.0." + std::to_string(order), kPerCent);
    std::vector<Ring> answered;
    for (const std::size_t size : rings.sizes)
      answered.push_back({.size = size});
    Kind kind = Kind::nothing;
    std::size_t ring = 0;
    for (; ring < answered.size() && kind != Kind::stop; ++ring) {
      for (const RolloutTarget& target : rings.targets)
        if (target.ring == ring) {
          ++answered[ring].ordered;
          ++(target.instance % 10 == 3 ? answered[ring].rolled_back : answered[ring].confirmed);
        }
      kind = decided(ring, answered).kind;
    }
    REQUIRE(kind == Kind::stop);
    ++stopped_in[ring - 1];
  }
  MESSAGE("stopped in ring 1: " << stopped_in[0] << ", 2: " << stopped_in[1] << ", 3: " << stopped_in[2]);
  CHECK(stopped_in[0] + stopped_in[1] > kOrders * 3 / 4);
  CHECK(stopped_in[3] == 0);
}

TEST_CASE("5 per cent of those told that are lost stop it, but never one alone") {
  const auto at = [](std::size_t told, std::size_t lost) {
    return decided(2,
                   {whole(5), whole(95), {.size = 400, .ordered = told - 100, .lost = lost}, {.size = 500}})
        .kind;
  };
  CHECK(at(110, 1) == Kind::nothing);
  CHECK(at(110, 5) == Kind::nothing);
  CHECK(at(110, 6) == Kind::stop);
  CHECK(at(200, 9) == Kind::nothing);
  CHECK(at(200, 10) == Kind::stop);
  CHECK(decided(0, {{.size = 5, .ordered = 5, .lost = 1}, {.size = 9}}).kind == Kind::nothing);
  CHECK(decided(0, {{.size = 5, .ordered = 5, .lost = 2}, {.size = 9}}).kind == Kind::stop);
}

TEST_CASE("a ring that can no longer be through stops it") {
  CHECK(decided(0, {{.size = 1, .ordered = 1, .rolled_back = 1}}).kind == Kind::stop);
  CHECK(decided(0, {{.size = 1, .ordered = 1, .lost = 1}}).kind == Kind::stop);
  CHECK(decided(0, {{.size = 5, .ordered = 5, .confirmed = 3, .failed = 1, .lost = 1}, {.size = 9}}).kind ==
        Kind::stop);
  CHECK(decided(0, {{.size = 2, .ordered = 2, .confirmed = 1, .failed = 1}}).kind == Kind::finish);
  CHECK(decided(0, {{.size = 3, .ordered = 3, .confirmed = 2, .failed = 1}}).kind == Kind::finish);
}

TEST_CASE("machines that are away hold nobody up, but without a canary nothing is learnt") {
  CHECK(decided(0, {{.size = 5, .ordered = 3, .confirmed = 3, .offline = 2}, {.size = 9}}).kind ==
        Kind::schedule);
  CHECK(decided(0, {{.size = 5, .offline = 5}, {.size = 9}}).kind == Kind::nothing);
  CHECK(decided(0, {{.size = 5, .offline = 5}}).kind == Kind::nothing);
  CHECK(decided(1, {whole(5), {.size = 9, .offline = 9}, {.size = 9}}).kind == Kind::schedule);
  CHECK(decided(1, {whole(5), {.size = 9, .offline = 9}}).kind == Kind::finish);
  CHECK(decided(0, {{.size = 0}}).kind == Kind::finish);  // all excluded, or forgotten
  CHECK(decided(1, {{.size = 0}, {.size = 0}, {.size = 9}}).kind == Kind::schedule);
}

TEST_CASE("what does not run does nothing, whatever the counts") {
  for (const auto state : {RolloutState::paused, RolloutState::stopped, RolloutState::aborted,
                           RolloutState::done, RolloutState::pinned, RolloutState::ended}) {
    CHECK(decided(0, {whole(5), {.size = 9}}, 0, 1000, state).kind == Kind::nothing);
    CHECK(decided(0, {whole(5), {.size = 9}}, 1000, 1000, state).kind == Kind::nothing);
    CHECK(decided(0, {{.size = 5, .ordered = 5, .rolled_back = 5}}, 0, 1000, state).kind == Kind::nothing);
    CHECK(rollout_state_of(name_of(state)) == state);
  }
  CHECK_FALSE(rollout_state_of("nonsense"));
}

// ---- changes of recipes and assignments

namespace {

Decision decided_change(std::size_t ring, std::vector<Ring> rings, std::int64_t may_fail = kMayFail) {
  Rollout rollout;
  rollout.kind = RolloutKind::recipe;
  rollout.may_fail = may_fail;
  rollout.ring = ring;
  std::vector<RingCounts> counts;
  for (const Ring& each : rings) {
    counts.push_back(each.counts());
    rollout.rings.push_back(each.size);
  }
  return decide(rollout, counts, 1000);
}

}  // namespace

TEST_CASE("kinds of rollouts have names that are read again") {
  for (const RolloutKind kind : kRolloutKinds)
    CHECK(rollout_kind_of(name_of(kind)) == kind);
  CHECK_FALSE(rollout_kind_of("variable"));
}

TEST_CASE("the first ring of a change has 44 machines, or a quarter, and 5 at least") {
  CHECK(change_canaries(0) == 5);
  CHECK(change_canaries(20) == 5);
  CHECK(change_canaries(50) == 12);
  CHECK(change_canaries(100) == 25);
  CHECK(change_canaries(176) == 44);
  CHECK(change_canaries(200) == 44);
  CHECK(change_canaries(100'000) == 44);
}

TEST_CASE("a change goes in rings when that is asked for, or the app says so and it reaches 50 machines") {
  using enum ChangePace;
  CHECK_FALSE(goes_in_rings(as_app, true, 49));
  CHECK(goes_in_rings(as_app, true, 50));
  CHECK_FALSE(goes_in_rings(as_app, false, 10'000));
  CHECK_FALSE(goes_in_rings(at_once, true, 10'000));
  CHECK(goes_in_rings(in_rings, false, 1));
  CHECK_FALSE(goes_in_rings(in_rings, true, 0));
}

TEST_CASE("one canary with which a change fails stops it, with a share that may fail more") {
  const auto at = [](std::size_t failed, std::int64_t may_fail) {
    return decided_change(
        0, {{.size = 44, .ordered = 44, .confirmed = 44 - failed, .rolled_back = failed}, {.size = 156}},
        may_fail);
  };
  CHECK(at(0, 2).kind == Kind::schedule);
  CHECK(at(1, 2).kind == Kind::stop);
  CHECK(at(1, 2).reason == "1 canary failed");
  CHECK(at(2, 2).reason == "2 canaries failed");
  CHECK(at(4, 10).kind == Kind::schedule);
  CHECK(at(5, 10).kind == Kind::stop);
  // A ring of which a third may fail is through with two thirds.
  CHECK(at(14, 33).kind == Kind::schedule);
  CHECK(at(15, 33).kind == Kind::stop);
}

TEST_CASE("after the canaries the same share holds for a change as for a version") {
  const std::vector<Ring> one{whole(44), {.size = 156, .ordered = 156, .confirmed = 153, .rolled_back = 3}};
  const std::vector<Ring> more{whole(44), {.size = 156, .ordered = 156, .confirmed = 152, .rolled_back = 4}};
  CHECK(decided_change(1, one).kind == Kind::finish);
  CHECK(decided_change(1, more).kind == Kind::stop);
  CHECK(decided_change(1, more).reason == "4 of 156 machines after the canaries failed");
  CHECK(decided(1, one).kind == Kind::finish);
  CHECK(decided(1, more).kind == Kind::stop);
}

TEST_CASE("canaries that are silent let no ring begin, and are no failure either") {
  CHECK(decided_change(0, {{.size = 44, .ordered = 44, .confirmed = 39}, {.size = 156}}).kind ==
        Kind::nothing);
  CHECK(decided_change(0, {{.size = 44, .offline = 44}, {.size = 156}}).kind == Kind::nothing);
  CHECK(decided_change(0, {{.size = 44, .ordered = 44, .confirmed = 40}, {.size = 156}}).kind ==
        Kind::schedule);
}

TEST_CASE("with one of ten machines bad, a change of 200 stops in the first ring, but for bad luck") {
  constexpr std::size_t kOrders = 2000;
  std::vector<std::size_t> stopped_in(3);
  for (std::size_t order = 0; order < kOrders; ++order) {
    const Rings rings =
        make_rings(machines(200), "web@" + std::to_string(order), kPerCent, change_canaries(200));
    REQUIRE(rings.sizes == std::vector<std::size_t>{44, 56, 100});
    std::vector<Ring> answered;
    for (const std::size_t size : rings.sizes)
      answered.push_back({.size = size});
    Kind kind = Kind::nothing;
    std::size_t ring = 0;
    for (; ring < answered.size() && kind != Kind::stop; ++ring) {
      for (const RolloutTarget& target : rings.targets)
        if (target.ring == ring) {
          ++answered[ring].ordered;
          ++(target.instance % 10 == 3 ? answered[ring].rolled_back : answered[ring].confirmed);
        }
      kind = decided_change(ring, answered).kind;
    }
    REQUIRE(kind == Kind::stop);
    ++stopped_in[ring - 1];
  }
  MESSAGE("stopped in ring 1: " << stopped_in[0] << ", 2: " << stopped_in[1] << ", 3: " << stopped_in[2]);
  // No bad one among 44 of 200 is a matter of 0.5 %: C(180, 44) / C(200, 44).
  CHECK(stopped_in[0] > kOrders * 98 / 100);
  CHECK(stopped_in[2] == 0);
}

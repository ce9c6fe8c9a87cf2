// The rules of rollouts, pure: who is in which ring, and what comes next. docs/backend.md explains them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "backend/domain/rollouts/rollout.hpp"

namespace backend::domain {

inline constexpr std::size_t kCanaries = 5;
inline constexpr std::size_t kMostRings = 10;

// The first ring of a change. A version that is wrong is rolled back by the machine itself; a recipe that is
// wrong is not, so that the first ring has to show it. If every tenth machine fails, 44 machines show at
// least one that does in 99 of 100 cases (0.9^44 = 0.0097). But no more than a quarter of all, and not fewer
// than canaries of a version.
inline constexpr std::size_t kChangeCanaries = 44;
std::size_t change_canaries(std::size_t machines);

// A change that reaches fewer goes to all of them at once, unless rings were asked for: so few are looked at
// one by one, and a quarter of them would show little.
inline constexpr std::size_t kSmallFleet = 50;

// How a change was asked to go out.
enum class ChangePace {
  as_app,  // as the app says
  at_once,
  in_rings,
};
// Whether a change of so many machines goes ring by ring. `app_rings`: the app has some.
bool goes_in_rings(ChangePace pace, bool app_rings, std::size_t machines);

// How many machines each ring has: up to `canaries`, then up to so many per cent of all. Rings that would be
// empty are left out.
std::vector<std::size_t> ring_sizes(std::size_t machines, std::size_t canaries,
                                    std::span<const int> per_cent);

// A machine that may take part.
struct Candidate {
  InstanceKey instance = 0;
  std::string instance_id;
  bool is_online = false;
  bool may_be_canary = true;
};

struct Rings {
  std::vector<RolloutTarget> targets;  // in order
  std::vector<std::size_t> sizes;
};
// The same machines and version give the same order. Canaries are connected ones, as far as there are any.
Rings make_rings(std::vector<Candidate> machines, const std::string& version, std::span<const int> per_cent,
                 std::size_t canaries = kCanaries);

struct Decision {
  enum class Kind {
    nothing,
    stop,      // with the reason
    schedule,  // the ring is through: the next one begins after the pause
    begin,     // the next ring
    finish,
  };
  Kind kind = Kind::nothing;
  std::string reason = {};
  bool is_empty = false;  // with schedule: nobody of the ring could be reached
};
// `rings`: as many as the rollout has.
Decision decide(const Rollout& rollout, std::span<const RingCounts> rings, Millis now);

}  // namespace backend::domain

// Rollouts: looks every so often what the rollouts in the store have to do next, and does it.
//
// Nothing of value lives here: a backend that is started again goes on from the rows. Belongs to the loop's
// thread.
#pragma once

#include <chrono>
#include <string>

#include "backend/fleet/fleet.hpp"
#include "backend/rollouts/rollout_step.hpp"

namespace backend::rollouts {

class Rollouts {
 public:
  Rollouts(transport::Loop& loop, store::StoreThread& store, fleet::Fleet& fleet, telemetry::EventLog& events,
           terminal::Log& log, std::chrono::milliseconds interval);

  // Until stop().
  transport::Task<> run();
  void stop();
  // There is something new.
  void wake() { wake_.notify(); }

  // After the commit.
  void tell(const std::vector<domain::UpdateOrder>& orders);
  void publish(const domain::Rollout& rollout);

  // All rollouts that there are, as of the last look.
  std::size_t count(domain::RolloutKind kind, domain::RolloutState state) const;

 private:
  void take(RolloutNews news);
  Watch watch_now();

  store::StoreThread& store_;
  fleet::Fleet& fleet_;
  telemetry::EventLog& events_;
  terminal::Log& log_;
  const std::chrono::milliseconds interval_;
  domain::Millis clock_offset_;   // of the wall clock against the steady one
  domain::Millis clock_set_ = 0;  // when the wall clock was last seen to jump
  transport::Wake wake_;
  domain::RolloutCounts counts_;
  bool is_stopping_ = false;
};

}  // namespace backend::rollouts

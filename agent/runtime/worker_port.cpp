#include "agent/runtime/worker_port.hpp"

namespace agent::runtime {

bool WorkerPort::send(engine::Command command) {
  if (waiting_.size() >= kMostWaiting) return false;
  waiting_.push_back(std::move(command));
  if (waiting_.size() == 1) pass_on();
  return true;
}

bool WorkerPort::send_ad_hoc(engine::Command command) {
  if (ad_hoc_ >= kMostAdHoc || !send(std::move(command))) return false;
  ++ad_hoc_;
  return true;
}

void WorkerPort::on_worker_event(const engine::Event& event) {
  const auto* result = std::get_if<engine::StateResult>(&event);
  const bool is_answer =
      std::holds_alternative<engine::PlanResult>(event) || (result && result->version == 0);
  if (is_answer && ad_hoc_ > 0) --ad_hoc_;
}

void WorkerPort::pass_on() {
  while (!waiting_.empty() && worker_.commands().try_push(waiting_.front()))
    waiting_.pop_front();
  if (waiting_.empty()) return;
  retry_.expires_after(kRetry);
  retry_.async_wait([this](const auto& failed) {
    if (!failed) pass_on();
  });
}

}  // namespace agent::runtime

#include "agent/runtime/worker_port.hpp"

namespace agent::manager {

bool WorkerPort::send(Command command) {
  if (waiting_.size() >= kMostWaiting) return false;
  waiting_.push_back(std::move(command));
  if (waiting_.size() == 1) pass_on();
  return true;
}

bool WorkerPort::send_aside(Command command) {
  if (asides_ >= kMostAsides || !send(std::move(command))) return false;
  ++asides_;
  return true;
}

void WorkerPort::hear(const Event& event) {
  const auto* result = std::get_if<StateResult>(&event);
  const bool is_answer = std::holds_alternative<PlanResult>(event) || (result && result->version == 0);
  if (is_answer && asides_ > 0) --asides_;
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

}  // namespace agent::manager

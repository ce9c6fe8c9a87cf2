#include "backend/fleet/inquiries.hpp"

#include "base/token.hpp"

namespace backend::fleet {

using base::Error;
using base::ErrorCode;

Inquiries::Inquiries(transport::asio::any_io_executor executor)
    : executor_(std::move(executor)), prefix_("b" + base::random_hex(4) + "-") {}

Inquiries::Inquiry::Inquiry(Inquiries& all, domain::InstanceKey instance, std::string run_id)
    : all_(all),
      instance_(instance),
      mid_(all.prefix_ + std::to_string(all.next_++)),
      run_id_(std::move(run_id)),
      settled_(all.executor_) {
  all_.by_mid_.emplace(mid_, this);
}

Inquiries::Inquiry::~Inquiry() {
  all_.by_mid_.erase(mid_);
}

void Inquiries::Inquiry::settle(base::Result<Answer> answer) {
  if (answer_) return;
  answer_.emplace(std::move(answer));
  settled_.notify();
}

transport::Task<base::Result<Answer>> Inquiries::Inquiry::wait(std::chrono::milliseconds time) {
  const auto deadline = std::chrono::steady_clock::now() + time;
  while (!answer_) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) break;
    co_await settled_.wait_for(left);
  }
  if (!answer_) co_return Error(ErrorCode::timed_out, "the agent did not answer in time");
  co_return *answer_;
}

std::shared_ptr<Inquiries::Inquiry> Inquiries::begin(domain::InstanceKey instance, std::string run_id) {
  return std::make_shared<Inquiry>(*this, instance, std::move(run_id));
}

Inquiries::Inquiry* Inquiries::find(domain::InstanceKey instance, const std::string& mid) {
  const auto found = by_mid_.find(mid);
  return found != by_mid_.end() && found->second->instance_ == instance ? found->second : nullptr;
}

bool Inquiries::answered(domain::InstanceKey instance, const std::string& mid, const Answer& answer) {
  Inquiry* inquiry = find(instance, mid);
  if (!inquiry) return false;
  if (inquiry->run_id_.empty()) inquiry->settle(answer);
  return true;
}

void Inquiries::refused(domain::InstanceKey instance, const std::string& mid, const std::string& error,
                        bool retryable) {
  if (Inquiry* inquiry = find(instance, mid))
    // Whoever asks has every right to: it is the machine that does not do it.
    inquiry->settle(Error(retryable ? ErrorCode::cancelled : ErrorCode::unsupported, error));
}

void Inquiries::run_ended(domain::InstanceKey instance, const protocol::StateLog& result) {
  for (const auto& [mid, inquiry] : by_mid_)
    if (inquiry->instance_ == instance && !inquiry->run_id_.empty() && inquiry->run_id_ == result.run_id)
      inquiry->settle(Answer(result));
}

void Inquiries::disconnected(domain::InstanceKey instance) {
  for (const auto& [mid, inquiry] : by_mid_)
    if (inquiry->instance_ == instance)
      inquiry->settle(Error(ErrorCode::cancelled, "the agent's connection ended before it answered"));
}

}  // namespace backend::fleet

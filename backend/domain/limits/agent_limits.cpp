#include "backend/domain/limits/agent_limits.hpp"

namespace backend::domain {

namespace {

constexpr std::array<MessageLimit, kMessageKinds> kLimits{{
    // 10,000 results of a long outage are there at once, and an agent with as many states that tells of all
    // of them every minute is not slowed down.
    {.bucket = {.at_once = 50'000, .per_second = 200}, .over = OverLimit::delay},  // report
    {.bucket = {.at_once = 4, .per_second = 0.1}, .over = OverLimit::gather},      // facts
    {.bucket = {.at_once = 20, .per_second = 1}, .over = OverLimit::refuse},       // certificate
    {.bucket = {.at_once = 60, .per_second = 1}, .over = OverLimit::refuse},       // handshake
    {.bucket = {.at_once = 50, .per_second = 2}, .over = OverLimit::delay},        // waits
    {.bucket = {.at_once = 2'000, .per_second = 200}, .over = OverLimit::drop},    // output
    {.bucket = {.at_once = 500, .per_second = 20}, .over = OverLimit::delay},      // answer
    {.bucket = {.at_once = 50, .per_second = 1}, .over = OverLimit::delay},        // other
}};

struct KindOf {
  MessageKind operator()(const protocol::StateLog&) const { return MessageKind::report; }
  MessageKind operator()(const protocol::RecipeStatus&) const { return MessageKind::report; }
  MessageKind operator()(const protocol::RoundEnd&) const { return MessageKind::report; }
  MessageKind operator()(const protocol::UpdateStatus&) const { return MessageKind::report; }
  MessageKind operator()(const protocol::Facts&) const { return MessageKind::facts; }
  MessageKind operator()(const protocol::CertRequest&) const { return MessageKind::certificate; }
  MessageKind operator()(const protocol::Handshake&) const { return MessageKind::handshake; }
  MessageKind operator()(const protocol::WaitQuery&) const { return MessageKind::waits; }
  MessageKind operator()(const protocol::StateOutput&) const { return MessageKind::output; }
  MessageKind operator()(const protocol::PlanResult&) const { return MessageKind::answer; }
  MessageKind operator()(const protocol::QueryResult&) const { return MessageKind::answer; }
  MessageKind operator()(const protocol::TestAnswer&) const { return MessageKind::answer; }
  MessageKind operator()(const protocol::Ack&) const { return MessageKind::answer; }
  MessageKind operator()(const protocol::Nack&) const { return MessageKind::answer; }
  MessageKind operator()(const protocol::HoldStatus&) const { return MessageKind::other; }
  MessageKind operator()(const protocol::Goodbye&) const { return MessageKind::other; }
  MessageKind operator()(const protocol::Unknown&) const { return MessageKind::other; }
};

std::size_t index_of(MessageKind kind) {
  return static_cast<std::size_t>(kind);
}

}  // namespace

MessageKind kind_of(const protocol::AgentBody& body) {
  return std::visit(KindOf{}, body);
}

const MessageLimit& limit_of(MessageKind kind) {
  return kLimits[index_of(kind)];
}

AgentLimits::Verdict AgentLimits::take(MessageKind kind, std::size_t bytes, Millis now) {
  const MessageLimit& limit = limit_of(kind);
  TokenBucket& bucket = buckets_[index_of(kind)];
  Verdict verdict;
  verdict.delay = bytes_.borrow(kMessageBytes, static_cast<double>(bytes), now);
  if (limit.over == OverLimit::delay)
    verdict.delay = std::max(verdict.delay, bucket.borrow(limit.bucket, 1, now));
  else
    verdict.is_over = !bucket.take(limit.bucket, now);
  if (verdict.is_over && limit.over != OverLimit::drop) verdict.delay = std::max(verdict.delay, kOverDelay);
  verdict.delay = std::min(verdict.delay, kLongestDelay);
  return verdict;
}

Millis AgentLimits::wait(MessageKind kind, Millis now) const {
  return buckets_[index_of(kind)].wait(limit_of(kind).bucket, now);
}

bool AgentLimits::is_idle(Millis now) const {
  if (!bytes_.is_full(kMessageBytes, now)) return false;
  for (std::size_t i = 0; i < kMessageKinds; ++i)
    if (!buckets_[i].is_full(kLimits[i].bucket, now)) return false;
  return true;
}

}  // namespace backend::domain

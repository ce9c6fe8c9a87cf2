#include "backend/rollouts/rollouts.hpp"

#include <algorithm>
#include <cstdlib>

#include "backend/domain/access/instants.hpp"
#include "base/values/json_text.hpp"

namespace backend::rollouts {

namespace {

// With nothing but pins there is only silence to notice, and with nothing at all, nothing.
constexpr std::chrono::milliseconds kSeldom = std::chrono::seconds(30);

}  // namespace

Rollouts::Rollouts(transport::Loop& loop, store::StoreThread& store, fleet::Fleet& fleet,
                   telemetry::EventLog& events, terminal::Log& log, std::chrono::milliseconds interval)
    : store_(store),
      fleet_(fleet),
      events_(events),
      log_(log),
      interval_(interval),
      clock_offset_(domain::now_millis() - domain::steady_millis()),
      wake_(loop.get_executor()) {}

transport::Task<> Rollouts::run() {
  while (!is_stopping_) {
    auto stepping = store_.write([watch = watch_now()](store::Store& store) {
      return step_rollouts(store, domain::now_millis(), watch);
    });
    auto news = co_await std::move(stepping);
    bool is_busy = true;
    if (news) {
      is_busy = news->any_active;
      take(std::move(*news));
    } else {
      log_.error("rollouts could not go on: " + news.error().message());
    }
    if (!is_stopping_) co_await wake_.wait_for(is_busy ? interval_ : kSeldom);
  }
}

// A clock that jumps says nothing about who is silent either: it is as a start.
Watch Rollouts::watch_now() {
  constexpr domain::Millis kJump = 10'000;
  const domain::Millis offset = domain::now_millis() - domain::steady_millis();
  if (std::abs(offset - clock_offset_) > kJump) {
    clock_offset_ = offset;
    clock_set_ = domain::now_millis();
  }
  return {.since = std::max(fleet_.watching_since(), clock_set_), .is_settling = fleet_.is_settling()};
}

void Rollouts::stop() {
  is_stopping_ = true;
  wake_.notify();
}

void Rollouts::tell(const std::vector<domain::UpdateOrder>& orders) {
  // One that has gone meanwhile is told at its next handshake.
  for (const domain::UpdateOrder& order : orders)
    fleet_.tell(order.instance, protocol::AgentUpdate{order.version, order.url, order.action_id});
}

void Rollouts::publish(const domain::Rollout& rollout) {
  base::JsonText json;
  json.begin_object().member("app_id", rollout.app_id).member("id", rollout.id);
  json.member("kind", domain::name_of(rollout.kind));
  json.member("version", rollout.version).member("state", domain::name_of(rollout.state));
  json.member("ring", rollout.ring + 1)
      .member("rings", rollout.rings.size())
      .member("reason", rollout.reason);
  events_.publish("rollout", rollout.app_id, "", json.end_object().take());
}

void Rollouts::take(RolloutNews news) {
  counts_ = std::move(news.counts);
  tell(news.orders);
  for (const fleet::Delivery& delivery : news.deliveries)
    fleet_.deliver(delivery);
  for (const UnresponsiveMachine& lost : news.lost) {
    base::JsonText json;
    json.begin_object().member("app_id", lost.app_id).member("instance_id", lost.instance_id);
    json.member("action_id", lost.action_id).member("version", lost.version).member("phase", domain::kLost);
    json.member("error", "silent since it was told").end_object();
    events_.publish("update", lost.app_id, lost.instance_id, json.take());
  }
  for (const domain::Rollout& rollout : news.changed) {
    const std::string text = "rollout " + rollout.id + " of " + rollout.version + " is " +
                             std::string(domain::name_of(rollout.state)) + ", ring " +
                             std::to_string(rollout.ring + 1) + " of " + std::to_string(rollout.rings.size());
    if (rollout.state == domain::RolloutState::stopped)
      log_.warning(text + ": " + rollout.reason);
    else
      log_.info(text);
    publish(rollout);
  }
}

std::size_t Rollouts::count(domain::RolloutKind kind, domain::RolloutState state) const {
  const auto found = counts_.find(std::pair(kind, state));
  return found == counts_.end() ? 0 : found->second;
}

}  // namespace backend::rollouts

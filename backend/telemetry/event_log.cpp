#include "backend/telemetry/event_log.hpp"

#include <algorithm>

namespace backend::telemetry {

namespace {

std::size_t cost(const Event& event) {
  return sizeof(Event) + event.app_id.size() + event.instance_id.size() + event.data.size();
}

}  // namespace

bool EventFilter::wants(const Event& event) const {
  if (!app_id.empty() && app_id != event.app_id) return false;
  if (!instance_id.empty() && instance_id != event.instance_id) return false;
  if (event.type == "output" && !output) return false;
  return types.empty() || std::ranges::find(types, event.type) != types.end();
}

void EventLog::publish(std::string_view type, std::string app_id, std::string instance_id, std::string data) {
  events_.push_back(std::make_shared<const Event>(
      Event{next_++, type, std::move(app_id), std::move(instance_id), std::move(data)}));
  bytes_ += cost(*events_.back());
  while (events_.size() > limits_.events || (bytes_ > limits_.bytes && events_.size() > 1)) {
    bytes_ -= cost(*events_.front());
    events_.pop_front();
    ++oldest_;
  }
  published_.notify();
}

std::vector<std::shared_ptr<const Event>> EventLog::after(EventId id, std::size_t most) const {
  std::vector<std::shared_ptr<const Event>> found;
  const std::size_t first = id + 1 > oldest_ ? static_cast<std::size_t>(id + 1 - oldest_) : 0;
  for (std::size_t i = first; i < events_.size() && found.size() < most; ++i)
    found.push_back(events_[i]);
  return found;
}

transport::Task<> EventLog::wait(std::chrono::milliseconds time) {
  co_await published_.wait_for(time);
}

}  // namespace backend::telemetry

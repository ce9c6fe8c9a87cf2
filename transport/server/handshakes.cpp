#include "transport/server/handshakes.hpp"

#include <algorithm>

namespace transport {

void Handshakes::ask(Id id, const std::string& address, bool is_known) {
  waiting_[id] = address;
  const auto [queue, is_new] = queues_.try_emplace(address);
  if (is_new) {
    Order& order = is_known ? known_ : unknown_;
    queue->second.is_known = is_known;
    queue->second.turn = order.insert(order.end(), address);
  }
  queue->second.ids.insert(id);
}

void Handshakes::leave(Id id) {
  stop_waiting(id);
  stop(id);
}

void Handshakes::stop_waiting(Id id) {
  const auto found = waiting_.find(id);
  if (found == waiting_.end()) return;
  const auto queue = queues_.find(found->second);
  waiting_.erase(found);
  queue->second.ids.erase(id);
  if (!queue->second.ids.empty()) return;
  (queue->second.is_known ? known_ : unknown_).erase(queue->second.turn);
  queues_.erase(queue);
}

void Handshakes::stop(Id id) {
  const auto found = running_.find(id);
  if (found == running_.end()) return;
  const auto count = counts_.find(found->second.address);
  if (--count->second == 0) counts_.erase(count);
  if (!found->second.is_known) --strangers_;
  running_.erase(found);
  victims_ = {};
}

Handshakes::Decision Handshakes::decide(TimePoint now) {
  Decision decision;
  serve(known_, true, now, decision);
  serve(unknown_, false, now, decision);
  return decision;
}

// One of each address in turn, until nobody can begin.
void Handshakes::serve(Order& order, bool is_known, TimePoint now, Decision& decision) {
  for (auto at = order.begin(); at != order.end();) {
    const std::string address = *at;
    const Room room = make_room(address, is_known, now, decision);
    if (room == Room::none) return;
    if (room == Room::not_for_address) {
      ++at;
      continue;
    }
    const Id id = *queues_.at(address).ids.begin();
    const bool is_last = queues_.at(address).ids.size() == 1;
    const auto next = std::next(at);
    if (!is_last) order.splice(order.end(), order, at);  // its next one, when all others had their turn
    at = next == order.end() && !is_last ? std::prev(order.end()) : next;
    stop_waiting(id);
    running_[id] = {.address = address, .is_known = is_known, .since = now};
    ++counts_[address];
    if (!is_known) ++strangers_;
    victims_ = {};
    decision.begin.push_back(id);
  }
}

Handshakes::Room Handshakes::make_room(const std::string& address, bool is_known, TimePoint now,
                                       Decision& decision) {
  const std::size_t count = count_of(address);
  if (count >= limits_.of_address && !give_way(victim_of(address), address, now, decision))
    return Room::not_for_address;
  // Whoever has none has the best claim: when there is no room for it, there is none for anybody.
  const Room refused = count == 0 ? Room::none : Room::not_for_address;
  if (!is_known && strangers_ + limits_.reserved >= limits_.most &&
      !give_way(victim(true), address, now, decision))
    return refused;
  if (running_.size() < limits_.most) return Room::found;
  const auto stranger = victim(true);
  return give_way(stranger ? stranger : victim(false), address, now, decision) ? Room::found : refused;
}

std::optional<Handshakes::Id> Handshakes::victim_of(const std::string& address) const {
  std::optional<Id> oldest;
  for (const auto& [id, running] : running_)
    if (running.address == address && (!oldest || running.since < running_.at(*oldest).since)) oldest = id;
  return oldest;
}

std::optional<Handshakes::Id> Handshakes::victim(bool strangers) {
  auto& known = strangers ? victims_.stranger : victims_.any;
  if (known) return *known;
  const Running* chosen = nullptr;
  std::optional<Id> id;
  std::size_t most = 0;
  for (const auto& [each, running] : running_) {
    if (strangers && running.is_known) continue;
    const std::size_t count = count_of(running.address);
    if (chosen && (count < most || (count == most && running.since >= chosen->since))) continue;
    chosen = &running;
    most = count;
    id = each;
  }
  known = id;
  return id;
}

// Whoever has more than the one who asks would have then; else whoever had time enough.
bool Handshakes::give_way(std::optional<Id> id, const std::string& to, TimePoint now, Decision& decision) {
  if (!id) return false;
  const Running& running = running_.at(*id);
  const bool is_busier = running.address != to && count_of(running.address) > count_of(to) + 1;
  if (!is_busier && now - running.since < limits_.patience) return false;
  stop(*id);
  decision.give_way.push_back(*id);
  return true;
}

std::size_t Handshakes::count_of(const std::string& address) const {
  const auto found = counts_.find(address);
  return found == counts_.end() ? 0 : found->second;
}

}  // namespace transport

#include "transport/server/guests.hpp"

#include <algorithm>

namespace transport {

Guests::Verdict Guests::arrive(Id id, const std::string& address, bool is_known, std::size_t others,
                               TimePoint now) {
  Verdict verdict{.may_enter = true};
  const auto found = addresses_.find(address);
  const std::size_t limit = is_known ? limits_.most : limits_.most - std::min(limits_.reserved, limits_.most);
  if (found != addresses_.end() && found->second.count >= limits_.of_address) {
    verdict.gives_way = make_room_in(address, now);
    verdict.may_enter = verdict.gives_way.has_value();
  } else if (guests_.size() + others >= limit) {
    verdict.gives_way = make_room_in_all(address, now);
    verdict.may_enter = verdict.gives_way.has_value();
  }
  if (!verdict.may_enter) return verdict;
  const auto its = addresses_.try_emplace(address).first;
  ++its->second.count;
  guests_[id] = {.address = its, .until = std::nullopt};
  return verdict;
}

std::optional<Guests::Id> Guests::make_room_in(const std::string& address, TimePoint now) {
  const auto& waiting = addresses_.find(address)->second.waiting;
  if (waiting.empty() || waiting.begin()->first > now) return std::nullopt;
  const Id id = waiting.begin()->second;
  leave(id);
  return id;
}

std::optional<Guests::Id> Guests::make_room_in_all(const std::string& address, TimePoint now) {
  if (busiest_.empty()) return std::nullopt;
  const auto& [count, busiest] = *busiest_.rbegin();
  const auto own = addresses_.find(address);
  const std::size_t own_count = own == addresses_.end() ? 0 : own->second.count;
  const auto oldest = *addresses_.find(busiest)->second.waiting.begin();
  const bool is_busier = busiest != address && count > own_count + 1;
  if (!is_busier && oldest.first > now) return std::nullopt;
  leave(oldest.second);
  return oldest.second;
}

std::optional<Guests::Id> Guests::make_room() {
  if (busiest_.empty()) return std::nullopt;
  const Id id = addresses_.find(busiest_.rbegin()->second)->second.waiting.begin()->second;
  leave(id);
  return id;
}

void Guests::set_waiting(Guest& guest, Id id, std::optional<TimePoint> until) {
  auto& [name, address] = *guest.address;
  const std::size_t before = address.waiting.size();
  if (guest.until) address.waiting.erase({*guest.until, id});
  guest.until = until;
  if (until) address.waiting.emplace(*until, id);
  const std::size_t after = address.waiting.size();
  if (after == before) return;
  if (before > 0) busiest_.erase({before, name});
  if (after > 0) busiest_.emplace(after, name);
}

void Guests::waits(Id id, TimePoint now, std::chrono::milliseconds patience) {
  if (const auto found = guests_.find(id); found != guests_.end())
    set_waiting(found->second, id, now + patience);
}

void Guests::is_busy(Id id) {
  if (const auto found = guests_.find(id); found != guests_.end())
    set_waiting(found->second, id, std::nullopt);
}

void Guests::leave(Id id) {
  const auto found = guests_.find(id);
  if (found == guests_.end()) return;
  set_waiting(found->second, id, std::nullopt);
  if (--found->second.address->second.count == 0) addresses_.erase(found->second.address);
  guests_.erase(found);
}

void KnownAddresses::note(const std::string& address, TimePoint now) {
  if (const auto found = found_.find(address); found != found_.end()) {
    found->second->at = now;
    entries_.splice(entries_.begin(), entries_, found->second);
    return;
  }
  if (found_.size() >= most_) {
    found_.erase(entries_.back().address);
    entries_.pop_back();
  }
  entries_.push_front({address, now});
  found_[address] = entries_.begin();
}

bool KnownAddresses::has(const std::string& address, TimePoint now) const {
  const auto found = found_.find(address);
  return found != found_.end() && now - found->second->at < life_;
}

}  // namespace transport

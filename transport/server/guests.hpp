// Inside transport/: Guests, the connections of which nobody has said yet who is there, and how many there
// may be: in all, and of one address.
//
// One that makes us wait (it says nothing, or stops in the middle) may have to give way when somebody else
// comes and there is no room: the longest-standing of the busiest address first. So whoever has much less
// than others always gets in, and whoever fills his own share only replaces himself. Pure: whoever calls
// brings the time, and does what is decided.
#pragma once

#include <chrono>
#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

namespace transport {

class Guests {
 public:
  using Id = std::uint64_t;
  using TimePoint = std::chrono::steady_clock::time_point;

  struct Limits {
    std::size_t most = 20'000;
    std::size_t of_address = 2048;
    std::size_t reserved = 1000;  // of `most`, for addresses that are known
  };
  explicit Guests(Limits limits) : limits_(limits) {}

  struct Verdict {
    bool may_enter = false;
    std::optional<Id> gives_way = {};  // it has left
  };
  // `others`: connections that are no guests and count in all the same.
  Verdict arrive(Id id, const std::string& address, bool is_known, std::size_t others, TimePoint now);
  // It makes us wait from now on, and is not asked to give way before `patience` is over (but for a much
  // quieter address).
  void waits(Id id, TimePoint now, std::chrono::milliseconds patience);
  // We do something for it: it is left alone.
  void is_busy(Id id);
  void leave(Id id);
  // Somebody must, and nobody comes: the longest-standing of the busiest address, which has left then.
  std::optional<Id> make_room();

  std::size_t size() const { return guests_.size(); }

 private:
  struct Address {
    std::size_t count = 0;
    std::set<std::pair<TimePoint, Id>> waiting;  // by when their patience ends
  };
  struct Guest {
    std::map<std::string, Address>::iterator address;
    std::optional<TimePoint> until;  // while it makes us wait
  };

  std::optional<Id> make_room_in(const std::string& address, TimePoint now);
  std::optional<Id> make_room_in_all(const std::string& address, TimePoint now);
  void set_waiting(Guest& guest, Id id, std::optional<TimePoint> until);

  const Limits limits_;
  std::map<std::string, Address> addresses_;
  std::unordered_map<Id, Guest> guests_;
  // Addresses with somebody who could give way, by how many these are.
  std::set<std::pair<std::size_t, std::string>> busiest_;
};

// Addresses that somebody was accepted from lately: so many, for so long; the least recent is forgotten
// first.
class KnownAddresses {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  KnownAddresses(std::size_t most, std::chrono::seconds life) : most_(most), life_(life) {}

  void note(const std::string& address, TimePoint now);
  bool has(const std::string& address, TimePoint now) const;
  std::size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    std::string address;
    TimePoint at;
  };
  const std::size_t most_;
  const std::chrono::seconds life_;
  std::list<Entry> entries_;  // the most recent first
  std::unordered_map<std::string, std::list<Entry>::iterator> found_;
};

}  // namespace transport

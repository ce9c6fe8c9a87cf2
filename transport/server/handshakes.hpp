// Inside transport/: Handshakes, the places for TLS handshakes: who begins, who waits, who has to give way.
//
// A handshake costs a stranger nothing, and us up to 50 KiB and most of a millisecond, so there are few
// places and the rest waits. Nobody can keep them: a place that an address has beyond its share goes to
// another address that asks for one, the oldest of the busiest address first. Strangers do not get the last
// ones, which are for addresses that agents were accepted from. Pure: whoever calls brings the time, and does
// what is decided.
#pragma once

#include <chrono>
#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace transport {

class Handshakes {
 public:
  using Id = std::uint64_t;
  using TimePoint = std::chrono::steady_clock::time_point;

  struct Limits {
    std::size_t most = 256;
    std::size_t of_address = 128;
    std::size_t reserved = 64;  // of `most`, for addresses that are known
    // So long a handshake is left alone if its address has no more of them than the one that asks.
    std::chrono::milliseconds patience = std::chrono::seconds(2);
  };
  explicit Handshakes(Limits limits) : limits_(limits) {}

  // One that wants to begin; decide() says when.
  void ask(Id id, const std::string& address, bool is_known);
  // It has ended, or waits no longer. May be called for one that had to give way.
  void leave(Id id);

  struct Decision {
    std::vector<Id> begin;
    std::vector<Id> give_way;
  };
  // After each change, and now and then while somebody waits.
  Decision decide(TimePoint now);

  std::size_t under_way() const { return running_.size(); }
  std::size_t waiting() const { return waiting_.size(); }

 private:
  struct Running {
    std::string address;
    bool is_known = false;
    TimePoint since;
  };
  using Order = std::list<std::string>;
  // Those of an address that wait; at least one.
  struct Queue {
    bool is_known = false;
    Order::iterator turn;
    std::set<Id> ids;  // in the order in which they came
  };
  enum class Room { found, none, not_for_address };

  void serve(Order& order, bool is_known, TimePoint now, Decision& decision);
  Room make_room(const std::string& address, bool is_known, TimePoint now, Decision& decision);
  // The oldest of the busiest address; of strangers only, if that is said.
  std::optional<Id> victim(bool strangers);
  std::optional<Id> victim_of(const std::string& address) const;
  bool give_way(std::optional<Id> id, const std::string& to, TimePoint now, Decision& decision);
  void stop(Id id);
  void stop_waiting(Id id);
  std::size_t count_of(const std::string& address) const;

  const Limits limits_;
  std::map<Id, Running> running_;
  std::map<std::string, std::size_t> counts_;  // of running_, by address
  std::size_t strangers_ = 0;                  // of running_
  // What victim() found, until somebody begins or stops.
  struct {
    std::optional<std::optional<Id>> stranger;
    std::optional<std::optional<Id>> any;
  } victims_;
  std::map<Id, std::string> waiting_;  // and its address
  std::map<std::string, Queue> queues_;
  // Whose turn it is among the addresses that wait, of both kinds.
  Order known_;
  Order unknown_;
};

}  // namespace transport

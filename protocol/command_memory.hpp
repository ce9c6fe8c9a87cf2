// CommandMemory: the commands that an agent has taken, so that none is done twice, on whichever connection it
// comes again. A value without files; whoever owns it makes it last. One thread.
//
// Bounded without a gap: of the commands that have a time, the one whose time ends first is forgotten first,
// and from then on nothing is taken whose time ends no later than that: it may be one of the forgotten.
// (Their time alone is not enough: whoever plays a command back says what time it is.) Commands without a
// time are of older backends; of those the oldest is forgotten.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

namespace protocol {

class CommandMemory {
 public:
  // Of each of the two kinds. A command lives for ten minutes at most: more than one a second, all the time.
  static constexpr std::size_t kMost = 1024;

  using Millis = std::int64_t;  // since 1970
  struct Command {
    std::string key;
    std::optional<Millis> until;
    bool operator==(const Command&) const = default;
  };

  // Why it must not be done; empty: nothing speaks against it.
  std::string problem(const Command& command) const;
  // It is being done. What is there already changes nothing.
  void add(Command command);
  // Nothing is taken any more whose time ends no later.
  void forget_until(Millis floor);

  std::optional<Millis> floor() const { return floor_; }
  // All of them: add()ed to an empty memory with the same floor, they make this one again.
  std::vector<Command> commands() const;

 private:
  std::unordered_set<std::string> keys_;
  std::multimap<Millis, std::string> timed_;
  std::deque<std::string> untimed_;  // oldest first
  std::optional<Millis> floor_;
};

}  // namespace protocol

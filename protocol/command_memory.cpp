#include "protocol/command_memory.hpp"

#include <algorithm>

namespace protocol {

std::string CommandMemory::problem(const Command& command) const {
  if (keys_.contains(command.key)) return "this command has come before";
  if (command.until && floor_ && *command.until <= *floor_)
    return "this command is older than those that are remembered, and may have come before";
  return {};
}

void CommandMemory::add(Command command) {
  if (!keys_.insert(command.key).second) return;
  if (!command.until) {
    untimed_.push_back(std::move(command.key));
    if (untimed_.size() <= kMost) return;
    keys_.erase(untimed_.front());
    untimed_.pop_front();
    return;
  }
  timed_.emplace(*command.until, std::move(command.key));
  if (timed_.size() <= kMost) return;
  forget_until(timed_.begin()->first);
  keys_.erase(timed_.begin()->second);
  timed_.erase(timed_.begin());
}

void CommandMemory::forget_until(Millis floor) {
  floor_ = floor_ ? std::max(*floor_, floor) : floor;
}

std::vector<CommandMemory::Command> CommandMemory::commands() const {
  std::vector<Command> all;
  all.reserve(timed_.size() + untimed_.size());
  for (const auto& [until, key] : timed_)
    all.push_back({key, until});
  for (const std::string& key : untimed_)
    all.push_back({key, std::nullopt});
  return all;
}

}  // namespace protocol

#include "states/systemd/leftovers.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "base/files/file_read.hpp"
#include "base/programs/control_group.hpp"
#include "base/programs/process_tree.hpp"
#include "states/systemd/systemd_session.hpp"

namespace states::systemd {

namespace {

constexpr int kMostMoves = 3;

// Where systemd has put a process: "/system.slice/opsagent.service". Empty when that cannot be told.
std::string group_of(const std::string& process) {
  const auto text = base::read_file("/proc/" + process + "/cgroup", base::kLargestCgroupFile);
  return text ? std::string(base::systemd_group(*text)) : std::string();
}

// Those that have not found a group of their own, as services and containers have.
std::vector<pid_t> still_in(const std::string& group, std::vector<pid_t> processes) {
  std::erase_if(processes, [&](pid_t pid) { return group_of(std::to_string(pid)) != group; });
  return processes;
}

// Nobody else's, whatever was left behind before.
std::string new_name() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return "opsagent-left-" + std::to_string(::getpid()) + "-" +
         std::to_string(std::chrono::duration_cast<std::chrono::microseconds>(now).count()) + ".scope";
}

}  // namespace

Leftovers::Leftovers(base::Command& command, Context& context) : context_(context) {
  command.on_left_behind = [this](const std::vector<pid_t>& processes) { take(processes); };
}

void Leftovers::take(const std::vector<pid_t>& processes) {
  const pid_t reader = processes.back();  // is the parent of them all, until we let it go
  count_ = processes.size() - 1;
  const std::string own = group_of("self");
  if (!own.ends_with(".service")) return;  // nobody ends them with us
  std::vector<pid_t> to_move = still_in(own, processes);
  if (to_move.empty() || to_move == std::vector{reader}) return;
  auto& session = context_.facts.get<SystemdSession>();
  const std::string scope = new_name();
  auto moved = session.start_scope(
      scope, "Left running by OpsAgent's state '" + std::string(context_.state_id) + "'", to_move, context_);
  // Whoever was forked meanwhile is where his parent was.
  for (int move = 1; moved && move < kMostMoves; ++move) {
    to_move = still_in(own, base::living_descendants(reader));
    if (to_move.empty()) return;
    moved = session.attach(scope, to_move, context_);
  }
  if (!moved) problem_ = moved.error().message();
}

std::string Leftovers::remark() const {
  if (count_ == 0) return {};
  std::string text = count_ == 1 ? "1 process was" : std::to_string(count_) + " processes were";
  text += " left running";
  if (!problem_.empty()) text += ", and will end with the agent, because systemd gave no scope: " + problem_;
  return text;
}

}  // namespace states::systemd

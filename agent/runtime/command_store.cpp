#include "agent/runtime/command_store.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "base/files/durable_file.hpp"
#include "base/files/file_read.hpp"
#include "base/text.hpp"

namespace agent::runtime {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;
using Command = protocol::CommandMemory::Command;

// Twice the lines that are ever written, each with the longest key.
constexpr std::size_t kLargestCommands = 4 * 1024 * 1024;
constexpr std::string_view kNoTime = "-";
constexpr std::string_view kFloor = "floor";

std::string line_of(const Command& command) {
  return (command.until ? std::to_string(*command.until) : std::string(kNoTime)) + "\t" + command.key + "\n";
}

bool read_command_line(std::string_view line, protocol::CommandMemory& memory) {
  const std::size_t tab = line.find('\t');
  if (tab == std::string_view::npos) return false;
  const std::string_view first = line.substr(0, tab), rest = line.substr(tab + 1);
  if (rest.empty()) return false;
  if (first == kFloor) {
    const auto floor = base::parse_integer(rest);
    if (floor) memory.forget_until(*floor);
    return floor.has_value();
  }
  const auto until = base::parse_integer(first);
  if (!until && first != kNoTime) return false;
  memory.add({std::string(rest), until});
  return true;
}

}  // namespace

Result<void> CommandStore::load() {
  const auto text = base::read_file(path_, kLargestCommands);
  if (!text) {
    if (text.error().code() == ErrorCode::not_found) return {};
    return Error(text.error()).with_context("the commands that were taken before are not known");
  }
  std::size_t damaged = 0;
  std::string_view rest = *text;
  // What comes after the last end of a line was never acted upon.
  for (std::size_t end = rest.find('\n'); end != std::string_view::npos; end = rest.find('\n')) {
    if (!read_command_line(rest.substr(0, end), memory_)) ++damaged;
    rest.remove_prefix(end + 1);
  }
  if (damaged == 0) return {};
  return Error(ErrorCode::invalid, path_ + " has " + std::to_string(damaged) +
                                       " lines that cannot be read: those commands are not known any more");
}

std::string CommandStore::take(const std::string& key, std::optional<protocol::CommandMemory::Millis> until,
                               bool must_last) {
  Command command{key, until};
  if (std::string why = memory_.problem(command); !why.empty()) return why;
  if (auto noted = append(command, must_last); !noted && must_last)
    return "it cannot be noted that this command is done, so it is not: " + noted.error().message();
  memory_.add(std::move(command));
  return {};
}

// The file has each command before it is done. When it has grown, or something went wrong with it, it is
// written anew.
Result<void> CommandStore::append(const Command& command, bool must_last) {
  if (!file_ || lines_ >= kMostLines)
    if (auto written = rewrite(); !written) return written;
  const std::string line = line_of(command);
  const ssize_t written = ::write(file_.get(), line.data(), line.size());
  const int failed = errno;
  if (written != static_cast<ssize_t>(line.size())) {
    file_ = {};  // half a line may be in it
    return written < 0 ? base::os_error(failed, "writing " + path_)
                       : Error(ErrorCode::io, "writing " + path_ + ": there is no room");
  }
  ++lines_;
  if (!must_last || ::fdatasync(file_.get()) == 0) return {};
  const int sync_failed = errno;
  file_ = {};
  return base::os_error(sync_failed, "syncing " + path_);
}

Result<void> CommandStore::rewrite() {
  std::string text;
  if (const auto floor = memory_.floor()) text = std::string(kFloor) + "\t" + std::to_string(*floor) + "\n";
  const std::vector<Command> commands = memory_.commands();
  for (const Command& command : commands)
    text += line_of(command);
  file_ = {};
  if (auto written = base::write_durable_file(path_, text); !written) return written;
  file_ = base::UniqueFd(::open(path_.c_str(), O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC));
  if (!file_) return base::os_error(errno, path_);
  lines_ = commands.size() + 1;
  return {};
}

}  // namespace agent::runtime

#include "states/linux_supervisord/supervisor.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <map>

#include "base/output_text.hpp"
#include "base/text.hpp"
#include "states/systemd/leftovers.hpp"

namespace states::linux_supervisord {

namespace {

constexpr std::chrono::seconds kLongestStart{10};
constexpr std::chrono::seconds kLongestSettling{30};
constexpr std::chrono::milliseconds kPause{250};
constexpr std::array<std::string_view, 8> kStates{"STOPPED",  "STARTING", "RUNNING", "BACKOFF",
                                                  "STOPPING", "EXITED",   "FATAL",   "UNKNOWN"};

// By configuration: what was seen in this round.
struct KnownStatus {
  std::map<std::string, Status, std::less<>> by_config;
};

base::Result<void> pause_for(Context& context) {
  if (context.interrupt.requested()) return base::Error(base::ErrorCode::cancelled, "Cancelled");
  ::usleep(static_cast<useconds_t>(std::chrono::microseconds(kPause).count()));
  return {};
}

std::string error_lines(std::string_view output) {
  std::string errors;
  for (const std::string_view line : base::split(output, '\n'))
    if (line.find("ERROR") != line.npos) errors.append(errors.empty() ? "" : "; ").append(base::trim(line));
  return errors;
}

}  // namespace

Status parse_status(std::string_view output) {
  Status status;
  for (const std::string_view line : base::split(output, '\n')) {
    const auto words = base::split_words(line);
    if (words.size() < 2 || std::ranges::find(kStates, words[1]) == kStates.end()) continue;
    const std::size_t after = static_cast<std::size_t>(words[1].data() - line.data()) + words[1].size();
    status.programs.push_back(
        {std::string(words[0]), std::string(words[1]), std::string(base::trim(line.substr(after)))});
  }
  status.answers = !status.programs.empty();
  return status;
}

std::vector<Program> programs_of(const Status& status, std::string_view name) {
  std::string_view group = name;
  if (group.ends_with(":*")) group.remove_suffix(2);
  std::vector<Program> found;
  for (const Program& program : status.programs)
    if (program.name == name || program.name.starts_with(std::string(group) + ":")) found.push_back(program);
  return found;
}

std::string target_of(const Status& status, std::string_view name) {
  const auto exact = std::ranges::find(status.programs, name, &Program::name);
  const bool is_group =
      exact == status.programs.end() && !name.ends_with(":*") && !programs_of(status, name).empty();
  return std::string(name) + (is_group ? ":*" : "");
}

base::Result<std::string> Supervisor::ask(std::vector<std::string> words) {
  base::Command command;
  command.argv = {"supervisorctl", "-c", config_};
  std::ranges::move(words, std::back_inserter(command.argv));
  auto completed = context_.commands.run(std::move(command));
  if (!completed) return std::move(completed).error();
  return base::clean_output(completed->output);
}

base::Result<Status> Supervisor::status() {
  KnownStatus& known = context_.facts.get<KnownStatus>();
  if (const auto found = known.by_config.find(config_); found != known.by_config.end()) return found->second;
  auto said = ask({"status"});
  if (!said) return std::move(said).error();
  Status status = parse_status(*said);
  // Nobody listens there; without any program it says nothing at all.
  const bool is_silent = base::trim(*said).empty();
  const bool is_absent =
      said->find("no such file") != said->npos || said->find("refused connection") != said->npos;
  if (!status.answers && !is_silent && !is_absent)
    return base::Error(
        base::ErrorCode::io,
        "supervisorctl failed" + (context_.sensitive ? "" : ": " + std::string(base::last_line(*said))));
  status.answers = status.answers || is_silent;
  return known.by_config[config_] = std::move(status);
}

void Supervisor::forget() {
  context_.facts.get<KnownStatus>().by_config.erase(config_);
}

base::Result<void> Supervisor::start_daemon() {
  base::Command command;
  command.argv = {"supervisord", "-c", config_};
  systemd::Leftovers leftovers(command, context_);
  auto completed = context_.commands.run(command);
  if (!completed) return std::move(completed).error();
  const std::string said = base::clean_output(completed->output);
  output_ += said;
  const auto give_up = std::chrono::steady_clock::now() + kLongestStart;
  while (completed->ok()) {
    forget();
    auto now = status();
    if (now && now->answers) return {};
    if (!now && now.error().code() == base::ErrorCode::cancelled) return std::move(now).error();
    if (std::chrono::steady_clock::now() > give_up) break;
    if (auto paused = pause_for(context_); !paused) return paused;
  }
  const std::string_view why = context_.sensitive ? "" : base::last_line(said);
  return base::Error(base::ErrorCode::io, "supervisord does not start with " + config_ +
                                              (why.empty() ? "" : ": " + std::string(why)));
}

base::Result<void> Supervisor::tell(std::vector<std::string> words) {
  const std::string verb = words.front();
  forget();
  auto said = ask(std::move(words));
  if (!said) return std::move(said).error();
  output_ += *said;
  if (const std::string errors = error_lines(*said); !errors.empty())
    return base::Error(base::ErrorCode::io,
                       context_.sensitive ? "supervisorctl " + verb + " failed" : errors);
  return {};
}

base::Result<std::vector<Program>> Supervisor::settled(std::string_view name) {
  const auto give_up = std::chrono::steady_clock::now() + kLongestSettling;
  for (;;) {
    auto now = status();
    if (!now) return std::move(now).error();
    std::vector<Program> programs = programs_of(*now, name);
    const bool is_settled = std::ranges::none_of(programs, [](const Program& program) {
      return program.state == "STARTING" || program.state == "STOPPING" || program.state == "BACKOFF";
    });
    if (is_settled || std::chrono::steady_clock::now() > give_up) return programs;
    if (auto paused = pause_for(context_); !paused) return std::move(paused).error();
    forget();
  }
}

}  // namespace states::linux_supervisord

#include "states/debian/apt_get.hpp"

#include <poll.h>

#include <algorithm>

#include "base/file_read.hpp"
#include "base/output_text.hpp"
#include "base/text.hpp"
#include "states/debian/apt_lists.hpp"

namespace states::debian {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

std::string_view first_line_with(std::string_view output, std::string_view beginning) {
  for (const std::string_view line : base::split(output, '\n'))
    if (line.starts_with(beginning)) return base::trim(line);
  return {};
}

// "dpkg: error processing package x (--configure):" and the line behind it, which has the reason.
std::string dpkg_reason(std::string_view output) {
  const std::size_t at = output.find("dpkg: error processing ");
  if (at == std::string_view::npos) return {};
  const auto lines = base::split(output.substr(at), '\n');
  std::string reason(base::trim(lines.front()));
  if (lines.size() > 1) reason.append(" ").append(base::trim(lines[1]));
  return reason;
}

std::string process_name(std::string_view pid) {
  const auto name = base::read_file("/proc/" + std::string(pid) + "/comm", 64);
  return "process " + std::string(pid) + (name ? " (" + std::string(base::trim(*name)) + ")" : "");
}

}  // namespace

std::vector<std::string> apt_environment() {
  std::vector<std::string> environment = base::clean_environment();
  environment.insert(environment.end(), {"DEBIAN_FRONTEND=noninteractive", "APT_LISTCHANGES_FRONTEND=none",
                                         "NEEDRESTART_SUSPEND=1"});
  return environment;
}

std::string failure_text(std::string_view what, const base::Completed& completed, bool may_quote) {
  std::string text(what);
  text += completed.ending == base::Ending::signalled
              ? " was ended by signal " + std::to_string(completed.signal)
              : " failed (exit " + std::to_string(completed.exit_code) + ")";
  if (!may_quote) return text;
  const std::string output = base::clean_output(completed.output);
  std::string_view reason = first_line_with(output, "E:");
  if (reason.empty()) reason = base::last_line(output);
  if (!reason.empty()) text.append(": ").append(reason);
  if (const std::string dpkg = dpkg_reason(output); !dpkg.empty()) text.append("\n").append(dpkg);
  return text;
}

std::string lock_holder(std::string_view output) {
  constexpr std::string_view kHeldBy = "It is held by ";
  constexpr std::string_view kDpkgHeldBy = "locked by another process with pid ";
  const auto lines = base::split(output, '\n');
  const bool apt_was_locked_out = std::ranges::any_of(lines, [](std::string_view line) {
    return line.starts_with("E: Could not get lock") ||
           (line.starts_with("E: ") && line.ends_with("is another process using it?"));
  });
  if (apt_was_locked_out) {
    const std::size_t at = output.rfind(kHeldBy);
    if (at == std::string_view::npos) return "another process";
    std::string_view holder = output.substr(at + kHeldBy.size());
    holder = holder.substr(0, holder.find('\n'));
    while (holder.ends_with('.') || holder.ends_with('\r'))
      holder.remove_suffix(1);
    return std::string(holder);
  }
  for (const std::string_view line : lines) {
    const std::size_t at = line.find(kDpkgHeldBy);
    if (!line.starts_with("dpkg: error: ") || at == std::string_view::npos) continue;
    const std::string_view pid = line.substr(at + kDpkgHeldBy.size());
    return process_name(pid.substr(0, pid.find_first_not_of("0123456789")));
  }
  return {};
}

void AptGet::add_output(std::string_view text) {
  const std::string clean = base::clean_output(text);
  const std::string_view body = base::trim(clean);
  if (body.empty()) return;
  if (!output_.empty()) output_ += "\n";
  output_.append(body).append("\n");
}

// Sleeps between two attempts, unless asked to stop.
Result<void> AptGet::pause() {
  const auto time = std::min(patience_.retry, context_.commands.time_left());
  pollfd wake{.fd = context_.interrupt.wait_fd(), .events = POLLIN, .revents = 0};
  ::poll(&wake, 1, static_cast<int>(time.count()));
  if (context_.interrupt.requested())
    return Error(ErrorCode::cancelled, "Cancelled while waiting for the dpkg lock");
  return {};
}

Result<base::Completed> AptGet::run_when_unlocked(const base::Command& command) {
  const auto give_up = Commands::Clock::now() + patience_.lock;
  while (true) {
    auto done = context_.commands.run(command);
    if (!done) {
      add_output(context_.commands.interrupted_output());
      return done;
    }
    const std::string holder = done->ok() ? std::string() : lock_holder(done->output);
    if (!holder.empty() && Commands::Clock::now() < give_up) {
      if (auto paused = pause(); !paused) return std::move(paused).error();
      continue;
    }
    add_output(done->output);
    if (holder.empty()) return done;
    const bool lists = done->output.find("/var/lib/apt/lists") != std::string::npos;
    return Error(ErrorCode::exists, "Timed out waiting for the " +
                                        std::string(lists ? "package lists" : "dpkg") + " lock (held by " +
                                        holder + ")");
  }
}

Result<void> AptGet::run_program(const std::string& what, std::vector<std::string> argv, std::string input) {
  base::Command command;
  command.argv = std::move(argv);
  command.input = std::move(input);
  command.env = apt_environment();
  command.timeout = std::chrono::hours(24);  // the state's deadline cuts it
  dpkg_was_interrupted_ = false;
  auto done = run_when_unlocked(command);
  if (!done) return std::move(done).error();
  if (done->ok()) return {};
  dpkg_was_interrupted_ = done->output.find("dpkg was interrupted") != std::string::npos;
  return Error(ErrorCode::io, failure_text(what, *done, !context_.sensitive));
}

Result<void> AptGet::run(std::string_view action, const std::vector<std::string>& targets,
                         const std::vector<std::string>& options) {
  std::vector<std::string> argv{"apt-get", std::string(action),
                                "-y",      "-q",
                                "-o",      "Dpkg::Options::=--force-confdef",
                                "-o",      "Dpkg::Options::=--force-confold",
                                "-o",      "DPkg::Lock::Timeout=" + std::to_string(patience_.lock.count())};
  argv.insert(argv.end(), options.begin(), options.end());
  argv.emplace_back("--");
  argv.insert(argv.end(), targets.begin(), targets.end());
  const std::string what = "apt-get " + std::string(action);
  auto done = run_program(what, argv);
  if (!dpkg_was_interrupted_) return done;
  auto repaired =
      run_program("dpkg --configure -a", {"dpkg", "--force-confdef", "--force-confold", "--configure", "-a"});
  // A package that cannot be configured may be just the one that is to be removed or replaced now: apt-get
  // says so if it is not.
  if (!repaired && repaired.error().code() != ErrorCode::io) return repaired;
  return run_program(what, std::move(argv));
}

Result<void> AptGet::refresh_lists(bool insecure) {
  if (!insecure && lists_are_fresh(context_)) return {};
  const auto began = WallClock::now();
  auto updated =
      run("update", {},
          insecure ? std::vector<std::string>{"--allow-insecure-repositories"} : std::vector<std::string>{});
  context_.notes.get<AptLists>() = {.tried = began, .succeeded = static_cast<bool>(updated)};
  if (!updated) return updated;
  // If this cannot be written, the lists only look older than they are, and are refreshed again the sooner.
  // It is removed first: what is new needs no temporary, which no journal would tell of.
  const std::string stamp = lists_stamp_path(context_.host);
  if (context_.files.remove(stamp, base::Seen::anything()))
    static_cast<void>(context_.files.write_file(stamp, base::Seen::anything(), "", {.mode = 0644}));
  return {};
}

}  // namespace states::debian

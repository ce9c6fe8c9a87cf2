#include "states/debian/apt_get.hpp"

#include <poll.h>

#include <algorithm>

#include "base/files/file_read.hpp"
#include "base/output_text.hpp"
#include "base/text.hpp"
#include "states/debian/apt_lists.hpp"
#include "states/debian/dpkg_status.hpp"

namespace states::debian {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

constexpr std::size_t kMostSimulated = 16 * 1024 * 1024;  // thousands of packages
// How long apt waits for a lock in one go. Then we say what is waited for, and try again.
constexpr std::chrono::seconds kFirstTurn{2};
constexpr std::chrono::seconds kLaterTurns{30};
constexpr std::chrono::seconds kLastWords{1};

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
Result<void> AptGet::pause(Commands::Clock::time_point until) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Commands::Clock::now());
  const auto time = std::clamp(left, std::chrono::milliseconds(0), patience_.retry);
  pollfd wake{.fd = context_.interrupt.wait_fd(), .events = POLLIN, .revents = 0};
  ::poll(&wake, 1, static_cast<int>(time.count()));
  if (context_.interrupt.requested())
    return Error(ErrorCode::cancelled, "Cancelled while waiting for the dpkg lock");
  return {};
}

Result<base::Completed> AptGet::run_when_unlocked(Kind kind, const base::Command& command) {
  using Clock = Commands::Clock;
  const auto began = Clock::now();
  // The state's own time has to be enough for saying what it was lost to.
  const auto state_end = context_.commands.deadline() - kLastWords;
  const auto give_up = std::min(began + patience_.lock, state_end);
  std::string waited;  // for whom
  auto turn = kFirstTurn;
  while (true) {
    const auto start = Clock::now();
    base::Command attempt = command;
    if (command.argv.front() == "apt-get") {
      const auto left = std::chrono::duration_cast<std::chrono::seconds>(give_up - start);
      const auto patience = std::clamp(left, std::chrono::seconds(1), turn);
      attempt.argv.insert(attempt.argv.begin() + 1,
                          {"-o", "DPkg::Lock::Timeout=" + std::to_string(patience.count())});
    }
    auto done = kind == Kind::change ? context_.commands.run_undisturbed(std::move(attempt))
                                     : context_.commands.run(std::move(attempt));
    if (!done) {
      add_output(context_.commands.interrupted_output());
      return done;
    }
    const std::string holder = done->ok() ? std::string() : lock_holder(done->output);
    if (holder.empty()) {
      if (!waited.empty()) add_output(waited);
      if (!done->ok() || kind != Kind::question) add_output(done->output);
      return done;
    }
    const bool lists = done->output.find("/var/lib/apt/lists") != std::string::npos;
    const std::string lock = std::string(lists ? "package lists" : "dpkg") + " lock (held by " + holder + ")";
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - began).count();
    if (Clock::now() >= give_up) {
      add_output(done->output);
      return Error(give_up == state_end ? ErrorCode::timed_out : ErrorCode::exists,
                   "Timed out waiting for the " + lock);
    }
    waited = "Waited " + std::to_string(seconds) + " s for the " + lock;
    context_.commands.tell("Waiting for the " + lock + ", for " + std::to_string(seconds) + " s so far");
    // Where apt has waited by itself there is no need for more.
    if (Clock::now() - start < std::chrono::seconds(1))
      if (auto paused = pause(give_up); !paused) return std::move(paused).error();
    // A turn that cannot be interrupted stays short.
    if (kind != Kind::change) turn = kLaterTurns;
  }
}

Result<std::string> AptGet::run_for_output(Kind kind, const std::string& what, base::Command command) {
  command.env = apt_environment();
  command.timeout = std::chrono::hours(24);  // the state's deadline cuts it
  if (kind == Kind::question) command.on_output = [](base::Stream, std::string_view) {};
  auto done = run_when_unlocked(kind, command);
  if (!done) return std::move(done).error();
  if (done->ok()) return std::move(done->output);
  return Error(ErrorCode::io, failure_text(what, *done, !context_.sensitive));
}

Result<void> AptGet::run_program(const std::string& what, std::vector<std::string> argv, std::string input) {
  base::Command command;
  command.argv = std::move(argv);
  command.input = std::move(input);
  auto done = run_for_output(Kind::change, what, std::move(command));
  return done ? Result<void>() : Result<void>(std::move(done).error());
}

Result<std::string> AptGet::run_apt(Kind kind, std::string_view action,
                                    const std::vector<std::string>& arguments) {
  base::Command command;
  command.argv = {"apt-get", std::string(action),
                  "-y",      "-q",
                  "-o",      "Dpkg::Options::=--force-confdef",
                  "-o",      "Dpkg::Options::=--force-confold"};
  command.argv.insert(command.argv.end(), arguments.begin(), arguments.end());
  if (kind == Kind::question) command.keep_head = kMostSimulated;
  return run_for_output(kind, "apt-get " + std::string(action), std::move(command));
}

// A simulation does not see what an interrupted dpkg has noted, and apt-get does nothing before that is
// repaired.
Result<void> AptGet::finish_interrupted() {
  if (!is_dpkg_unfinished(context_.host)) return {};
  add_output("dpkg was interrupted: finishing what it left behind");
  // If it is only at work, this waits for it.
  auto repaired =
      run_program("dpkg --configure -a", {"dpkg", "--force-confdef", "--force-confold", "--configure", "-a"});
  forget_packages(context_);
  if (!repaired && repaired.error().code() != ErrorCode::io) return repaired;
  // A package that cannot be configured may be just the one that is to be removed or replaced now.
  if (repaired || !is_dpkg_unfinished(context_.host)) return {};
  return Error(ErrorCode::io,
               "dpkg was interrupted, and again while it was repaired: " + repaired.error().message());
}

Result<std::vector<AptRemoval>> AptGet::forecast(const AptTransaction& transaction) {
  if (auto finished = finish_interrupted(); !finished) return std::move(finished).error();
  std::vector<std::string> arguments = transaction.arguments();
  arguments.insert(arguments.begin(), "--simulate");
  auto output = run_apt(Kind::question, transaction.action(), arguments);
  if (!output) return std::move(output).error();
  return parse_removals(*output);
}

Result<void> AptGet::commit(const AptTransaction& transaction, std::span<const std::string> permitted) {
  if (auto finished = finish_interrupted(); !finished) return finished;
  auto status = installed_packages(context_);
  if (!status) return std::move(status).error();
  std::vector<std::string> arguments = removal_guard(permitted, (*status)->native_architecture());
  const std::vector<std::string> given = transaction.arguments();
  arguments.insert(arguments.end(), given.begin(), given.end());
  if (!transaction.installs.empty()) {
    std::vector<std::string> fetch{"--download-only"};
    fetch.insert(fetch.end(), given.begin(), given.end());
    if (auto fetched = run_apt(Kind::transfer, transaction.action(), fetch); !fetched)
      return std::move(fetched).error();
  }
  auto done = run_apt(Kind::change, transaction.action(), arguments);
  return done ? Result<void>() : Result<void>(std::move(done).error());
}

Result<void> AptGet::refresh_lists(bool insecure) {
  if (!insecure && lists_are_fresh(context_)) return {};
  const auto began = WallClock::now();
  auto updated = run_apt(
      Kind::transfer, "update",
      insecure ? std::vector<std::string>{"--allow-insecure-repositories"} : std::vector<std::string>{});
  context_.notes.get<AptLists>() = {.tried = began, .succeeded = static_cast<bool>(updated)};
  if (!updated) return std::move(updated).error();
  // If this cannot be written, the lists only look older than they are, and are refreshed again the sooner.
  // It is removed first: what is new needs no temporary, which no journal would tell of.
  const std::string stamp = lists_stamp_path(context_.host);
  if (context_.files.remove(stamp, base::Seen::anything()))
    static_cast<void>(context_.files.write_file(stamp, base::Seen::anything(), "", {.mode = 0644}));
  return {};
}

}  // namespace states::debian

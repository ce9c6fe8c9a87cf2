// AptGet: apt-get as states run it: never a question, never a configuration file lost, nothing removed that
// was not planned, patient with other package managers, not ended half-way by a stop of the agent, and able
// to finish what an interrupted dpkg left behind.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "base/programs/process.hpp"
#include "base/result.hpp"
#include "states/context.hpp"
#include "states/debian/apt_transaction.hpp"

namespace states::debian {

// How long to wait for somebody else's package manager: never longer than the state may take.
struct AptPatience {
  std::chrono::seconds lock = std::chrono::hours(24);  // in all
  std::chrono::milliseconds retry{5'000};              // between attempts, where apt does not wait by itself
};

class AptGet {
 public:
  explicit AptGet(ApplyContext& context, AptPatience patience = {})
      : context_(context), patience_(patience) {}

  // What the transaction would remove now. Changes no package, but waits for locks and finishes what an
  // interrupted dpkg left behind, as commit() does. Errors: those of commit().
  base::Result<std::vector<AptRemoval>> forecast(const AptTransaction& transaction);

  // Makes it so, unless it would remove anything but the packages `permitted`: then nothing is done. What is
  // to be installed is fetched before, in a run of its own. Errors: as Commands::run(); ErrorCode::exists, or
  // timed_out if the state's own time is over, "Timed out waiting for the dpkg lock (held by …)";
  // ErrorCode::io "apt-get <action> failed (exit <n>): <reason>".
  base::Result<void> commit(const AptTransaction& transaction, std::span<const std::string> permitted);

  // apt-get update, unless lists_are_fresh(). With `insecure` also lists that nobody has signed. A mirror
  // that fails is an error of code ErrorCode::io; the old lists are still there then.
  base::Result<void> refresh_lists(bool insecure = false);

  // Any other program that takes dpkg's locks or is part of the same work, and is not ended half-way; `what`
  // names it in errors, `input` is what it reads.
  base::Result<void> run_program(const std::string& what, std::vector<std::string> argv,
                                 std::string input = {});

  // What all of them printed, in order, with a blank line between.
  const std::string& output() const { return output_; }
  void add_output(std::string_view text);

 private:
  enum class Kind {
    question,  // changes nothing; what it prints is for us
    transfer,  // lists, archives: may be ended at any time
    change,    // dpkg at work: is not ended half-way
  };
  base::Result<std::string> run_apt(Kind kind, std::string_view action,
                                    const std::vector<std::string>& arguments);
  base::Result<std::string> run_for_output(Kind kind, const std::string& what, base::Command command);
  base::Result<base::Completed> run_when_unlocked(Kind kind, const base::Command& command);
  base::Result<void> pause(Commands::Clock::time_point until);
  base::Result<void> finish_interrupted();

  ApplyContext& context_;
  AptPatience patience_;
  std::string output_;
};

// base::clean_environment() with what keeps Debian's tools from asking questions and restarting services.
std::vector<std::string> apt_environment();

// "apt-get install failed (exit 100): E: Unable to locate package x", and in a second line what dpkg said if
// it was dpkg that failed. Without any of the program's words when they may not be quoted
// (Context::sensitive).
std::string failure_text(std::string_view what, const base::Completed& completed, bool may_quote = true);

// The process that holds the lock which apt or dpkg could not get, by their output: "process 812 (apt-get)".
// Empty when no lock was the reason.
std::string lock_holder(std::string_view output);

}  // namespace states::debian

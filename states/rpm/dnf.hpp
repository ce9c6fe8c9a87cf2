// Dnf: dnf (or yum) as states run it: never a question, nothing removed that was not planned, not ended
// half-way by a stop of the agent.
//
// It removes whatever depends on what goes, and, where it may, what conflicts with what comes. So every run
// is simulated before, and packages that must stay are named as protected: dnf ends before its first step if
// one of them would go.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/programs/process.hpp"
#include "base/result.hpp"
#include "states/context.hpp"
#include "states/rpm/rpm_database.hpp"

namespace states::rpm {

struct DnfTransaction {
  std::string action;                // "install", "downgrade", "remove"
  std::vector<std::string> targets;  // as dnf takes them: "nginx", "nginx-1.22-1.x86_64", "/tmp/x.rpm"
  std::vector<std::string> options;
};

struct RpmRemoval {
  std::string name;
  std::string version;

  bool operator==(const RpmRemoval&) const = default;
};

// What is removed according to the table that dnf shows before it asks.
std::vector<RpmRemoval> parse_removals(std::string_view table);

// "dnf", or "yum" where there is no dnf.
std::string dnf_program();

// For plans: what the transaction would remove on the machine as it is, by the metadata that is there. Writes
// nothing: dnf sees a machine that it cannot write to, and copies of its locks and its history. Errors: as
// Commands::run(); ErrorCode::io with dnf's reason when there is no such solution.
base::Result<std::vector<RpmRemoval>> forecast_removals(const DnfTransaction& transaction, Context& context);

// To be called by whatever changes where packages come from: the next question of this round fetches metadata
// anew.
void note_changed_repositories(Context& context);

class Dnf {
 public:
  explicit Dnf(ApplyContext& context) : context_(context) {}

  // The packages that repositories offer under these names, in all versions. Fetches metadata that is missing
  // or has expired; `refresh`: all of it.
  base::Result<std::vector<RpmPackage>> available(const std::vector<std::string>& names,
                                                  const std::vector<std::string>& options, bool refresh);
  // The same for names that packages only provide.
  base::Result<std::vector<RpmPackage>> providers(const std::vector<std::string>& names,
                                                  const std::vector<std::string>& options);

  base::Result<std::vector<RpmRemoval>> forecast(const DnfTransaction& transaction);
  // Makes it so, unless it would remove anything but the packages `permitted`. ErrorCode::io "dnf <action>
  // failed (exit <n>): <reason>".
  base::Result<void> commit(const DnfTransaction& transaction, std::span<const std::string> permitted);

  // What all of them printed that changed something, or failed.
  const std::string& output() const { return output_; }
  void add_output(std::string_view text);

 private:
  base::Result<std::vector<RpmPackage>> query(std::vector<std::string> argv,
                                              const std::vector<std::string>& names);
  base::Result<std::string> run(std::vector<std::string> argv, bool changes);

  ApplyContext& context_;
  std::string output_;
};

}  // namespace states::rpm

// Working copies of version control systems: what the modules for git, Subversion and Mercurial share.
//
// Their programs follow settings that lie in the working copy, and start what those name. So they run as the
// user of the recipe and never as somebody who trusts another's folder: as root only where nobody else can
// write to the folder or put another in its place.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.hpp"
#include "states/context.hpp"
#include "states/plan.hpp"
#include "states/runners/run_as.hpp"

namespace states::checkouts {

// An address without the name and password in it.
struct Address {
  std::string plain;     // "https://host/repo"
  std::string user;      // decoded
  std::string password;  // decoded; empty: none
};
Address split_address(std::string_view text);

// For check(): no control characters, and nothing that a program would take for an option.
base::Result<void> check_value(std::string_view name, std::string_view value);

enum class Found {
  nothing,  // neither is there anything, nor will there be
  empty,    // a folder with nothing in it
  working_copy,
  other_files,  // a folder with something else in it
};

// What is at a path, told by the name of the folder in which a working copy keeps its own things (".git").
// A plan, when it cannot be told yet, or what is there is no folder, or others could change it.
std::variant<Found, Plan> look_at(const std::string& path, std::string_view marker,
                                  const runners::Runner& runner, Context& context);

// Adds to `plan` what make_folder() would do.
base::Result<void> plan_folder(const std::string& path, std::optional<std::string_view> user,
                               Context& context, Plan& plan);
// Makes the folder, and what is missing above it, for the user; one that is there stays as it is. Checks
// again what look_at() has.
base::Result<void> make_folder(const std::string& path, std::string_view marker,
                               const runners::Runner& runner, ApplyContext& context);

// A program of such a system, run as the user.
class Client {
 public:
  // `program`: argv[0]; `environment`: besides the clean one; `script`: what the program finds at
  // base::kScriptPath, for settings that nobody else may see.
  Client(std::string program, const runners::Runner& runner, std::vector<std::string> environment,
         Context& context, std::string script = {});

  // Its output is kept for output().
  base::Result<base::Completed> run(std::vector<std::string> arguments, std::string input = {});
  // For questions: nothing is shown, and where the machine permits it every file system is read-only, so that
  // a plan leaves no caches behind. "" when the program fails.
  base::Result<std::string> ask(std::vector<std::string> arguments, std::string input = {});
  // The same with how it ended.
  base::Result<base::Completed> try_to(std::vector<std::string> arguments, std::string input = {});

  // "git fetch failed (exit 128): fatal: …"
  base::Error failure(std::string_view action, const base::Completed& completed) const;

  const std::string& output() const { return output_; }

 private:
  base::Command command(std::vector<std::string> arguments, std::string input) const;

  std::string program_;
  const runners::Runner& runner_;
  std::vector<std::string> environment_;
  Context& context_;
  std::string script_;
  std::string output_;
};

// "0123456789abcdef…" as people write it.
std::string short_id(std::string_view id);

}  // namespace states::checkouts

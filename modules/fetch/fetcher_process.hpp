// One run of opsagent-fetch: confined, watched, and not believed.
//
// It runs as a user that nobody is (root only), sees one folder that it can write to, and prints what it has
// fetched; nothing that it writes to the folder is ever read. How long it may run, how much it may print and
// how much its folder may hold is decided here.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "base/interrupt.hpp"
#include "base/result.hpp"
#include "fetcher/request.hpp"
#include "modules/git/intake.hpp"

namespace modules::fetch {

struct FetcherRun {
  std::string program;          // opsagent-fetch, absolute
  std::string folder;           // of its own, absolute
  std::uint32_t uid = 0;        // who it becomes; 0: it stays what we are, which is not root
  std::string repository_path;  // of a repository in the file system, which it must see; else ""
  std::chrono::seconds timeout{300};
  std::uint64_t memory = 1ULL << 30;
  std::uint64_t folder_bytes = 1ULL << 30;
  // Lines for people, at most one a second. May be empty.
  std::function<void(const std::string&)> on_progress;
};

// How it went wrong, when it did.
struct FetchFailure {
  base::Error error;
  bool is_unreachable = false;    // nobody could be asked: what is there may be used
  bool is_of_repository = false;  // what was found is refused: everybody who asks meets the same
};

// Runs it to its end; what it prints goes to the intake. Nothing of it runs on when this returns.
std::variant<::modules::git::Snapshot, FetchFailure> run_fetcher(const FetcherRun& run,
                                                                 const fetcher::Request& request,
                                                                 ::modules::git::Intake& intake,
                                                                 base::Interrupt& interrupt);

// A user id for the fetcher, of those that Debian and systemd both keep free (65520 to 65533): one without an
// account, a group and a process. 0 when we are not root.
base::Result<std::uint32_t> free_user_id();

// A folder over which the fetcher's own can be mounted: one that is there, and that holds neither of these.
base::Result<std::string> mount_point_beside(const std::vector<std::string>& needed);

}  // namespace modules::fetch

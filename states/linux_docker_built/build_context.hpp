// A folder as the engine takes it for a build: a tar of what is in it, piece by piece, so that it needs no
// memory and no file of its own.
//
// The folder may be a user's: it is walked by descriptors, links are sent as links and never followed, and
// what is neither file, folder nor link is left out. All belongs to root in the tar, as docker's own client
// does it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/interrupt.hpp"
#include "base/result.hpp"
#include "base/unique_fd.hpp"
#include "states/linux_docker_built/ignore_rules.hpp"

namespace states::linux_docker_built {

inline constexpr std::size_t kMostMembers = 200'000;
inline constexpr std::uint64_t kLargestFolder = std::uint64_t(16) * 1024 * 1024 * 1024;

class BuildContext {
 public:
  // Lists what is there. Errors: more than kMostMembers or kLargestFolder, what cannot be read.
  static base::Result<BuildContext> open(base::UniqueFd folder, const IgnoreRules& rules,
                                         base::Interrupt& interrupt);

  // The next piece of the tar; empty at its end. An error: a file has become shorter, or cannot be read.
  base::Result<std::string> next();

  std::size_t members() const { return members_.size(); }

 private:
  struct Member {
    std::string path;
    std::string link;  // of a symlink, what it says
    char type = '0';   // as in tar: '0' file, '2' link, '5' folder
    unsigned mode = 0;
    std::uint64_t size = 0;
    std::int64_t time = 0;
  };
  explicit BuildContext(base::UniqueFd folder) : folder_(std::move(folder)) {}
  base::Result<void> list(int folder, const std::string& path, int depth, const IgnoreRules& rules,
                          base::Interrupt& interrupt);
  base::Result<std::string> begin_member();
  base::Result<std::string> read_on();

  base::UniqueFd folder_;
  std::vector<Member> members_;
  std::uint64_t bytes_ = 0;
  std::size_t at_ = 0;
  base::UniqueFd file_;     // the member that is being sent
  std::uint64_t left_ = 0;  // of it
  bool has_ended_ = false;
};

}  // namespace states::linux_docker_built

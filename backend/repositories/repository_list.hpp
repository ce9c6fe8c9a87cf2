// RepositoryList: which module repositories this backend may ask for. Pure; any thread.
//
// Whoever may push a recipe names a repository in it. Without a list that would make the backend connect to
// any address that it can reach, also those that only it can reach. So a repository must match a pattern of
// the configuration:
//
//   https://git.example.com/ops/modules.git    this one
//   https://git.example.com/ops/*              those directly below /ops/
//   ssh://git@git.example.com/ops/**           all below /ops/
//
// Scheme, user, host and port are compared as they are, never by pattern. A path with a part that could mean
// another path (., .., nothing, an encoded character) matches a pattern without stars only.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "modules/fetch/repository_address.hpp"

namespace backend::repositories {

class RepositoryList {
 public:
  static constexpr std::size_t kMostPatterns = 100;

  // `schemes`: what is allowed besides https and ssh. The error names the pattern.
  static base::Result<RepositoryList> parse(const std::vector<std::string>& patterns,
                                            const std::vector<std::string>& schemes);

  bool allows(const ::modules::fetch::RepositoryAddress& address) const;
  bool empty() const { return patterns_.empty(); }

 private:
  enum class Below { nothing, one, all };
  struct Pattern {
    ::modules::fetch::RepositoryAddress address;  // its path ends in a slash, unless `below` is nothing
    Below below = Below::nothing;
  };
  std::vector<Pattern> patterns_;
};

}  // namespace backend::repositories

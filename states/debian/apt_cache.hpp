// AptCache: what apt knows of packages that could be installed, from apt-cache.
//
// Pins, priorities and compressed lists are apt's business, so apt is asked and its lists are not parsed
// here. A plan must not write, and apt-cache renews its own cache files when it may: for plans it runs as
// nobody, and with a /tmp of its own in memory, for the temporary files that it wants when its cache is old
// or missing. Its output goes to us, not to the state's live output.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "states/context.hpp"

namespace states::debian {

// Package name to candidate version; packages that apt does not know, or cannot install, are not in it.
using AptCandidates = std::map<std::string, std::string, std::less<>>;

class AptCache {
 public:
  enum class Access { read_only, writable };
  // `release`: as in `apt-get -t`; may be empty.
  AptCache(Context& context, std::string_view release, Access access)
      : context_(context), release_(release), access_(access) {}

  // The versions that apt would install now.
  base::Result<AptCandidates> candidates(std::span<const std::string> names);

  // Every version that the lists offer of one package, newest first.
  base::Result<std::vector<std::string>> versions(const std::string& name);

 private:
  base::Result<std::string> ask(std::string_view what, std::span<const std::string> names);

  Context& context_;
  std::string_view release_;
  Access access_;
};

// The candidates in the output of `apt-cache policy`.
AptCandidates parse_policy(std::string_view output);
// The versions of binary packages in the output of `apt-cache madison`, newest first, each once.
std::vector<std::string> parse_madison(std::string_view output);

}  // namespace states::debian

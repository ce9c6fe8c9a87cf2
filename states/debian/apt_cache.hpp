// AptCache: what apt knows of packages that could be installed, from apt-cache.
//
// Pins, priorities and compressed lists are apt's business, so apt is asked and its lists are not parsed
// here.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "states/context.hpp"
#include "states/debian/apt_reader.hpp"

namespace states::debian {

// Package name to candidate version; packages that apt does not know are not in it. "": apt has versions of
// it in its lists, and a pin (apt_preferences(5)) forbids them all, unless one is asked for by its number.
using AptCandidates = std::map<std::string, std::string, std::less<>>;

class AptCache {
 public:
  // `release`: as in `apt-get -t`; may be empty.
  AptCache(Context& context, std::string_view release, AptAccess access)
      : context_(context), release_(release), access_(access) {}

  // The versions that apt would install now.
  base::Result<AptCandidates> candidates(std::span<const std::string> names);

  // Every version that the lists offer of one package, newest first.
  base::Result<std::vector<std::string>> versions(const std::string& name);

 private:
  base::Result<std::string> ask(std::string_view what, std::span<const std::string> names);

  Context& context_;
  std::string_view release_;
  AptAccess access_;
};

// The candidates in the output of `apt-cache policy`.
AptCandidates parse_policy(std::string_view output);
// The versions of binary packages in the output of `apt-cache madison`, newest first, each once.
std::vector<std::string> parse_madison(std::string_view output);

}  // namespace states::debian

// A text file that tells a package manager where packages come from: root's, 0644, replaced as a whole.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/tree/seen.hpp"
#include "states/context.hpp"
#include "states/plan.hpp"

namespace states::files {

// `path` and `content` are given; a plan finds out the rest.
struct RepositoryFile {
  std::string path;
  std::string content;
  base::Seen seen{};
  bool has_new_content = true;                 // else only owner or mode differ
  bool write = false;                          // else the file is as wanted
  std::vector<std::string> missing_folders{};  // outermost first
};

// The text with a newline at its end.
std::string repository_text(std::string_view content);

inline constexpr std::size_t kLargestRepositoryDiffed = 1024 * 1024;
// A diff for people, unless one of the texts cannot or must not be shown: addresses with a password.
std::string repository_diff(std::string_view before, std::string_view after);

// Adds to the plan what the file needs. An error is why it cannot be done.
base::Result<void> plan_repository_file(RepositoryFile& file, Plan& plan, Context& context);

base::Result<void> write_repository_file(const RepositoryFile& file, ApplyContext& context);

}  // namespace states::files

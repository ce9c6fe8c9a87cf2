#include "backend/repositories/repository_list.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace backend::repositories {

namespace {

using base::Error;
using base::ErrorCode;
using ::modules::fetch::RepositoryAddress;

// "git" of "ssh://git@host/path".
std::string_view user_of(const RepositoryAddress& address) {
  std::string_view authority = address.text;
  authority.remove_prefix(authority.find("://") + 3);
  authority = authority.substr(0, authority.find('/'));
  const std::size_t at = authority.rfind('@');
  return at == std::string_view::npos ? std::string_view() : authority.substr(0, at);
}

// Whether every server takes the path for what it looks like.
bool is_plain(std::string_view path) {
  if (path.find_first_of("%?#;\\") != std::string_view::npos) return false;
  const auto parts = base::split(path.substr(1), '/');
  return std::ranges::none_of(
      parts, [](std::string_view part) { return part.empty() || part == "." || part == ".."; });
}

}  // namespace

base::Result<RepositoryList> RepositoryList::parse(const std::vector<std::string>& patterns,
                                                   const std::vector<std::string>& schemes) {
  RepositoryList list;
  if (patterns.size() > kMostPatterns) return Error(ErrorCode::limit, "module_repo: at most 100 patterns");
  for (const std::string& written : patterns) {
    Pattern pattern;
    std::string text = written;
    if (text.ends_with("/**"))
      pattern.below = Below::all;
    else if (text.ends_with("/*"))
      pattern.below = Below::one;
    // A name in the place of the star, so that there is an address to read.
    if (pattern.below != Below::nothing) text.replace(text.rfind('/') + 1, std::string::npos, "x");
    if (text.find('*') != std::string::npos)
      return Error(ErrorCode::invalid, "module_repo: '" + base::quote_of(written) +
                                           "': stars can only be at the end, as /* or /**");
    auto address = ::modules::fetch::parse_repository(text, schemes);
    if (!address) return std::move(address).error().with_context("module_repo");
    pattern.address = std::move(*address);
    if (pattern.below != Below::nothing) {
      pattern.address.path.pop_back();
      if (pattern.address.path != "/" &&
          !is_plain(pattern.address.path.substr(0, pattern.address.path.size() - 1)))
        return Error(ErrorCode::invalid,
                     "module_repo: '" + base::quote_of(written) + "' has a path that means another one");
    }
    list.patterns_.push_back(std::move(pattern));
  }
  return list;
}

bool RepositoryList::allows(const RepositoryAddress& address) const {
  return std::ranges::any_of(patterns_, [&](const Pattern& pattern) {
    const RepositoryAddress& wanted = pattern.address;
    if (address.scheme != wanted.scheme || address.host != wanted.host || address.port != wanted.port ||
        user_of(address) != user_of(wanted))
      return false;
    if (pattern.below == Below::nothing) return address.path == wanted.path;
    if (!is_plain(address.path) || !address.path.starts_with(wanted.path)) return false;
    const std::string_view rest = std::string_view(address.path).substr(wanted.path.size());
    return !rest.empty() && (pattern.below == Below::all || rest.find('/') == std::string_view::npos);
  });
}

}  // namespace backend::repositories

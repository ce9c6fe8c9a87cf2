#include "modules/git/links.hpp"

#include <algorithm>
#include <vector>

#include "base/text.hpp"

namespace modules::git {

namespace {

constexpr int kMostFollowed = 40;  // as Linux has it

std::string joined(const std::vector<std::string>& parts) {
  return base::join(parts, "/");
}

// The components that are still to be walked; the next one is the last.
void push_target(std::vector<std::string>& ahead, std::string_view target) {
  const std::vector<std::string_view> parts = base::split(target, '/');
  for (auto part = parts.rbegin(); part != parts.rend(); ++part)
    ahead.emplace_back(*part);
}

}  // namespace

std::string link_problem(const std::map<std::string, std::string>& links, const std::string& path) {
  std::vector<std::string> ahead, here;
  push_target(ahead, path);
  int followed = 0;
  while (!ahead.empty()) {
    const std::string part = std::move(ahead.back());
    ahead.pop_back();
    if (part.empty() || part == ".") continue;
    if (part == "..") {
      if (here.empty()) return "leads out of the repository";
      here.pop_back();
      continue;
    }
    here.push_back(part);
    const auto link = links.find(joined(here));
    if (link == links.end()) continue;
    const std::string& target = link->second;
    if (target.empty()) return "has no target";
    if (target.find('\0') != std::string::npos) return "has a target with a NUL byte in it";
    if (target.size() > kLongestTarget) return "has a target longer than 4095 bytes";
    if (target.front() == '/') return "has an absolute target, which leads out of the repository";
    if (++followed > kMostFollowed) return "leads in circles";
    here.pop_back();
    push_target(ahead, target);
  }
  return {};
}

}  // namespace modules::git

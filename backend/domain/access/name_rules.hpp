// Which names things may have. Any thread.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "protocol/ids.hpp"

namespace backend::domain {

// Names of apps and recipes stand in paths of the API and in cursors. `what`: "an app".
inline base::Result<void> check_name(std::string_view what, std::string_view name) {
  const std::string_view wrong = protocol::problem_of_name(name);
  if (wrong.empty()) return {};
  return base::Error(base::ErrorCode::invalid, "the name of " + std::string(what) + " " + std::string(wrong));
}

// The tags of one machine: they are read with it wherever machines are listed or placed.
inline constexpr std::size_t kMostTags = 64;
inline constexpr std::size_t kMostTagBytes = 8192;  // names and values

// What is wrong with so many; "": nothing.
inline std::string problem_of_tags(const std::map<std::string, std::string>& tags) {
  std::size_t bytes = 0;
  for (const auto& [name, value] : tags)
    bytes += name.size() + value.size();
  if (tags.size() <= kMostTags && bytes <= kMostTagBytes) return {};
  return "a machine has at most 64 tags with 8 KiB of text, and would have " + std::to_string(tags.size()) +
         " with " + std::to_string(bytes) + " bytes: remove some first";
}

}  // namespace backend::domain

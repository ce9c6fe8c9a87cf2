// The files that a configuration of supervisord includes: programs are most often defined there.
//
//   [include]
//   files = /etc/supervisor/conf.d/*.conf %(here)s/more.d/*
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace states::linux_supervisord {

inline constexpr std::size_t kMostIncluded = 1000;

// The patterns, absolute; `folder`: where the configuration is. What names a variable of supervisord's own
// environment is left out: nobody else knows it.
std::vector<std::string> included_patterns(std::string_view config, const std::string& folder);

// The files that are there, by name, each once. An error: more than kMostIncluded.
base::Result<std::vector<std::string>> files_of(const std::vector<std::string>& patterns);

// The folder that all files of a pattern are below.
std::string folder_of_pattern(std::string_view pattern);

}  // namespace states::linux_supervisord

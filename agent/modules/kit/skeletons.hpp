// The files of a new module: one that works, and passes the conformance kit. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace agent::modules {

struct SkeletonFile {
  std::string name;
  std::string text;
  bool executable = false;
};

// `language` is sh, python or c++.
std::vector<SkeletonFile> skeleton(std::string_view name, std::string_view language);

}  // namespace agent::modules

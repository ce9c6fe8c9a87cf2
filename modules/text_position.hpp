// Where in a file something is, for messages as compilers print them. Pure; any thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

namespace modules {

// "modules/x/module.json:3:7: message", with line and column (in bytes) of an offset in the file's text.
inline std::string at(std::string_view file, std::string_view text, std::uint32_t offset,
                      std::string_view message) {
  const std::string_view before = text.substr(0, offset);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t start = before.rfind('\n') + 1;  // 0 when there is none
  return std::string(file) + ":" + std::to_string(line) + ":" + std::to_string(before.size() - start + 1) +
         ": " + std::string(message);
}

}  // namespace modules

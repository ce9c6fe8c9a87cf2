// What a program writes to its standard output, apart from its errors: rows must not be torn by warnings.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/programs/process.hpp"

namespace states::programs {

inline constexpr std::size_t kMostStandardOutput = 32 * 1024 * 1024;  // thousands of packages

// Sets what the command calls; `text` gets the output while the command runs, and nobody else does.
inline void collect_standard_output(base::Command& command, std::string& text) {
  command.on_output = [&text](base::Stream stream, std::string_view data) {
    if (stream == base::Stream::out && text.size() < kMostStandardOutput) text += data;
  };
}

}  // namespace states::programs

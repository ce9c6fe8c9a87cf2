// The fuzz targets as a list, for fuzz_short. Generated from the lines of CMakeLists.txt.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace fuzz {

struct Target {
  const char* name;
  int (*run)(const std::uint8_t* data, std::size_t size);
};

std::span<const Target> targets();

}  // namespace fuzz

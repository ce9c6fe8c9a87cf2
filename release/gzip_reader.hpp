// GzipReader: the bytes of a .gz file, as a stream. One thread; blocks. Everything that is not exactly one
// whole gzip member is an error: a wrong checksum or length, an end too early, bytes behind the end.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "base/result.hpp"

namespace release {

class GzipReader {
 public:
  static base::Result<GzipReader> open(const std::string& path);
  GzipReader(GzipReader&&) noexcept;
  GzipReader& operator=(GzipReader&&) noexcept;
  ~GzipReader();

  // Fills `to`; how many bytes there were. Fewer than asked for: that was the end, and all was in order.
  base::Result<std::size_t> read(std::span<char> to);

 private:
  struct State;
  explicit GzipReader(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace release

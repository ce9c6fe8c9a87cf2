// TarReader: the entries of a tar.gz, read strictly: POSIX ustar with regular files and folders, nothing
// else. One thread; blocks. What is accepted could be unpacked by the dullest tar without harm.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "release/archive.hpp"
#include "release/gzip_reader.hpp"

namespace release {

struct TarEntry {
  std::string path;  // relative, of plain components; without a slash at its end
  bool is_folder = false;
  bool is_executable = false;  // 0755, else 0644
  std::uint64_t size = 0;
};

class TarReader {
 public:
  static base::Result<TarReader> open(const std::string& archive, ArchiveLimits limits);

  // The next entry; what was left unread of the last is skipped. Nothing: that was the end, and all of the
  // archive was in order. Refused, besides what the header of archive.hpp says: a name that was there before,
  // an entry whose folder has not been there yet.
  base::Result<std::optional<TarEntry>> next();
  // The next bytes of the entry, empty at its end; valid until the next call.
  base::Result<std::string_view> read();

 private:
  static constexpr std::size_t kBlock = 512;
  static constexpr std::size_t kChunk = 64 * 1024;

  TarReader(GzipReader stream, ArchiveLimits limits) : stream_(std::move(stream)), limits_(limits) {}
  base::Result<void> read_exactly(std::span<char> to);
  base::Result<TarEntry> parse_header(std::string_view block);
  base::Result<void> check_place(const TarEntry& entry);
  base::Result<void> check_end();

  GzipReader stream_;
  ArchiveLimits limits_;
  std::set<std::string> folders_, files_;
  std::uint64_t left_ = 0;     // bytes of the entry that were not read yet
  std::uint64_t padding_ = 0;  // zeros behind them, up to a whole block
  std::uint64_t total_ = 0;
  std::array<char, kChunk> chunk_;
};

}  // namespace release

// What the targets that read archives share: an archive is read and unpacked, for real. The archive is in
// memory, and so is the folder that it is unpacked below, where there is such a place; what was unpacked when
// something failed stays there.
#pragma once

#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include <filesystem>
#include <map>

#include "base/text.hpp"
#include "base/unique_fd.hpp"
#include "release/archive.hpp"
#include "release/tar_reader.hpp"
#include "tests/fuzz/fuzz.hpp"
#include "tests/support/scratch_folder.hpp"

namespace fuzz {

// A file without a name, which can be opened by a path all the same.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view bytes) : fd_(::memfd_create("archive", MFD_CLOEXEC)) {
    require(::write(fd_.get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()),
            "there is memory for an archive");
  }
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_.get()); }

 private:
  base::UniqueFd fd_;
};

// In a gzip member, not compressed: that would take longer than all the rest.
inline std::string stored_gzip(std::string_view bytes) {
  constexpr std::size_t kLargestBlock = 65535;
  std::string out("\x1f\x8b\x08\0\0\0\0\0\0\x03", 10);
  const auto number = [&out](std::size_t value, int size) {
    for (int i = 0; i < size; ++i)
      out += static_cast<char>(value >> (8 * i) & 0xff);
  };
  const auto* const start = reinterpret_cast<const unsigned char*>(bytes.data());
  const std::size_t sum = ::crc32(0, start, static_cast<unsigned>(bytes.size())), size = bytes.size();
  bool is_last = false;
  while (!is_last) {
    const std::string_view block = bytes.substr(0, kLargestBlock);
    bytes.remove_prefix(block.size());
    is_last = bytes.empty();
    number(is_last ? 1 : 0, 1);
    number(block.size(), 2);
    number(~block.size(), 2);
    out += block;
  }
  number(sum, 4);
  number(size, 4);
  return out;
}

// Small, so that inputs reach them.
inline constexpr release::ArchiveLimits kArchiveLimits{.bytes = 4096, .entries = 12};

struct ArchiveRead {
  bool is_whole = false;
  std::map<std::string, release::TarEntry> entries;  // up to where it is refused
  std::map<std::string, std::string> contents;
};

inline void check_entry(const release::TarEntry& entry) {
  require(!entry.path.empty(), "an entry has a name");
  for (const std::string_view part : base::split(entry.path, '/'))
    require(!part.empty() && part != "." && part != ".." && part.find('\0') == std::string_view::npos,
            "a name stays below");
}

inline ArchiveRead read_archive(const std::string& path) {
  ArchiveRead read;
  auto tar = release::TarReader::open(path, kArchiveLimits);
  if (!tar) return read;
  std::uint64_t total = 0;
  while (true) {
    const auto entry = tar->next();
    if (!entry) require(!entry.error().message().empty(), "a refusal says why");
    if (!entry) return read;
    if (!*entry) break;
    check_entry(**entry);
    require(read.entries.emplace((*entry)->path, **entry).second, "no name is there twice");
    total += (*entry)->size;
    require(read.entries.size() <= kArchiveLimits.entries && total <= kArchiveLimits.bytes,
            "an archive keeps its limits");
    if ((*entry)->is_folder) continue;
    std::string& content = read.contents[(*entry)->path];
    while (true) {
      const auto bytes = tar->read();
      if (!bytes) return read;
      if (bytes->empty()) break;
      content += *bytes;
    }
    require(content.size() == (*entry)->size, "an entry has its size");
  }
  read.is_whole = true;
  return read;
}

inline void check_archive(std::string_view gzip) {
  namespace fs = std::filesystem;
  const MemoryFile archive(gzip);
  const ArchiveRead read = read_archive(archive.path());

  static const tests::ScratchFolder scratch(tests::folder_in_memory());
  scratch.folder("above");
  fs::remove_all(scratch / "above/out");
  const auto unpacked = release::unpack(archive.path(), scratch / "above/out", kArchiveLimits);
  require(static_cast<bool>(unpacked) == read.is_whole, "what can be read can be unpacked, and nothing else");
  require(scratch.count("") == 1 && scratch.count("above") <= 1, "nothing is written outside");
  if (!scratch.exists("above/out")) return;
  std::size_t found = 0;
  const std::string out = scratch / "above/out/";
  for (const auto& each : fs::recursive_directory_iterator(out)) {
    ++found;
    const std::string path = each.path().string().substr(out.size());
    const auto entry = read.entries.find(path);
    require(entry != read.entries.end(), "nothing is unpacked that the archive does not have");
    const fs::file_status status = each.symlink_status();
    require(status.type() == (entry->second.is_folder ? fs::file_type::directory : fs::file_type::regular),
            "a file is a file and a folder is a folder");
    if (!unpacked) continue;
    const bool is_0755 = entry->second.is_folder || entry->second.is_executable;
    require(status.permissions() == static_cast<fs::perms>(is_0755 ? 0755 : 0644),
            "a mode is as it was said");
    if (!entry->second.is_folder)
      require(scratch.read("above/out/" + path) == read.contents.at(path), "a file has its content");
  }
  if (!unpacked) return;
  require(found == read.entries.size(), "all of the archive is unpacked");
  if (read.contents.empty()) return;
  const auto& [path, content] = *read.contents.begin();
  const auto alone = release::read_archived(archive.path(), path, kArchiveLimits.bytes, kArchiveLimits);
  require(alone && *alone == content, "a file that is read alone is the same");
}

}  // namespace fuzz

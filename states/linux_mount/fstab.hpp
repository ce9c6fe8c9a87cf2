// The text of /etc/fstab, and one entry in it. Text only; nothing is read or written here.
//
// What is not that entry is kept byte for byte: comments, blank lines, columns, other entries.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace states::linux_mount {

// See fstab(5). Texts as they are meant, without escapes.
struct FstabEntry {
  std::string device;
  std::string path;
  std::string type;
  std::string options;
  std::int64_t dump = 0;
  std::int64_t pass = 0;

  bool operator==(const FstabEntry&) const = default;
};

enum class FstabState { unchanged, updated, added };

struct FstabPut {
  FstabState state = FstabState::unchanged;
  std::string before;  // updated: the line as it was
  std::string line;    // as it is to be
  std::string text;    // the whole file, as it is to be
};

// Replaces the first line whose path is the entry's, if it says anything else, or appends one.
FstabPut put_entry(std::string_view fstab, const FstabEntry& wanted);

}  // namespace states::linux_mount

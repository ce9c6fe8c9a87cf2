// Which directories are never removed: a machine without them is no machine any more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/interrupt.hpp"
#include "base/result.hpp"
#include "base/tree/tree.hpp"

namespace states::files {

// The root and the system's own folders directly below it, by name.
bool is_protected_name(std::string_view clean_path);

// What is below a directory that may be removed.
struct Removable {
  std::size_t entries = 0;
  std::uint64_t mark = 0;  // a hash of names, inodes, sizes and times; 0 when it is not wanted
};

// An error says why it may not be removed: it is one of the protected ones under another name (through a
// link, or merged into /usr), a mount point, or has one below it.
base::Result<Removable> look_at_removable(std::string_view path, base::Tree& tree, base::Interrupt& interrupt,
                                          bool wants_mark);

}  // namespace states::files

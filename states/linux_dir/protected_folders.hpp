// Which directories are never removed: a machine without them is no machine any more.
#pragma once

#include <string_view>

#include "base/interrupt.hpp"
#include "base/result.hpp"
#include "base/tree.hpp"

namespace states::linux_dir {

// The root and the system's own folders directly below it, by name.
bool is_protected_name(std::string_view clean_path);

// How many entries a directory has that may be removed. An error says why it may not: it is one of the
// protected ones under another name (through a link, or merged into /usr), a mount point, or has one below
// it.
base::Result<std::size_t> count_removable(std::string_view path, base::Tree& tree,
                                          base::Interrupt& interrupt);

}  // namespace states::linux_dir

// Unified diffs of texts, bounded in time and length.
#pragma once

#include <string>
#include <string_view>

namespace base {

// What turns `before` into `after`, with three lines of context and without file headers; empty if nothing.
// At most `most_lines` lines, and a last line that says how many were left out. Texts that differ too much to
// compare line by line in reasonable time are shown as removed and added whole. Not for binary content: see
// is_utf8().
std::string unified_diff(std::string_view before, std::string_view after, std::size_t most_lines = 200);

}  // namespace base

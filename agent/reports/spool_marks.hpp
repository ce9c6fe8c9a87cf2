// SpoolMarks: what of a spool is not there any more, even if it is still in a file. As text: the file
// "marks", see docs/formats.md. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "agent/reports/spool_segment.hpp"

namespace agent::reports {

struct SpoolDropped {  // since the spool was made
  std::uint64_t kept = 0;
  std::uint64_t others = 0;
  std::uint64_t damaged = 0;  // could not be read any more; at most so many
  std::uint64_t all() const { return kept + others + damaged; }
  bool operator==(const SpoolDropped&) const = default;
};

// What is at or below a mark is gone.
struct SpoolMarks {
  std::uint64_t acknowledged = 0;
  std::uint64_t kept_dropped_through = 0;
  std::uint64_t all_dropped_through = 0;
  SpoolDropped dropped;
  bool operator==(const SpoolMarks&) const = default;

  bool hides(const SpoolSegment::Item& item) const;
};

std::string to_text(const SpoolMarks& marks);
// Nothing: it is damaged.
std::optional<SpoolMarks> parse_marks(std::string_view text);

}  // namespace agent::reports

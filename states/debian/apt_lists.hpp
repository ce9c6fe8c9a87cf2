// How fresh apt's package lists are.
//
// States that install refresh the lists at most once per round; a state that changes where packages come from
// makes them stale again. What is known of this round is in Context::notes. Asking reads a few time stamps
// and starts nothing. A time stamp in the future counts as none: a clock that was wrong must neither make old
// lists good for years nor make fresh ones look stale for ever.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "states/context.hpp"

namespace states::debian {

using WallClock = std::chrono::system_clock;

inline constexpr std::string_view kAptSourcesFile = "/etc/apt/sources.list";
inline constexpr std::string_view kAptSourcesFolder = "/etc/apt/sources.list.d";

// In Context::notes: what this round has done about the lists.
struct AptLists {
  std::optional<WallClock::time_point> tried;  // when the last refresh began
  bool succeeded = false;                      // it went well
};

// To be called by whatever changes apt's sources.
void mark_lists_stale(Context& context);

// Refreshed in this round, and no source changed since. What installs refreshes unless this holds.
bool lists_are_fresh(Context& context);

// Whether "latest" may be judged by the lists that are there: refreshed within the last hour (by us or by
// anybody), with no source changed since, or tried in vain in this round.
bool lists_are_recent(Context& context);

// "never", "2 h ago", "at a time that is still to come (a clock was wrong)", for people.
std::string lists_age_text(Context& context);

// Where we note a refresh, for lists_are_recent(): a refresh that finds nothing new changes no file of apt's.
std::string lists_stamp_path(const Host& host);

}  // namespace states::debian

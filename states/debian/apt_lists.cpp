#include "states/debian/apt_lists.hpp"

#include <algorithm>

#include "base/files/below_root.hpp"

namespace states::debian {

namespace {

constexpr auto kRecent = std::chrono::hours(1);

// A time that is still to come says nothing: the clock was wrong when it was written, or is now.
std::optional<WallClock::time_point> changed_at(std::string_view path, Context& context,
                                                bool* is_in_future = nullptr) {
  const auto found = context.tree.look(path);
  if (!found || !*found) return std::nullopt;
  const timespec& stamp = (*found)->st_mtim;
  const WallClock::time_point time(std::chrono::duration_cast<WallClock::duration>(
      std::chrono::seconds(stamp.tv_sec) + std::chrono::nanoseconds(stamp.tv_nsec)));
  if (time <= WallClock::now()) return time;
  if (is_in_future) *is_in_future = true;
  return std::nullopt;
}

bool sources_changed_since(WallClock::time_point time, Context& context) {
  const auto changed = [&](std::string_view path) {
    return changed_at(path, context).value_or(WallClock::time_point::min()) > time;
  };
  // The folder's own time tells of files that came, went or were replaced, theirs of files edited in place.
  if (changed(kAptSourcesFile) || changed(kAptSourcesFolder)) return true;
  return std::ranges::any_of(
      base::names_below(context.host.root, kAptSourcesFolder),
      [&](const std::string& name) { return changed(std::string(kAptSourcesFolder) + "/" + name); });
}

// The last refresh of anybody's; nothing if there never was one, or at a time that cannot be.
std::optional<WallClock::time_point> last_refresh(Context& context, bool* is_in_future = nullptr) {
  const std::string ours = lists_stamp_path(context.host);
  std::optional<WallClock::time_point> last;
  for (const std::string_view path :
       {std::string_view(ours), std::string_view("/var/lib/apt/periodic/update-success-stamp"),
        std::string_view("/var/lib/apt/lists/partial")})
    last = std::max(last, changed_at(path, context, is_in_future));
  return last;
}

}  // namespace

void mark_lists_stale(Context& context) {
  context.notes.get<AptLists>() = {};
}

bool lists_are_fresh(Context& context) {
  const AptLists& lists = context.notes.get<AptLists>();
  return lists.tried && lists.succeeded && !sources_changed_since(*lists.tried, context);
}

bool lists_are_recent(Context& context) {
  const AptLists& lists = context.notes.get<AptLists>();
  if (lists.tried) return !sources_changed_since(*lists.tried, context);
  const auto last = last_refresh(context);
  return last && WallClock::now() - *last < kRecent && !sources_changed_since(*last, context);
}

std::string lists_age_text(Context& context) {
  bool is_in_future = false;
  const auto last = last_refresh(context, &is_in_future);
  if (!last) return is_in_future ? "at a time that is still to come (a clock was wrong)" : "never";
  if (sources_changed_since(*last, context)) return "before the sources changed";
  const auto minutes = std::chrono::duration_cast<std::chrono::minutes>(WallClock::now() - *last).count();
  constexpr long kHour = 60, kDay = 24 * kHour;
  if (minutes < 2 * kHour) return std::to_string(std::max(minutes, 0L)) + " min ago";
  if (minutes < 2 * kDay) return std::to_string(minutes / kHour) + " h ago";
  return std::to_string(minutes / kDay) + " days ago";
}

std::string lists_stamp_path(const Host& host) {
  return host.state_dir + "/apt-lists-refreshed";
}

}  // namespace states::debian

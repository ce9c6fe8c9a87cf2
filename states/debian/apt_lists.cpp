#include "states/debian/apt_lists.hpp"

#include <algorithm>

#include "base/below_root.hpp"

namespace states::debian {

namespace {

constexpr auto kRecent = std::chrono::hours(1);

std::optional<WallClock::time_point> changed_at(std::string_view path, Context& context) {
  const auto found = context.tree.look(path);
  if (!found || !*found) return std::nullopt;
  const timespec& time = (*found)->st_mtim;
  return WallClock::time_point(std::chrono::duration_cast<WallClock::duration>(
      std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec)));
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

// The last refresh of anybody's; nothing if there never was one.
std::optional<WallClock::time_point> last_refresh(Context& context) {
  const std::string ours = lists_stamp_path(context.host);
  std::optional<WallClock::time_point> last;
  for (const std::string_view path :
       {std::string_view(ours), std::string_view("/var/lib/apt/periodic/update-success-stamp"),
        std::string_view("/var/lib/apt/lists/partial")})
    last = std::max(last, changed_at(path, context));
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
  const auto last = last_refresh(context);
  if (!last) return "never";
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

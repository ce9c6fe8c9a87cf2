#include "agent/runtime/hold_store.hpp"

#include <unistd.h>

#include <algorithm>

#include "base/files/durable_file.hpp"
#include "base/files/file_read.hpp"

namespace agent::runtime {

using base::Error;
using base::Result;
using std::chrono::milliseconds;

void HoldStore::add(Hold hold, const HoldClock& now) {
  std::erase_if(entries_, [&](const Entry& entry) { return entry.hold.origin == hold.origin; });
  const milliseconds ends = now.since_boot + hold.left;
  entries_.push_back({std::move(hold), ends});
  std::ranges::sort(entries_, {}, [](const Entry& entry) { return entry.hold.origin; });
}

std::vector<std::string> HoldStore::load() {
  const HoldClock now = clock_();
  const auto text = base::read_file(path_, kLargestHoldRecord);
  if (!text && text.error().code() == base::ErrorCode::not_found) return {};
  auto holds = text ? from_record(*text, now) : Result<std::vector<Hold>>(text.error());
  if (holds) {
    for (Hold& hold : *holds)
      add(std::move(hold), now);
    written_ = now.since_boot - kRefresh;  // written anew at the next look: this boot counts from now on
    return {};
  }
  std::vector<std::string> problems{path_ + ": " + holds.error().message() +
                                    ": the machine is held for the default time; 'opsagent hold --end' "
                                    "ends it"};
  const std::string aside = path_ + ".damaged";
  // It stays under its own name until the new record takes its place.
  ::unlink(aside.c_str());
  if (text && ::link(path_.c_str(), aside.c_str()) == 0) problems.front() += "; the file is " + aside;
  if (auto kept = set(hold_of_damage(
          now, text ? holds.error().message() : std::string("the record of holds cannot be read")));
      !kept)
    problems.push_back(kept.error().message());
  return problems;
}

Result<void> HoldStore::write(const std::vector<Hold>& holds, const HoldClock& now) {
  auto written = holds.empty() ? base::remove_lasting_file(path_)
                               : base::write_durable_file(path_, to_record(holds, now));
  is_behind_ = !written;
  if (written) written_ = now.since_boot;
  return written;
}

Result<void> HoldStore::set(Hold hold) {
  const HoldClock now = clock_();
  add(std::move(hold), now);
  auto written = write(holds(), now);
  if (written) return written;
  return Error(written.error().code(),
               "the machine is held, but not across a restart of the agent: " + written.error().message());
}

Result<bool> HoldStore::release(HoldOrigin origin) {
  std::vector<Hold> left = holds();
  if (std::erase_if(left, [&](const Hold& hold) { return hold.origin == origin; }) == 0) return false;
  if (auto written = write(left, clock_()); !written)
    return Error(written.error().code(),
                 "the machine is still held, as its record cannot be changed: " + written.error().message());
  std::erase_if(entries_, [&](const Entry& entry) { return entry.hold.origin == origin; });
  return true;
}

std::vector<Hold> HoldStore::pass_time(std::vector<std::string>& problems) {
  const HoldClock now = clock_();
  std::vector<Hold> ended;
  std::erase_if(entries_, [&](Entry& entry) {
    if (entry.ends > now.since_boot) return false;
    ended.push_back(std::move(entry.hold));
    return true;
  });
  const bool is_due = !entries_.empty() && now.since_boot - written_ >= kRefresh;
  if (ended.empty() && !is_due && !is_behind_) return ended;
  const bool was_behind = is_behind_;
  if (auto written = write(holds(), now); !written && !was_behind)
    problems.push_back("the record of holds cannot be written: " + written.error().message());
  return ended;
}

std::vector<Hold> HoldStore::holds() const {
  const milliseconds now = clock_().since_boot;
  std::vector<Hold> holds;
  for (const Entry& entry : entries_) {
    holds.push_back(entry.hold);
    holds.back().left = std::max(entry.ends - now, milliseconds(0));
  }
  return holds;
}

}  // namespace agent::runtime

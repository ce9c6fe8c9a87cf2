#include "agent/reports/spool_sink.hpp"

namespace agent::reports {

base::Result<void> SpoolSink::append(std::span<const engine::Event> events) {
  std::vector<Spool::Entry> entries;
  for (const engine::Event& event : events)
    if (auto entry = encode_(event)) {
      const engine::StateResult* worked = engine::as_worked(event);
      if (worked) entry->key = engine::report_key(engine::journalled_in(*worked), worked->index);
      entries.push_back(std::move(*entry));
    }
  if (entries.empty()) return {};
  return spool_->append(entries);
}

}  // namespace agent::reports

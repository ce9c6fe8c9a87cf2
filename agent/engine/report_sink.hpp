// ReportSink: where the worker's events are kept that must reach the backend. The engine knows no more of it
// than this; agent/reports/spool_sink implements it.
#pragma once

#include <span>
#include <string>

#include "agent/engine/messages.hpp"
#include "base/result.hpp"

namespace agent::engine {

class ReportSink {
 public:
  virtual ~ReportSink() = default;

  // Keeps the reports that these events are; some events are none. On return all of them are on disk, or, on
  // an Error, none is, and the same events may be tried again; with ErrorCode::limit that is in vain. A
  // report whose report_key() is known already was kept before and is left out. Called by the committer's
  // thread, in the order of events.
  virtual base::Result<void> append(std::span<const Event> events) = 0;

  // Whether a report with this key is kept, or was until recently. Any thread.
  virtual bool knows(const std::string& key) const = 0;
};

}  // namespace agent::engine

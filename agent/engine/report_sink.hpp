// ReportSink: where the worker's events go that must reach the backend, and how they are written.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "agent/engine/messages.hpp"
#include "agent/reports/spool.hpp"

namespace agent::engine {

struct ReportSink {
  // Null: nobody keeps reports; who reads the events is told, and that is all.
  std::shared_ptr<reports::Spool> spool;
  // The report that this event is, if it is one. Called by the committer's thread, in the order of events.
  // The key is set by the caller.
  std::function<std::optional<reports::Spool::Entry>(const Event&)> encode;

  explicit operator bool() const { return spool && encode; }
};

}  // namespace agent::engine

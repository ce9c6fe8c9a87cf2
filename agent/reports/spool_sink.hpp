// SpoolSink: the worker's reports go to the spool. Encodes events and appends them, a batch at a time.
//
// Called by the committer's thread; knows() by any. Fails when the spool takes nothing: a full disk, or a
// report that is too large for it (ErrorCode::limit).
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "agent/engine/report_sink.hpp"
#include "agent/reports/spool.hpp"

namespace agent::reports {

class SpoolSink final : public engine::ReportSink {
 public:
  // The report that an event is, if it is one; without its key. Called by the committer's thread.
  using Encode = std::function<std::optional<Spool::Entry>(const engine::Event&)>;

  SpoolSink(std::shared_ptr<Spool> spool, Encode encode)
      : spool_(std::move(spool)), encode_(std::move(encode)) {}

  base::Result<void> append(std::span<const engine::Event> events) override;
  bool knows(const std::string& key) const override { return spool_->knows(key); }

 private:
  const std::shared_ptr<Spool> spool_;
  const Encode encode_;
};

}  // namespace agent::reports

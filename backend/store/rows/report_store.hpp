// ReportStore: the rows of what agents have reported, and what waits need to know of it. See store.hpp for
// threads and errors.
#pragma once

#include <functional>
#include <optional>
#include <span>

#include "backend/domain/model.hpp"
#include "backend/domain/reports/report_rules.hpp"
#include "base/result.hpp"

namespace backend::store {

class ReportStore {
 public:
  virtual ~ReportStore() = default;

  // Each (agent, seq) once; a report without seq (version 1) gets the next one. Durable after the commit.
  // The hottest path of the backend, and therefore one call for all that a batch changes: rows of reports,
  // the instance's row, standings, rollout targets. domain/report_rules.hpp says what a batch means, which
  // states have a standing, and what makes room when the instance has its quota.
  virtual base::Result<domain::ReportsStored> store_reports(const domain::AgentSession& session,
                                                            std::span<const domain::Report> reports,
                                                            domain::Millis now,
                                                            const domain::ReportTerms& terms = {}) = 0;
  // What is stored of one instance; of all for 0.
  virtual base::Result<domain::ReportUse> report_use(domain::InstanceKey instance) = 0;
  // Newest first.
  virtual base::Result<domain::Page<domain::ResultRow>> list_results(const domain::ReportFilter& filter,
                                                                     const domain::PageRequest& page) = 0;
  virtual base::Result<domain::Page<domain::RoundRow>> list_rounds(const domain::ReportFilter& filter,
                                                                   const domain::PageRequest& page) = 0;
  virtual base::Result<domain::Page<domain::StatusRow>> list_statuses(const domain::ReportFilter& filter,
                                                                      const domain::PageRequest& page) = 0;
  // The state that it fails at now, the one that was reported last; nothing: none does.
  virtual base::Result<std::optional<domain::FailedState>> find_failed_state(
      domain::InstanceKey instance) = 0;
  // Removes what is too old or too much, a batch of each kind.
  virtual base::Result<domain::Purged> remove_reports(const domain::Retention& retention) = 0;

  // ---- waits: what WaitIndex is filled from
  virtual base::Result<domain::InstanceProgress> instance_progress(domain::InstanceKey instance) = 0;
  virtual base::Result<void> each_instance_progress(
      const std::function<void(const domain::InstanceProgress&)>& take) = 0;
};

}  // namespace backend::store

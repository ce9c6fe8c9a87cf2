// ReportIntake: reports on their way from the sockets to the disk.
//
// One batch is being stored while the next gathers, of all agents together: the more there is to do, the more
// one commit does. An agent is told that its reports are stored when they are. Belongs to the loop's thread.
#pragma once

#include <memory>
#include <vector>

#include "backend/fleet/fleet.hpp"

namespace backend::fleet {

class ReportIntake {
 public:
  explicit ReportIntake(Fleet& fleet);

  // A report of that connection has come; `is_first`: the connection had none waiting.
  void arrived(const std::shared_ptr<AgentConnection>& from, std::size_t bytes, bool is_first);

  // Whether the connection, or all of them together, should stop reading for now.
  bool is_behind(const AgentConnection& connection) const;
  transport::Task<> room_for(const AgentConnection& connection);

  std::size_t waiting_bytes() const { return waiting_bytes_; }

  // Returns when everything that has arrived is stored.
  transport::Task<> idle();

 private:
  struct Portion {
    std::shared_ptr<AgentConnection> from;
    domain::AgentSession session;
    std::vector<domain::Report> reports;
    std::size_t bytes = 0;
    domain::ReportTerms terms = {};
  };
  using Batch = std::vector<Portion>;

  Batch take();
  transport::Task<> store_batches();
  domain::ReportTerms terms_of(domain::InstanceKey instance) const;
  void settle(Portion& portion, const base::Result<domain::ReportsStored>& stored,
              const std::string& history);

  Fleet& fleet_;
  std::vector<std::shared_ptr<AgentConnection>> dirty_;  // those with reports, in the order of the first
  std::size_t waiting_bytes_ = 0;
  bool storing_ = false;
  transport::Wake stored_;
};

}  // namespace backend::fleet

// Inquiries: questions to agents that wait for their answers.
//
// A question is known by the `mid` that it was sent with, a run also by its run_id. An answer counts only
// when it comes from the instance that was asked. Belongs to the loop's thread.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "backend/domain/model.hpp"
#include "base/result.hpp"
#include "transport/async.hpp"

namespace backend::fleet {

using Answer = protocol::AgentBody;  // PlanResult, QueryResult, Ack; for a run its StateLog

class Inquiries {
 public:
  explicit Inquiries(transport::asio::any_io_executor executor);

  // One question. Ends, unanswered, when it is destroyed.
  class Inquiry {
   public:
    Inquiry(Inquiries& all, domain::InstanceKey instance, std::string run_id);
    ~Inquiry();
    Inquiry(const Inquiry&) = delete;
    Inquiry& operator=(const Inquiry&) = delete;

    const std::string& mid() const { return mid_; }
    transport::Task<base::Result<Answer>> wait(std::chrono::milliseconds time);

   private:
    friend class Inquiries;
    void settle(base::Result<Answer> answer);

    Inquiries& all_;
    const domain::InstanceKey instance_;
    const std::string mid_;
    const std::string run_id_;  // empty: not a run
    std::optional<base::Result<Answer>> answer_;
    transport::Wake settled_;
  };

  // `run_id`: the answer is the result of that run; an Ack of the question only says that it has begun.
  std::shared_ptr<Inquiry> begin(domain::InstanceKey instance, std::string run_id = {});

  // False when nobody waits for it.
  bool answered(domain::InstanceKey instance, const std::string& mid, const Answer& answer);
  void refused(domain::InstanceKey instance, const std::string& mid, const std::string& error,
               bool retryable);
  void run_ended(domain::InstanceKey instance, const protocol::StateLog& result);
  // The connection is gone: its questions are over.
  void disconnected(domain::InstanceKey instance);

  std::size_t open() const { return by_mid_.size(); }

 private:
  Inquiry* find(domain::InstanceKey instance, const std::string& mid);

  const transport::asio::any_io_executor executor_;
  const std::string prefix_;  // no mid of an earlier process is like one of ours
  std::uint64_t next_ = 1;
  std::unordered_map<std::string, Inquiry*> by_mid_;
};

}  // namespace backend::fleet

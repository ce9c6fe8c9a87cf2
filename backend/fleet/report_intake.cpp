#include "backend/fleet/report_intake.hpp"

#include "backend/domain/access/instants.hpp"
#include "backend/fleet/agent_connection.hpp"
#include "backend/store/history/history.hpp"

namespace backend::fleet {

namespace {

// What one agent, and all together, may have waiting before they are not read any more.
constexpr std::size_t kMostOfOne = 512 * 1024;
constexpr std::size_t kMostOfAll = 64 * 1024 * 1024;
// One transaction takes no more, so that others wait for milliseconds only.
constexpr std::size_t kLargestBatch = 8192;

struct Outcomes {
  std::vector<base::Result<domain::ReportsStored>> portions;
  std::string history;  // what agents are told of it from now on
};

}  // namespace

ReportIntake::ReportIntake(Fleet& fleet) : fleet_(fleet), stored_(fleet.loop_.get_executor()) {}

void ReportIntake::arrived(const std::shared_ptr<AgentConnection>& from, std::size_t bytes, bool is_first) {
  waiting_bytes_ += bytes;
  if (is_first) dirty_.push_back(from);
  if (storing_) return;
  storing_ = true;
  transport::spawn(fleet_.loop_.get_executor(), store_batches());
}

bool ReportIntake::is_behind(const AgentConnection& connection) const {
  return connection.waiting_bytes() > kMostOfOne ||
         (waiting_bytes_ > kMostOfAll && connection.waiting_bytes() > 0);
}

transport::Task<> ReportIntake::room_for(const AgentConnection& connection) {
  while (is_behind(connection))
    co_await stored_.wait();
}

transport::Task<> ReportIntake::idle() {
  while (storing_)
    co_await stored_.wait();
}

ReportIntake::Batch ReportIntake::take() {
  Batch batch;
  std::size_t reports = 0, taken = 0;
  while (taken < dirty_.size() && reports < kLargestBatch) {
    const auto& from = dirty_[taken++];
    Portion portion{from, from->session(), {}, from->reports_bytes(), terms_of(from->session().instance)};
    portion.reports = from->take_reports();
    reports += portion.reports.size();
    batch.push_back(std::move(portion));
  }
  dirty_.erase(dirty_.begin(), dirty_.begin() + static_cast<std::ptrdiff_t>(taken));
  fleet_.metrics_.report_batch.observe(static_cast<double>(reports));
  return batch;
}

domain::ReportTerms ReportIntake::terms_of(domain::InstanceKey instance) const {
  static const auto kNoStates = std::make_shared<const domain::StateList>();
  domain::WaitIndex::Given given = fleet_.waits_.given(instance);
  return {.states = given.states ? std::move(given.states) : kNoStates,
          .recipe_version = given.recipe_version,
          .quota = fleet_.settings_.quota};
}

transport::Task<> ReportIntake::store_batches() {
  while (!dirty_.empty()) {
    // Shared with the writer thread, which only reads it.
    const auto batch = std::make_shared<Batch>(take());
    auto storing = fleet_.store_.write([batch](store::Store& store) -> base::Result<Outcomes> {
      Outcomes outcomes;
      for (const Portion& portion : *batch) {
        domain::ReportsStored stored;
        auto done = store.transact([&]() -> base::Result<void> {
          auto result =
              store.store_reports(portion.session, portion.reports, domain::now_millis(), portion.terms);
          if (!result) return std::move(result).error();
          stored = *result;
          return {};
        });
        if (done)
          outcomes.portions.emplace_back(stored);
        else
          outcomes.portions.emplace_back(std::move(done).error());
      }
      auto history = store::history_mark(store);
      if (!history) return std::move(history).error();
      outcomes.history = std::move(*history);
      return outcomes;
    });
    const auto outcomes = co_await std::move(storing);
    for (std::size_t i = 0; i < batch->size(); ++i)
      settle((*batch)[i],
             outcomes ? outcomes->portions[i] : base::Result<domain::ReportsStored>(outcomes.error()),
             outcomes ? outcomes->history : "");
    stored_.notify();
  }
  storing_ = false;
  stored_.notify();
}

void ReportIntake::settle(Portion& portion, const base::Result<domain::ReportsStored>& stored,
                          const std::string& history) {
  waiting_bytes_ -= std::min(portion.bytes, waiting_bytes_);
  portion.from->let_go(portion.bytes);
  if (!stored) {
    fleet_.metrics_.store_errors.add();
    fleet_.condition_.failed("reports of " + portion.from->instance_id() + " were not stored",
                             stored.error());
    portion.from->not_stored();
    // What came behind must not be stored without it, or it would count as acknowledged. The agent sends all
    // of it again.
    const std::size_t behind = portion.from->reports_bytes();
    const std::size_t refused = portion.reports.size() + portion.from->take_reports().size();
    fleet_.metrics_.reports_refused.add(refused);
    fleet_.condition_.refused(refused);
    portion.from->let_go(behind);
    waiting_bytes_ -= std::min(behind, waiting_bytes_);
    return;
  }
  if (stored->is_superseded) return;
  fleet_.metrics_.reports_stored.add(stored->stored);
  fleet_.metrics_.reports_repeated.add(stored->duplicates);
  portion.from->stored(stored->ack_seq, history);
  fleet_.reported(*portion.from, portion.reports);
}

}  // namespace backend::fleet

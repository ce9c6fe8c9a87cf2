#include "agent/connection/manager.hpp"

#include "agent/facts/merge_patch.hpp"

namespace agent::connection {

namespace at = protocol::at_agent;

Manager::Manager(ManagerParts parts, std::shared_ptr<transport::WebSocket> socket, int protocol_min,
                 bool spoke_version_1)
    : parts_(std::move(parts)),
      socket_(std::move(socket)),
      session_(parts_.hello(), protocol_min, parts_.spool.offered_seq(), spoke_version_1),
      outbox_(socket_, [this](std::uint64_t seq) { feed(at::ReportsWritten{seq}); }),
      timers_{transport::asio::steady_timer(socket_->executor()),
              transport::asio::steady_timer(socket_->executor())} {}

transport::Task<Manager::Ended> Manager::run() {
  const std::shared_ptr<Manager> self = shared_from_this();
  // It keeps the connection's end from being freed under the writer.
  transport::spawn(socket_->executor(), [](std::shared_ptr<Manager> manager) -> transport::Task<> {
    co_await manager->outbox_.run();
  }(self));
  feed(at::Opened{});
  feed(parts_.recipe.in_force());
  while (true) {
    base::Result<std::string> text = co_await socket_->read();
    if (!text) {
      if (ended_.why.empty()) ended_.why = text.error().message();
      break;
    }
    auto message = protocol::parse_backend_message(*text);
    if (!message) {
      // Whatever a peer sends is the end of its connection at most, never of the worker.
      feed(at::NotUnderstood{.code = protocol::code_in(*text),
                             .problem = message.error().message(),
                             .close_code = protocol::close_code(message.error())});
      continue;  // until the peer has closed, too, or the deadline has passed
    }
    feed(at::Received{std::move(*message), std::chrono::steady_clock::now()});
  }
  for (auto& timer : timers_)
    timer.cancel();
  outbox_.stop();
  co_return std::move(ended_);
}

// Actions may cause events; they are taken in the order in which they happen.
void Manager::feed(SessionEvent event) {
  events_.push_back(std::move(event));
  if (stepping_) return;
  stepping_ = true;
  while (!events_.empty()) {
    SessionEvent next = std::move(events_.front());
    events_.pop_front();
    std::vector<at::Action> actions = session_.step(std::move(next));
    for (at::Action& action : actions)
      std::visit([this](auto& each) { perform(each); }, action);
  }
  stepping_ = false;
  if (!is_accepted_ && session_.version() > 0) {
    is_accepted_ = true;
    parts_.accepted();
  }
}

void Manager::on_worker_event(const engine::Event& event) {
  if (const auto* output = std::get_if<engine::StateOutput>(&event)) {
    if (watchers_ == 0) return;
    feed(at::Output{{.run_id = output->run_id,
                     .id = output->id,
                     .stream = output->stream == base::Stream::out ? "stdout" : "stderr",
                     .offset = output->offset,
                     .data = output->data}});
  } else if (const auto* plan = std::get_if<engine::PlanResult>(&event)) {
    feed(at::PlanReady{plan->request, reports::to_protocol(*plan)});
  }
}

void Manager::reports_available() {
  feed(at::ReportsAvailable{parts_.spool.last_seq()});
}

void Manager::holds_changed() {
  feed(at::HoldsChanged{parts_.holds.to_tell()});
}

void Manager::facts_changed(const facts::Facts& before, const facts::Facts& now) {
  at::FactsChanged changed{.hash = now.hash, .full = protocol::Json{now.json}};
  if (auto patch = facts::merge_patch(before.json, now.json))
    changed.patch = protocol::Json{std::move(*patch)};
  feed(std::move(changed));
}

void Manager::ask_for_certificate(protocol::CertRequest request) {
  feed(at::CertificateWanted{std::move(request)});
}

void Manager::close(std::string reason) {
  if (ended_.why.empty()) ended_.why = reason;
  feed(at::Closing{std::move(reason)});
}

}  // namespace agent::connection

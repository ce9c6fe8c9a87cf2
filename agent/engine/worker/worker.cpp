#include "agent/engine/worker/worker.hpp"

#include <cerrno>
#include <system_error>

#include "agent/engine/worker/worker_loop.hpp"
#include "base/files/private_folder.hpp"

namespace agent::engine {

namespace {

// Its files are nobody else's business, but commands that run as another user must be able to enter the
// working folder in it.
constexpr mode_t kStateFolderMode = 0711;

// A worker without a folder of its own does not touch the machine: it says why and ends. Nor does one that
// cannot keep a journal or have the lock: it says so in place of each round.
void work(const WorkerSettings& settings, base::Redactor& redactor, base::Channel<Command>& commands,
          base::Channel<Event>& events, std::atomic<bool>& must_finish) {
  const auto give_up = [&](const base::Error& error) {
    events.push(Notice{Notice::Level::warning, error.message()});
  };
  if (auto made = base::make_private_folder(settings.state_dir, kStateFolderMode); !made)
    return give_up(made.error());
  WorkerLoop(settings, redactor, commands, events, must_finish).run();
}

}  // namespace

Worker::Worker(WorkerSettings settings, std::shared_ptr<base::Redactor> redactor)
    : thread_([this, settings = std::move(settings), redactor = std::move(redactor)] {
        work(settings, *redactor, commands_, events_, must_finish_);
        commands_.close();  // nobody reads them any more: a sender must not wait for that
        events_.push(Stopped{});
        events_.close();
      }) {}

base::Result<std::unique_ptr<Worker>> Worker::start(WorkerSettings settings,
                                                    std::shared_ptr<base::Redactor> redactor) {
  constexpr const char* kContext = "cannot start";
  try {
    auto worker = std::make_unique<Worker>(std::move(settings), std::move(redactor));
    if (worker->commands_.can_be_polled() && worker->events_.can_be_polled()) return worker;
    return base::os_error(EMFILE, kContext);
  } catch (const std::system_error& error) {
    return base::os_error(error.code().value(), kContext);
  }
}

Worker::~Worker() {
  // First the events: a worker that waits for room there takes in no commands.
  events_.close();
  commands_.push(Stop{Stop::When::now});
  commands_.close();
  thread_.join();
}

}  // namespace agent::engine

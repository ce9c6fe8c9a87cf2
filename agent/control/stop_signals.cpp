#include "agent/control/stop_signals.hpp"

#include <sys/signalfd.h>
#include <unistd.h>

#include <csignal>

namespace agent::control {

SignalFd::SignalFd(std::initializer_list<int> signals) {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : signals)
    sigaddset(&set, signal);
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  fd_.reset(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

std::optional<int> SignalFd::take() {
  signalfd_siginfo info{};
  if (::read(fd_.get(), &info, sizeof info) != sizeof info) return std::nullopt;
  return static_cast<int>(info.ssi_signo);
}

std::optional<engine::Stop> StopRequests::signalled(Clock::time_point now) {
  if (seen_ >= 2) return std::nullopt;
  if (++seen_ == 1) {
    deadline_ = now + kStopGrace;
    return engine::Stop{engine::Stop::When::wait};
  }
  deadline_.reset();
  return engine::Stop{engine::Stop::When::now};
}

std::optional<engine::Stop> StopRequests::expired(Clock::time_point now) {
  if (!deadline_ || now < *deadline_) return std::nullopt;
  seen_ = 2;
  deadline_.reset();
  return engine::Stop{engine::Stop::When::now};
}

}  // namespace agent::control

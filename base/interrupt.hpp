// Interrupt: how long work learns that it should stop.
//
// The worker hands one to everything that may take long. Native loops ask requested() now and then; what
// sleeps in poll() adds wait_fd() to its set and asks again when it becomes readable. One thread only: the
// worker's.
#pragma once

namespace base {

class Interrupt {
 public:
  virtual ~Interrupt() = default;

  // True from the moment somebody asked this work to stop.
  virtual bool requested() = 0;

  // Readable when requested() may have changed; -1 if it never changes.
  virtual int wait_fd() const = 0;

  // Between defer(true) and defer(false) something runs that must not be ended half-way: what is asked for
  // meanwhile counts afterwards. Whoever cannot be asked to wait need not listen.
  virtual void defer(bool) {}
};

// For callers that cannot be interrupted.
class NoInterrupt final : public Interrupt {
 public:
  bool requested() override { return false; }
  int wait_fd() const override { return -1; }
};

}  // namespace base

#include "agent/engine/records/run_lock.hpp"

#include <unistd.h>

#include <vector>

#include <doctest/doctest.h>

#include "tests/support/scratch_folder.hpp"

namespace agent::engine {

namespace {

// Gives up when it has heard all that there is to hear.
class UntilLong final : public base::Interrupt {
 public:
  bool requested() override { return is_long; }
  int wait_fd() const override { return -1; }
  bool is_long = false;
};

}  // namespace

TEST_CASE("whoever waits for the lock hears of whom, and once more when that takes long") {
  const tests::ScratchFolder at;
  RunLock holder(at / "lock");
  REQUIRE(holder.try_acquire());
  RunLock other(at / "lock");
  CHECK_FALSE(other.try_acquire());
  UntilLong interrupt;
  std::vector<bool> heard;
  const auto acquired = other.acquire(
      interrupt,
      [&](std::optional<pid_t> pid, bool is_long) {
        CHECK(pid == ::getpid());
        heard.push_back(is_long);
        interrupt.is_long = is_long;
      },
      std::chrono::milliseconds(400));
  REQUIRE_FALSE(acquired);
  CHECK(acquired.error().code() == base::ErrorCode::cancelled);
  CHECK(heard == std::vector<bool>{false, true});
  holder.release();
  CHECK(other.try_acquire());
}

}  // namespace agent::engine

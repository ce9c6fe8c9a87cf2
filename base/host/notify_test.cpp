#include "base/host/notify.hpp"

#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cstring>

#include <doctest/doctest.h>

#include "base/unique_fd.hpp"
#include "tests/support/scratch_folder.hpp"

using namespace std::chrono_literals;
using base::Notify;

namespace {

// The service manager's end.
class Listener {
 public:
  explicit Listener(const std::string& path) : fd_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    REQUIRE(path.size() < sizeof address.sun_path);
    std::memcpy(address.sun_path, path.data(), path.size());
    REQUIRE(::bind(fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  }
  std::string heard() const {
    std::array<char, 4096> buffer;
    const ssize_t got = ::recv(fd_.get(), buffer.data(), buffer.size(), 0);
    return got < 0 ? std::string() : std::string(buffer.data(), static_cast<std::size_t>(got));
  }

 private:
  base::UniqueFd fd_;
};

}  // namespace

TEST_CASE("the service manager is told, and without one nothing happens") {
  const tests::ScratchFolder scratch;
  const Listener listener(scratch / "notify");
  const Notify notify(scratch / "notify", 10s);
  notify.extend_timeout(60s);
  CHECK(listener.heard() == "EXTEND_TIMEOUT_USEC=60000000");
  notify.ready();
  CHECK(listener.heard() == "READY=1");
  notify.status("connected");
  CHECK(listener.heard() == "STATUS=connected");
  CHECK(notify.watchdog_period() == 5s);
  Notify("").ready();
  CHECK(!Notify("").watchdog_period());
  CHECK(listener.heard().empty());
}

TEST_CASE("what a peer says in a status is no instruction to the service manager") {
  const tests::ScratchFolder scratch;
  const Listener listener(scratch / "notify");
  const Notify notify(scratch / "notify");
  notify.status("closed by the peer: bye\nMAINPID=1\r\nWATCHDOG=trigger");
  CHECK(listener.heard() == "STATUS=closed by the peer: bye MAINPID=1  WATCHDOG=trigger");
  notify.status(std::string(10'000, 'x'));
  CHECK(listener.heard().size() <= 1024);
}

// Inside transport/: TicketKeys, what a server encrypts session tickets with.
//
// A ticket holds what it takes to resume a session, so whoever gets a key can resume all sessions of its
// time. Hence a key makes tickets for one period, opens them for one more, and is wiped then. All members may
// be called on any thread; the time is the caller's, from a clock that does not go back.
#pragma once

#include <array>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>

#include <openssl/ssl.h>

namespace transport {

class TicketKeys {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  struct Key {
    std::array<unsigned char, 16> name{};  // in the ticket, in clear
    std::array<unsigned char, 32> cipher{};
    std::array<unsigned char, 32> mac{};

    Key() = default;
    Key(const Key&) = default;
    Key& operator=(const Key&) = default;
    ~Key();  // wipes it
  };

  explicit TicketKeys(std::chrono::milliseconds period) : period_(period) {}
  TicketKeys(const TicketKeys&) = delete;
  TicketKeys& operator=(const TicketKeys&) = delete;

  // For new tickets. Nothing: the system has no random numbers.
  std::optional<Key> current(TimePoint now);
  // That of a ticket, by its name; `is_old`: the ticket should be replaced. Nothing: there is none any more.
  struct Found {
    Key key;
    bool is_old = false;
  };
  std::optional<Found> find(const unsigned char* name, TimePoint now);

  // Contexts hold the keys as long as they live.
  static bool use(SSL_CTX* context, std::shared_ptr<TicketKeys> keys);

 private:
  struct Made {
    Key key;
    TimePoint at;
  };
  void drop_old(TimePoint now);

  const std::chrono::milliseconds period_;
  std::mutex mutex_;
  std::optional<Made> current_;  // guarded by `mutex_`, as is the next
  std::optional<Made> previous_;
};

}  // namespace transport

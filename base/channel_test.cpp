#include "base/channel.hpp"

#include <poll.h>

#include <atomic>
#include <thread>

#include <doctest/doctest.h>

namespace {

using base::Channel;
using namespace std::chrono_literals;

bool is_readable(const Channel<int>& channel) {
  pollfd event{channel.readable_fd(), POLLIN, 0};
  return ::poll(&event, 1, 0) == 1;
}

}  // namespace

TEST_CASE("all readers that wait are woken when several values come at once") {
  Channel<int> channel(8);
  std::atomic<int> got = 0;
  const auto read = [&] {
    if (channel.pop_until(Channel<int>::Clock::now() + 5s)) ++got;
  };
  const auto start = Channel<int>::Clock::now();
  std::thread first(read);
  std::thread second(read);
  std::this_thread::sleep_for(50ms);  // until both wait
  channel.push_all({1, 2});
  first.join();
  second.join();
  CHECK(got == 2);
  CHECK(Channel<int>::Clock::now() - start < 4s);
}

TEST_CASE("a writer waits for room, and is let go when the channel is closed") {
  Channel<int> channel(2);
  std::atomic<bool> went_in = true;
  std::thread writer([&] { went_in = channel.push_all({1, 2, 3}); });
  while (!is_readable(channel))
    std::this_thread::sleep_for(1ms);
  channel.close();
  writer.join();
  CHECK_FALSE(went_in);
  CHECK(channel.pop() == 1);
  CHECK(channel.pop() == 2);
  CHECK_FALSE(channel.pop());
}

TEST_CASE("the descriptor is readable exactly while there is something to read") {
  Channel<int> channel(4);
  CHECK_FALSE(is_readable(channel));
  channel.push_all({1, 2});
  CHECK(is_readable(channel));
  CHECK(channel.try_pop() == 1);
  CHECK(is_readable(channel));
  CHECK(channel.try_pop() == 2);
  CHECK_FALSE(is_readable(channel));
  channel.close();
  CHECK(is_readable(channel));
}

TEST_CASE("a channel whose values have a weight is full when they weigh enough") {
  Channel<int> channel(
      100, [](const int& value) { return static_cast<std::size_t>(value); }, 10);
  channel.push(9);
  channel.push(50);  // what is too heavy goes alone, not never
  std::atomic<bool> pushed = false;
  std::thread writer([&] {
    channel.push_all({1, 2});
    pushed = true;
  });
  std::this_thread::sleep_for(20ms);
  CHECK_FALSE(pushed);
  CHECK(channel.pop() == 9);
  std::this_thread::sleep_for(20ms);
  CHECK_FALSE(pushed);
  CHECK(channel.pop() == 50);
  writer.join();
  CHECK(channel.pop_all() == std::vector{1, 2});
  channel.push(10);
  CHECK(channel.pop() == 10);
}

// The reference for fan-out: the same bytes to the same number of subscribers, through a nats-server.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/fleet/poller.hpp"

namespace fleet {

class NatsFanOut {
 public:
  NatsFanOut(Poller& poller, std::string host, std::uint16_t port);
  ~NatsFanOut();

  // `subscribed` is called once all of them are.
  void subscribe(std::size_t subscribers, std::function<void()> subscribed);
  // One message of `bytes` to all; `arrived` gets the sorted times of arrival, less the time of sending.
  void publish(std::size_t bytes, std::function<void(std::vector<std::int64_t>)> arrived);

 private:
  class Subscriber;
  void ready_one();
  void arrived_one();

  Poller& poller_;
  const std::string host_;
  const std::uint16_t port_;
  std::vector<std::unique_ptr<Subscriber>> subscribers_;
  std::size_t wanted_ = 0;
  std::size_t ready_ = 0;
  std::size_t message_bytes_ = 0;
  std::int64_t sent_ns_ = 0;
  std::vector<std::int64_t> times_;
  std::function<void()> subscribed_;
  std::function<void(std::vector<std::int64_t>)> arrived_;
};

}  // namespace fleet

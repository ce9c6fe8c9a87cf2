#include "transport/back_off.hpp"

#include <algorithm>
#include <memory>
#include <random>
#include <utility>

namespace transport {
namespace {

std::function<double()> system_random() {
  auto generator = std::make_shared<std::minstd_rand>(std::random_device{}());
  return [generator] { return std::uniform_real_distribution<double>(0, 1)(*generator); };
}

}  // namespace

BackOff::BackOff(std::size_t servers, std::function<double()> random)
    : servers_(std::max<std::size_t>(servers, 1)), random_(std::move(random)) {}

BackOff::BackOff(std::size_t servers) : BackOff(servers, system_random()) {}

BackOff::Milliseconds BackOff::after_failure(std::optional<Milliseconds> retry_after) {
  const Milliseconds time = wait(retry_after);
  server_ = (server_ + 1) % servers_;
  ++failures_;
  return time;
}

BackOff::Milliseconds BackOff::after_connection(Milliseconds lasted,
                                                std::optional<Milliseconds> retry_after) {
  if (lasted < kStable) return after_failure(retry_after);
  failures_ = 0;
  return wait(retry_after);
}

BackOff::Milliseconds BackOff::wait(std::optional<Milliseconds> retry_after) {
  if (retry_after) return std::clamp(*retry_after, Milliseconds(0), kLongestWish);
  Milliseconds ceiling = kFirst;
  for (std::size_t round = failures_ / servers_; round > 0 && ceiling < kLongest; --round)
    ceiling *= 2;
  ceiling = std::min(ceiling, kLongest);
  return Milliseconds(static_cast<Milliseconds::rep>(random_() * static_cast<double>(ceiling.count())));
}

}  // namespace transport

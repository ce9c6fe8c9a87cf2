#include "backend/domain/limits/rate_limit.hpp"

#include <algorithm>
#include <cmath>

namespace backend::domain {

namespace {

const std::string kShared = "(others)";

}  // namespace

double RateLimit::left(const Bucket& bucket, Millis now) const {
  const double passed = static_cast<double>(std::max<Millis>(now - bucket.at, 0)) / 1000;
  return std::min(limits_.at_once, bucket.left + passed * limits_.per_second);
}

RateLimit::Bucket& RateLimit::bucket(const std::string& key, Millis now) {
  const auto found = buckets_.find(key);
  if (found != buckets_.end()) return found->second;
  if (buckets_.size() >= limits_.keys) {
    // A full bucket is as good as none.
    std::erase_if(buckets_, [&](const auto& each) {
      return each.second.missed == 0 && left(each.second, now) >= limits_.at_once;
    });
  }
  const std::string& used = buckets_.size() >= limits_.keys ? kShared : key;
  return buckets_.try_emplace(used, Bucket{.left = limits_.at_once, .at = now}).first->second;
}

bool RateLimit::take(const std::string& key, Millis now) {
  Bucket& its = bucket(key, now);
  its.left = left(its, now);
  its.at = std::max(its.at, now);
  if (its.left < 1) {
    ++its.missed;
    return false;
  }
  its.left -= 1;
  return true;
}

Millis RateLimit::wait(const std::string& key, Millis now) const {
  auto found = buckets_.find(key);
  if (found == buckets_.end() && buckets_.size() >= limits_.keys) found = buckets_.find(kShared);
  if (found == buckets_.end()) return 0;
  const double lacking = 1 - left(found->second, now);
  return lacking <= 0 ? 0 : static_cast<Millis>(std::ceil(lacking / limits_.per_second * 1000));
}

std::uint64_t RateLimit::take_missed(const std::string& key) {
  auto found = buckets_.find(key);
  if (found == buckets_.end()) found = buckets_.find(kShared);
  return found == buckets_.end() ? 0 : std::exchange(found->second.missed, 0);
}

std::vector<std::pair<std::string, std::uint64_t>> RateLimit::take_all_missed() {
  std::vector<std::pair<std::string, std::uint64_t>> all;
  for (auto& [key, bucket] : buckets_)
    if (bucket.missed > 0) all.emplace_back(key, std::exchange(bucket.missed, 0));
  return all;
}

}  // namespace backend::domain

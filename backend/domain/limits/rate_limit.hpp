// RateLimit: so many at once, so many a second, for each of many keys, in bounded memory.
//
// Pure; whoever calls brings the time, in milliseconds that do not go back. One thread.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "backend/domain/model.hpp"

namespace backend::domain {

class RateLimit {
 public:
  struct Limits {
    double at_once = 1;
    double per_second = 1;
    std::size_t keys = 1000;  // more than so many share one
  };
  explicit RateLimit(Limits limits) : limits_(limits) {}

  // Takes one. False: none is left, and this one is counted as missed.
  bool take(const std::string& key, Millis now);
  // How long until there is one again; 0: there is.
  Millis wait(const std::string& key, Millis now) const;
  // How many were missed since this was last asked.
  std::uint64_t take_missed(const std::string& key);
  // The same for all keys.
  std::vector<std::pair<std::string, std::uint64_t>> take_all_missed();

  std::size_t size() const { return buckets_.size(); }

 private:
  struct Bucket {
    double left = 0;
    Millis at = 0;
    std::uint64_t missed = 0;
  };
  double left(const Bucket& bucket, Millis now) const;
  // The bucket of the key, or the one for all that there is no room for.
  Bucket& bucket(const std::string& key, Millis now);

  const Limits limits_;
  std::unordered_map<std::string, Bucket> buckets_;
};

}  // namespace backend::domain

// TokenBucket: so many at once, so many a second. Sixteen bytes, because every agent has several.
//
// Pure; whoever calls brings the time, in milliseconds that do not go back, and the same limits each time.
// One that was never used is full.
#pragma once

#include <algorithm>
#include <cmath>

#include "backend/domain/model.hpp"

namespace backend::domain {

struct BucketLimits {
  double at_once = 1;
  double per_second = 1;
};

class TokenBucket {
 public:
  // Takes one. False: there is none, and nothing is taken.
  bool take(const BucketLimits& limits, Millis now) {
    refill(limits, now);
    if (used_ + 1 > limits.at_once) return false;
    used_ += 1;
    return true;
  }
  // Takes so many, also more than there are. Answers how long the taker has to wait until all of them are
  // paid for.
  Millis borrow(const BucketLimits& limits, double amount, Millis now) {
    refill(limits, now);
    used_ += amount;
    return until(limits, used_ - limits.at_once);
  }
  // How long until there is one again; 0: there is.
  Millis wait(const BucketLimits& limits, Millis now) const {
    return until(limits, used_at(limits, now) + 1 - limits.at_once);
  }
  // As good as one that was never used.
  bool is_full(const BucketLimits& limits, Millis now) const { return used_at(limits, now) <= 0; }

 private:
  double used_at(const BucketLimits& limits, Millis now) const {
    const double passed = static_cast<double>(std::max<Millis>(now - at_, 0)) / 1000;
    return std::max(0.0, used_ - passed * limits.per_second);
  }
  void refill(const BucketLimits& limits, Millis now) {
    used_ = used_at(limits, now);
    at_ = std::max(at_, now);
  }
  static Millis until(const BucketLimits& limits, double lacking) {
    return lacking <= 0 ? 0 : static_cast<Millis>(std::ceil(lacking / limits.per_second * 1000));
  }

  double used_ = 0;
  Millis at_ = 0;
};

}  // namespace backend::domain

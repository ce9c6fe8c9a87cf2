// Why a document is not believed. Each reason has its own value and its own message, which says what to do.
#pragma once

#include <string>
#include <string_view>

namespace release {

enum class Refusal {
  none,
  malformed,
  unknown_key,
  key_twice,
  bad_signature,
  below_threshold,
  expired,
  clock_behind,
  wrong_product,
  wrong_channel,
  wrong_target,
  below_floor,
  release_changed,
  version_unknown,
  bad_version,
  too_old_to_update,
  root_not_next,
  timestamp_older,
  hash_differs
};
std::string_view name_of(Refusal refusal);

struct Verdict {
  Refusal refusal = Refusal::none;
  std::string message = {};
  explicit operator bool() const { return refusal == Refusal::none; }
};

}  // namespace release

#include "release/refusal.hpp"

namespace release {

std::string_view name_of(Refusal refusal) {
  switch (refusal) {
    case Refusal::none:
      return "none";
    case Refusal::malformed:
      return "malformed";
    case Refusal::unknown_key:
      return "unknown_key";
    case Refusal::key_twice:
      return "key_twice";
    case Refusal::bad_signature:
      return "bad_signature";
    case Refusal::below_threshold:
      return "below_threshold";
    case Refusal::expired:
      return "expired";
    case Refusal::clock_behind:
      return "clock_behind";
    case Refusal::wrong_product:
      return "wrong_product";
    case Refusal::wrong_channel:
      return "wrong_channel";
    case Refusal::wrong_target:
      return "wrong_target";
    case Refusal::below_floor:
      return "below_floor";
    case Refusal::release_changed:
      return "release_changed";
    case Refusal::version_unknown:
      return "version_unknown";
    case Refusal::bad_version:
      return "bad_version";
    case Refusal::too_old_to_update:
      return "too_old_to_update";
    case Refusal::root_not_next:
      return "root_not_next";
    case Refusal::timestamp_older:
      return "timestamp_older";
    case Refusal::hash_differs:
      return "hash_differs";
  }
  return "";
}

}  // namespace release

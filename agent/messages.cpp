#include "agent/messages.hpp"

namespace agent {

std::string_view outcome_name(Outcome outcome) {
  switch (outcome) {
    case Outcome::kept:
      return "kept";
    case Outcome::changed:
      return "changed";
    case Outcome::failed:
      return "failed";
    case Outcome::skipped:
      return "skipped";
    case Outcome::cancelled:
      return "cancelled";
    case Outcome::timed_out:
      return "timed_out";
  }
  return "failed";
}

bool is_success(Outcome outcome) {
  return outcome == Outcome::kept || outcome == Outcome::changed || outcome == Outcome::skipped;
}

std::string_view verdict_name(states::Verdict verdict) {
  switch (verdict) {
    case states::Verdict::kept:
      return "kept";
    case states::Verdict::change:
      return "change";
    case states::Verdict::fail:
      return "fail";
    case states::Verdict::unknown:
      return "unknown";
  }
  return "fail";
}

}  // namespace agent

#include "agent/connection/renewal.hpp"

#include <algorithm>

#include "base/utc_text.hpp"

namespace agent::connection {

namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

// Clocks are set now and then: no sleep until an instant is longer.
constexpr milliseconds kLongestSleep = 6h;
// An attempt that failed is repeated: eight times in what is left, so more often towards the end.
constexpr int kAttempts = 8;
constexpr milliseconds kShortestRetry = 1s;
constexpr milliseconds kLongestRetry = 1h;

milliseconds until(pki::Instant when, pki::Instant now) {
  return std::chrono::duration_cast<milliseconds>(when - now);
}

}  // namespace

milliseconds Renewal::until_next() const {
  const identity::Credentials* credentials = membership_.credentials();
  if (credentials == nullptr) return kLongestSleep;
  const pki::Instant now = std::chrono::system_clock::now();
  if (other_issuer_at_) return std::clamp(until(*other_issuer_at_, now), 1ms, kLongestSleep);
  if (now < credentials->renew_at())
    return std::clamp(until(credentials->renew_at(), now), 1ms, kLongestSleep);
  const milliseconds pause =
      std::clamp(until(credentials->not_after, now) / kAttempts, kShortestRetry, kLongestRetry);
  return std::clamp(until(last_try_ + pause, now), 1ms, kLongestRetry);
}

transport::Task<> Renewal::run() {
  while (!is_ending_) {
    co_await changed_.wait_for(until_next());
    const identity::Credentials* credentials = membership_.credentials();
    if (is_ending_ || credentials == nullptr) continue;
    const pki::Instant now = std::chrono::system_clock::now();
    if (now >= credentials->renew_at() || (other_issuer_at_ && now >= *other_issuer_at_)) renew();
  }
}

void Renewal::connected() {
  last_try_ = {};
  changed_.notify();
}

void Renewal::issuer_changed(milliseconds within) {
  const identity::Credentials* credentials = membership_.credentials();
  if (credentials == nullptr || other_issuer_at_) return;
  const auto share = std::chrono::duration<double, std::milli>(within) * credentials->share();
  other_issuer_at_ = std::chrono::system_clock::now() + std::chrono::duration_cast<milliseconds>(share);
  changed_.notify();
}

void Renewal::renew() {
  // Once: a backend that goes on issuing others is not asked without end. The next connection brings it up
  // again.
  other_issuer_at_.reset();
  last_try_ = std::chrono::system_clock::now();
  const Ask ask = backend_();
  if (!ask) return log_(Level::debug, "the certificate is due, and nobody is connected who renews it");
  auto request = membership_.ask_to_renew();
  if (!request) return log_(Level::error, "renewing the certificate: " + request.error().message());
  ask(std::move(*request));
}

base::Result<void> Renewal::issued(const protocol::CertIssued& issued) {
  if (auto accepted = membership_.accept(issued); !accepted) {
    log_(Level::error, "renewing the certificate: " + accepted.error().message());
    return accepted;
  }
  log_(Level::info,
       "the certificate was renewed and ends on " + base::utc_text(membership_.credentials()->not_after));
  changed_.notify();
  return {};
}

void Renewal::end() {
  is_ending_ = true;
  changed_.notify();
}

}  // namespace agent::connection

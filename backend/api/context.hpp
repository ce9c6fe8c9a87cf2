// What the handlers of the API work with. Constant after construction; everything in it is the loop's.
#pragma once

#include <string>

#include "backend/api/token_cache.hpp"
#include "backend/domain/rate_limit.hpp"
#include "backend/fleet/fleet.hpp"
#include "backend/rollouts/rollouts.hpp"
#include "backend/store/store_thread.hpp"
#include "backend/telemetry/event_log.hpp"
#include "backend/telemetry/metrics.hpp"
#include "terminal/log.hpp"

namespace backend::api {

struct Context {
  bool report_changes_only;  // of apps that do not say otherwise
  store::StoreThread& store;
  fleet::Fleet& fleet;
  rollouts::Rollouts& rollouts;
  telemetry::EventLog& events;
  telemetry::Metrics& metrics;
  terminal::Log& log;
  std::string admin_token;   // the text in <data>/admin.token
  std::string ca_hash = {};  // SHA-256 of the CA's public key, for join tokens; "": there is no TLS
  TokenCache tokens = {};
  // Wrong access tokens, by address. Guessing 256 bits is hopeless; what is saved is the noise.
  domain::RateLimit wrong_tokens = domain::RateLimit({.at_once = 100, .per_second = 1, .keys = 4096});
  std::size_t event_streams = 0;  // open now
};

}  // namespace backend::api

// What the handlers of the API work with. Constant after construction; everything in it is the loop's.
#pragma once

#include <string>

#include "backend/api/token_book.hpp"
#include "backend/domain/rate_limit.hpp"
#include "backend/fleet/fleet.hpp"
#include "backend/log.hpp"
#include "backend/rollouts/rollouts.hpp"
#include "backend/server/options.hpp"
#include "backend/store/store_thread.hpp"
#include "backend/telemetry/event_log.hpp"
#include "backend/telemetry/metrics.hpp"

namespace backend::api {

struct Context {
  const Options& options;
  StoreThread& store;
  Fleet& fleet;
  Rollouts& rollouts;
  EventLog& events;
  Metrics& metrics;
  Log& log;
  std::string admin_token;   // the text in <data>/admin.token
  std::string ca_hash = {};  // SHA-256 of the CA's public key, for join tokens; "": there is no TLS
  TokenBook tokens = {};
  // Wrong access tokens, by address. Guessing 256 bits is hopeless; what is saved is the noise.
  RateLimit wrong_tokens = RateLimit({.at_once = 100, .per_second = 1, .keys = 4096});
  std::size_t event_streams = 0;  // open now
};

}  // namespace backend::api

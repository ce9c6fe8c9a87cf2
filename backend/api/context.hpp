// What the handlers of the API work with. Constant after construction; everything in it is the loop's.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <unordered_map>

#include "backend/api/callers/token_cache.hpp"
#include "backend/api/callers/token_use.hpp"
#include "backend/api/installation.hpp"
#include "backend/domain/access/audit_rules.hpp"
#include "backend/domain/limits/call_limits.hpp"
#include "backend/domain/limits/rate_limit.hpp"
#include "backend/domain/limits/recipe_quota.hpp"
#include "backend/fleet/fleet.hpp"
#include "backend/repositories/repositories.hpp"
#include "backend/rollouts/rollouts.hpp"
#include "backend/store/threads/store_thread.hpp"
#include "backend/telemetry/event_log.hpp"
#include "backend/telemetry/metrics.hpp"
#include "pki/seal.hpp"
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
  std::string admin_token;                        // the text in <data>/admin.token
  fleet::AuthorityKeeper* authorities = nullptr;  // null: there is no TLS
  TokenCache tokens = {};
  // Wrong access tokens, by address. Guessing 256 bits is hopeless; what is saved is the noise.
  domain::RateLimit wrong_tokens = domain::RateLimit({.at_once = 100, .per_second = 1, .keys = 4096});
  std::size_t event_streams = 0;  // open now

  // What one token takes.
  domain::RateLimit calls = domain::RateLimit(domain::kCallsPerToken);
  std::shared_ptr<TokenUse> use = std::make_shared<TokenUse>();
  std::unordered_map<std::string, std::size_t> streams_open = {};  // entries are gone when they are 0
  // Of a token that takes too much one row in ten minutes is noted.
  domain::RateLimit noted_limits = domain::RateLimit({.at_once = 1, .per_second = 1.0 / 600, .keys = 1000});
  domain::ReadLimit reads = {};  // of recipes' content

  domain::RecipeQuota recipe_quota = {};
  pki::Seal seal = {};  // of cursors that go to tokens with a scope

  std::function<Installation()> installation = {};  // as it is now

  repositories::Repositories* repositories = nullptr;  // never null while calls are answered
  std::string version = {};                            // of this backend, and of the agents beside it
};

}  // namespace backend::api

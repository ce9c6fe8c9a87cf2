// What the handlers of the API work with. Constant after construction; everything in it is the loop's.
#pragma once

#include <string>

#include "backend/event_log.hpp"
#include "backend/fleet.hpp"
#include "backend/log.hpp"
#include "backend/metrics.hpp"
#include "backend/options.hpp"
#include "backend/store_thread.hpp"

namespace backend::api {

struct Context {
  const Options& options;
  StoreThread& store;
  Fleet& fleet;
  EventLog& events;
  Metrics& metrics;
  Log& log;
  std::string admin_token;
  std::size_t event_streams = 0;  // open now
};

}  // namespace backend::api

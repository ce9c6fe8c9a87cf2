// Instants: milliseconds inside, RFC 3339 where people and programs look.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "backend/domain/model.hpp"
#include "base/utc_text.hpp"
#include "base/values/json_text.hpp"

namespace backend::domain {

inline Millis millis_of(std::chrono::system_clock::time_point when) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(when.time_since_epoch()).count();
}

inline Millis now_millis() {
  return millis_of(std::chrono::system_clock::now());
}

// For what must not go back, as rates: of the machine's own clock, from some moment on.
inline Millis steady_millis() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// "" for an instant that never was.
inline std::string instant_text(Millis at) {
  if (at == 0) return {};
  return base::utc_text(std::chrono::system_clock::time_point(std::chrono::milliseconds(at)));
}

// null for an instant that never was.
inline void add_instant(base::JsonText& json, std::string_view name, Millis at) {
  json.key(name);
  if (at == 0)
    json.null();
  else
    json.value(instant_text(at));
}

}  // namespace backend::domain

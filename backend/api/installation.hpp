// What an installation is, for those who check it: listeners, authority, what is allowed.
#pragma once

#include <string>
#include <vector>

#include "backend/domain/model.hpp"

namespace backend::api {

struct Listener {
  std::string address;
  bool is_tls = true;
  bool is_loopback = false;
};

struct Installation {
  std::string version = {};
  std::vector<Listener> listeners = {};
  bool has_authority = false;  // without TLS there is none
  domain::Millis authority_expires = 0;
  bool authority_is_brought = false;  // --ca-cert: not made here
  bool allows_v1 = false;
  std::int64_t certificate_life_s = 0;
  bool serves_releases = false;
};

}  // namespace backend::api

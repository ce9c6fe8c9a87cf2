// Who calls the API, and what they may reach.
#pragma once

#include <optional>
#include <string>

#include "backend/domain/selectors/selector.hpp"

namespace backend::api {

// Who may call a route; each may do what those before it may.
enum class Role { anyone, viewer, operator_, admin };

// The machines that a token reaches; nothing: all.
using Scope = std::optional<domain::Selector>;

struct Caller {
  std::string token_id;
  std::string name;
  Role role = Role::anyone;
  Scope scope;
  domain::Millis expires = 0;    // of the token; 0: never
  domain::Millis warn_from = 0;  // from then on its holder is told
};

// For the audit.
struct Actor {
  std::string name;
  std::string from;  // the peer's address
};

}  // namespace backend::api

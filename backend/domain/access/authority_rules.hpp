// When an authority may be retired. Pure: what is stored goes in, a decision comes out. Any thread.
#pragma once

#include <string>
#include <vector>

#include "backend/domain/model.hpp"

namespace backend::domain {

// A machine whose good certificates are all of one authority, as far as anybody knows.
struct RelyingMachine {
  std::string app_id = {}, instance_id = {};
  std::string agent_version = {};
  bool online = false;
  Millis last_seen = 0;
};

struct RelyingMachines {
  std::size_t count = 0;
  std::vector<RelyingMachine> some = {};  // in the order of their names
};
// How many are shown.
inline constexpr std::size_t kMostRelyingShown = 100;

// Why an authority must not be retired; "": nothing speaks against it. Names the machines that rely on it.
std::string refuse_retirement(const RelyingMachines& relying, bool is_forced);

// "default/a, default/b and 3 more".
std::string names_of(const RelyingMachines& relying);

}  // namespace backend::domain

// Identity: who this agent is to its backend. Made once, kept in the state folder.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"

namespace agent::identity {

struct Identity {
  std::string app_id;
  std::string instance_id;
  std::string token;  // instance_token
  std::string boot_id;
};

struct IdentityOptions {
  std::string state_dir;  // must be there
  std::string app_id;
  std::string instance_id;        // empty: the file instance_id, else one of these three:
  std::string announced_id = {};  // what the identity source says (agent/metadata/)
  bool use_cloud_init = true;     // what cloud-init has found
                                  // the host's name
  std::string token_file = {};    // empty: <state_dir>/token
};

// Reads it, and makes what is missing: the token is random, the name is kept from then on. Short files only.
// The error says which part is wrong and where it comes from.
base::Result<Identity> load_identity(const IdentityOptions& options);

// The rule for the names of machines and apps, protocol::problem_of_name().
base::Result<void> check_instance_id(std::string_view id);

}  // namespace agent::identity

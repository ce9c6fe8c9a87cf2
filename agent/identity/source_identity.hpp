// Announced: what the identity source (agent/metadata/) has said of this machine that the configuration would
// otherwise have to say. The last of it is kept in the state folder, so that a start does not depend on a
// metadata service.
#pragma once

#include <optional>
#include <string>

#include "agent/daemon/daemon.hpp"
#include "base/interrupt.hpp"
#include "base/result.hpp"

namespace agent::manager {

struct Announced {
  std::string instance_id;  // used once, then kept by load_identity()
  std::string app_id;       // empty: the configuration's
  std::string join_token;   // empty: the configuration's
};

// Before the loop runs. What was kept; at the first start of a machine the source is asked, for as long as it
// may take a network to come up, or until a signal to end is pending. Logs what went wrong. The error: the
// source is silent, and without it the machine would take the host's name for good; a later start asks again.
base::Result<Announced> first_announced(const DaemonSettings& settings);

// Asks the source. Blocks, for half a minute at most: not on the loop's thread.
base::Result<Announced> ask_announced(const metadata::SourceOptions& source, base::Interrupt& interrupt);

// STATE/identity_source: lines "app_id X", "join_token X"; 0600.
std::optional<Announced> kept_announced(const std::string& state_dir);  // nothing: it was never heard
base::Result<void> keep_announced(const std::string& state_dir, const Announced& announced);

// Which app wins when the two differ, as a sentence for the log; empty: they do not.
std::string app_conflict(const std::string& configured, const Announced& announced);

// The configuration with what was announced in the place of its own.
IdentityOptions with_announced(IdentityOptions options, const Announced& announced);
MembershipOptions with_announced(MembershipOptions options, const Announced& announced);

}  // namespace agent::manager

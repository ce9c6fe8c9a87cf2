// SourceIdentity: what the identity source (agent/metadata/) has said of this machine that the configuration
// would otherwise have to say. The last of it is kept in the state folder, so that a start does not depend on
// a metadata service.
#pragma once

#include <optional>
#include <string>

#include "agent/identity/identity.hpp"
#include "agent/identity/membership.hpp"
#include "agent/log_line.hpp"
#include "agent/metadata/metadata.hpp"
#include "base/interrupt.hpp"
#include "base/result.hpp"

namespace agent::identity {

struct SourceIdentity {
  std::string instance_id;  // used once, then kept by load_identity()
  std::string app_id;       // empty: the configuration's
  std::string join_token;   // empty: the configuration's
};

// Before the loop runs. What was kept; at the first start of a machine the source is asked, for as long as it
// may take a network to come up, or until a signal to end is pending. Logs what went wrong. The error: the
// source is silent, and without it the machine would take the host's name for good; a later start asks again.
struct FirstStart {
  std::string state_dir;
  const metadata::SourceOptions& source;
  const IdentityOptions& configured;
  const LogLine& log;
};
base::Result<SourceIdentity> first_source_identity(const FirstStart& start);

// Asks the source. Blocks, for half a minute at most: not on the loop's thread.
base::Result<SourceIdentity> ask_source_identity(const metadata::SourceOptions& source,
                                                 base::Interrupt& interrupt);

// STATE/identity_source: lines "app_id X", "join_token X"; 0600.
std::optional<SourceIdentity> load_source_identity(
    const std::string& state_dir);  // nothing: it was never heard
base::Result<void> store_source_identity(const std::string& state_dir, const SourceIdentity& announced);

// Whether an announced app is not believed: the machine is enrolled in another, and there is no new token
// that could enrol it anew. A metadata service is asked without any proof of who answers; it must not cut a
// machine off that has proved who it is. The text is for the log; empty: the app may be taken for a wish.
std::string refuse_app(const std::string& app_id, const Membership& membership);

// Which app wins when the two differ, as a sentence for the log; empty: they do not.
std::string app_conflict(const std::string& configured, const SourceIdentity& announced);

// The configuration with what was announced in the place of its own.
IdentityOptions with_source_identity(IdentityOptions options, const SourceIdentity& announced);
MembershipOptions with_source_identity(MembershipOptions options, const SourceIdentity& announced);

}  // namespace agent::identity

// What a peer of version 2 may be asked for, by the names that Handshake and Welcome list. A peer asks only
// for what the other side has listed.
#pragma once

#include <string_view>

namespace protocol {

inline constexpr std::string_view kCanPlan = "plan";          // RecipeMetadata with mode "plan"
inline constexpr std::string_view kCanOutput = "output";      // OutputSubscribe, StateOutput
inline constexpr std::string_view kCanFacts = "facts";        // Facts
inline constexpr std::string_view kCanQuery = "query";        // Query
inline constexpr std::string_view kCanRun = "run";            // Run, Cancel
inline constexpr std::string_view kCanUpdate = "update";      // AgentUpdate with an action id, UpdateStatus
inline constexpr std::string_view kCanSettings = "settings";  // Settings
inline constexpr std::string_view kCanCertify = "certify";    // CertRequest, CertIssued
inline constexpr std::string_view kCanTrust = "authorities";  // Authorities
inline constexpr std::string_view kCanVars = "vars";          // RecipeMetadata with vars and tags
inline constexpr std::string_view kCanHold = "hold";          // Hold, RunNow, HoldStatus

}  // namespace protocol

// Facts: what this machine is, as JSON with sorted keys. Reads, and starts nothing; takes some milliseconds.
//
// Only what stays the same while nothing happens is a fact: no load, no free memory, no clock. So facts are
// sent when they change, and a fleet at rest is quiet. One file per kind.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace agent::facts {

struct Facts {
  std::string json;  // an object
  std::string hash;  // SHA-256 of it
};

// What the agent adds of its own.
struct AgentFacts {
  std::string version;
  std::map<std::string, std::string> tags;
  std::uint64_t lost_reports = 0;  // that no backend will ever see: dropped for want of room, or damaged
};

Facts gather(const AgentFacts& own);

// Each is JSON text; empty: nothing to say on this machine.
std::string os();
std::string kernel();
std::string cpu();
std::string memory();
std::string disks();
std::string interfaces();
std::string packages();
std::string virtualization();
std::string cloud();

}  // namespace agent::facts

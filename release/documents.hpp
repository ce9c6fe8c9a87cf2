// The three documents that say what an agent may become. Values and text, no files, no clock; any thread.
//
// write() lays a document out one member, one key, one role, one target, one release per line: the bootstrap
// script reads them with sed. What is signed are the bytes as written; nothing is ever written again from
// what was read. See docs/releases.md.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "release/key.hpp"

namespace release {

using Instant = std::chrono::sys_seconds;

inline constexpr std::size_t kLargestDocument = 256 * 1024;
inline constexpr std::string_view kProduct = "opsagent";

enum class Role { root, release, timestamp };
std::string_view name_of(Role role);

struct RoleKeys {
  Role role = Role::root;
  std::uint32_t threshold = 1;    // 1 … number of keys
  std::vector<std::string> keys;  // ids, none twice
};

struct Root {
  std::uint64_t version = 1;
  std::string product{kProduct};
  Instant expires;
  std::vector<PublicKey> keys;  // none twice
  std::vector<RoleKeys> roles;  // each role once

  const RoleKeys& role(Role wanted) const;
};

struct Target {
  std::string os = "linux";
  std::string arch;  // Debian's words: amd64, arm64
  std::uint64_t size = 0;
  std::string sha256;  // 64 hexadecimal digits
  std::string path;    // below the release base: "files/opsagent-1.4.0-linux-amd64.tar.gz"
};

struct Release {
  std::string product{kProduct};
  std::string channel = "stable";
  std::string version;       // is_version()
  std::uint64_t number = 0;  // "release": only grows
  std::string min_from;      // the oldest version that may update to this one; empty: any
  Instant expires;
  std::vector<Target> targets;
};

// What is on offer: newest number last. `sha256` is of the release document at `path` ("releases/7.json").
struct Offer {
  std::string channel;
  std::string version;
  std::uint64_t number = 0;
  std::string sha256;
  std::string path;
};

struct Timestamp {
  std::uint64_t version = 1;  // only grows
  std::string product{kProduct};
  Instant expires;
  std::vector<Offer> offers;
};

// Everything is checked: type, product's presence, members that are missing, doubled or unknown, ranges,
// versions, paths that are relative and stay below, hashes. The error names the member.
base::Result<Root> parse_root(std::string_view text);
base::Result<Release> parse_release(std::string_view text);
base::Result<Timestamp> parse_timestamp(std::string_view text);

std::string write(const Root& root);
std::string write(const Release& release);
std::string write(const Timestamp& timestamp);

// MAJOR.MINOR.PATCH with an optional -PRE of [0-9A-Za-z.-]; no leading zeros, at most 64 characters.
bool is_version(std::string_view text);
// By semantic versioning's precedence; both must be versions.
std::strong_ordering compare_versions(std::string_view a, std::string_view b);

}  // namespace release

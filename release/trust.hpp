// Trust: which documents an agent believes, given those that it believed before. Pure: no files, no network,
// no clock.
//
// The order: roots() until there is no newer one, then timestamp(), then release(). Every refusal has its own
// message and its own Refusal, so that tests and people can tell them apart.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "release/documents.hpp"
#include "release/refusal.hpp"

namespace release {

// What must last between updates; to_text()/parse_memory() for the file.
struct Memory {
  std::string root;             // the root document as it was signed: what was pinned, then what followed it
  std::uint64_t floor = 0;      // the release number of the last confirmed update; raised only then
  std::uint64_t timestamp = 0;  // the highest version seen
  Instant trusted_time{};       // the clock never goes back behind it
  std::map<std::uint64_t, std::string> seen;  // release number -> hash of its document
};
std::string to_text(const Memory& memory);
base::Result<Memory> parse_memory(std::string_view text);

struct Machine {
  std::string os = "linux";
  std::string arch;
  std::string channel = "stable";
  std::string version;  // that runs now; empty at bootstrap
};

class Trust {
 public:
  // The error: the pinned root is not one.
  static base::Result<Trust> open(Memory memory);

  const Memory& memory() const { return memory_; }
  Refusal last_refusal() const { return refusal_; }

  std::uint64_t next_root() const;  // the version to ask for: "N.root.json"
  // N+1, signed by enough of N and of N+1. From then on it is the root: persist memory() at once.
  base::Result<void> take_root(std::string_view document, std::string_view signatures);
  // After the last root: the root itself must not be expired.
  base::Result<Timestamp> take_timestamp(std::string_view document, std::string_view signatures, Instant now);
  // The offer for a version, or the newest of the channel when `version` is empty.
  base::Result<Offer> choose(const Timestamp& timestamp, const Machine& machine, std::string_view version);
  base::Result<Target> take_release(const Offer& offer, std::string_view document,
                                    std::string_view signatures, const Machine& machine, Instant now);
  // Confirmed: older ones are refused from now on.
  void raise_floor(std::uint64_t number);

 private:
  Trust(Memory memory, Root root) : memory_(std::move(memory)), root_(std::move(root)) {}
  Memory memory_;
  Root root_;
  Refusal refusal_ = Refusal::none;
};

}  // namespace release

// Trust: which documents an agent believes, given those that it believed before. Pure: no files, no network,
// no clock.
//
// The order: take_root() until there is no newer one, then take_timestamp(), choose(), take_release(). Every
// refusal has its own message and its own Refusal, so that tests and people can tell them apart. A refusal
// changes nothing in the memory.
//
// Signatures are checked before a document is parsed: nothing of what strangers wrote is looked into.
//
// The clock: an accepted timestamp proves that it is now before its expiry, no more; that it is not much
// earlier than the machine thinks, nobody but the machine can say. So the trusted time rises to the machine's
// own clock whenever a timestamp was accepted, less kClockSkew. A clock that is wrong by more than a
// timestamp's life accepts nothing and so teaches nothing; one that is ahead by less holds updates up, once
// it is set right, for no longer than that life.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "release/documents.hpp"
#include "release/refusal.hpp"

namespace release {

// A clock that is put right by a few minutes is no attempt to make an expired document valid again.
inline constexpr std::chrono::minutes kClockSkew{5};
// Numbers whose hashes are remembered; when there are more, the lowest (long below the floor) are forgotten.
inline constexpr std::size_t kMostSeen = 1024;

// What must last between updates; to_text()/parse_memory() for the file.
struct Memory {
  std::string root;             // the root document as it was signed: what was pinned, then what followed it
  std::uint64_t floor = 0;      // the release number of the last confirmed update; raised only then
  std::uint64_t timestamp = 0;  // the highest version seen
  Instant trusted_time{};       // the clock never goes back behind it
  std::map<std::uint64_t, std::string> seen;  // release number -> hash of its document
};
// One text for each memory, with a checksum: see docs/formats.md. A damaged one is an error, never the memory
// of a machine that has seen nothing yet.
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
  const Root& root() const { return root_; }
  Refusal last_refusal() const { return refusal_; }

  std::uint64_t next_root() const;  // the version to ask for: "N.root.json"
  // N+1, signed by enough of N and of N+1. From then on it is the root: persist memory() at once. When it
  // changes who signs timestamps, their versions count from anew: whoever stole the old key may have used up
  // the numbers.
  base::Result<void> take_root(std::string_view document, std::string_view signatures);
  // After the last root: the root itself must not be expired. Persist memory() afterwards.
  base::Result<Timestamp> take_timestamp(std::string_view document, std::string_view signatures, Instant now);
  // The offer for a version, or the newest of the channel when `version` is empty.
  base::Result<Offer> choose(const Timestamp& timestamp, const Machine& machine, std::string_view version);
  // Persist memory() afterwards.
  base::Result<Target> take_release(const Offer& offer, std::string_view document,
                                    std::string_view signatures, const Machine& machine, Instant now);
  // Confirmed: older ones are refused from now on.
  void raise_floor(std::uint64_t number);

 private:
  Trust(Memory memory, Root root) : memory_(std::move(memory)), root_(std::move(root)) {}
  base::Error refuse(Refusal refusal, std::string message);
  base::Error refuse(Verdict verdict) { return refuse(verdict.refusal, std::move(verdict.message)); }
  Verdict check_clock(Instant now) const;
  Verdict check_number(std::uint64_t number, const std::string& sha256) const;
  Verdict check_release(const Release& release, const Offer& offer, const Machine& machine,
                        Instant now) const;

  Memory memory_;
  Root root_;
  Refusal refusal_ = Refusal::none;
};

}  // namespace release

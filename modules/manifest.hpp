// Manifest: what modules/<name>/module.json says. Pure; constant after reading, any thread.
//
//   {"name": "acme.motd",                      the module's name in recipes
//    "version": "1.2.0",
//    "summary": "The text of /etc/motd",       one line for lists
//    "command": ["./motd"],                    argv; with a slash it is in the module's folder
//    "schema": {"type": "object", …},          see parameter_schema.hpp
//    "sensitive": ["token"],                   parameters that are secrets
//    "supports_plan": true,                    false: a plan says "unknown", a run applies in every round
//    "plan_needs": "network: asks the registry",  the plan may use the network, and why
//    "timeout": 600,                           seconds for a state, unless the recipe says another
//    "run_as": "nobody",                       the user whom it runs as; the agent's otherwise
//    "limits": {"memory_mb": 512, "processes": 64},
//    "locks": ["dpkg"],                        taken, and without effect: states run one after another
//    "examples": [{…}]}                        parameters, for the documentation and `opsagent module test`
//
// Any other key is refused, so that a slip does not pass for a setting.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/values/arena.hpp"
#include "modules/parameter_schema.hpp"
#include "states/schema.hpp"

namespace modules {

inline constexpr std::size_t kLargestManifest = 256 * 1024;  // a schema of 64 parameters takes some 20 KiB

struct Limits {
  // Of each process of the module: its private memory (RLIMIT_DATA). Enough for an interpreter, little for a
  // machine.
  std::uint64_t memory_mb = 512;
  std::uint64_t processes = 64;  // of its user, if it runs as another one than root (RLIMIT_NPROC)
};

class Manifest {
 public:
  struct Read {
    std::unique_ptr<const Manifest> manifest;  // null when there is any problem
    std::vector<std::string> problems;         // "FILE:3:7: …"
  };
  // `file` is for messages.
  static Read read(std::string text, std::string_view file);

  Manifest(const Manifest&) = delete;
  Manifest& operator=(const Manifest&) = delete;

  std::string name;
  std::string version;
  std::string summary;
  std::vector<std::string> command;  // never empty
  bool supports_plan = true;
  std::optional<std::string> plan_network;  // why a plan needs the network; absent: it does not
  std::chrono::seconds timeout{600};
  std::string run_as;  // "": as the agent
  Limits limits;
  std::vector<std::string> examples;  // JSON objects

  states::Schema schema() const { return {parameters_.rows}; }
  // What a module is told for a row that is not given: JSON, or "".
  std::string_view default_of(std::size_t row) const { return parameters_.defaults[row]; }
  // The schema's description.
  std::string_view description() const { return parameters_.description; }

 private:
  friend class ManifestReader;
  Manifest() = default;

  std::string text_;
  base::Arena arena_;
  Parameters parameters_;  // views into both
};

// Letters, digits, '.', '_' and '-', beginning with a letter; at most 100. What begins with "meta." is the
// engine's own.
bool is_module_name(std::string_view text);

}  // namespace modules

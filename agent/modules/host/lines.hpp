// The lines that agent and module exchange, as values. Pure; any thread. docs/writing-a-module.md has the
// protocol.
//
// Of what a module says, keys that are not known are passed over: a later protocol may have more.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "modules/manifest.hpp"
#include "states/plan.hpp"

namespace agent::modules {

inline constexpr int kProtocol = 1;

// A line of a module: a plan with a thousand changes and their diffs fits. One that is longer is no answer
// but a flood.
inline constexpr std::size_t kLongestLine = 1024 * 1024;
inline constexpr std::size_t kMostChanges = 1000;
// Longer texts of an answer are cut, as nobody reads them whole.
inline constexpr std::size_t kLongestMessage = 4096;
inline constexpr std::size_t kLongestDiff = 64 * 1024;

// To the module, each with its newline. `parameter` is a JSON object.
struct Request {
  std::uint64_t id = 0;
  std::string_view state_id;
  std::string_view parameter;
  std::chrono::milliseconds time_left{};
};
std::string plan_line(const Request& request);
std::string apply_line(const Request& request, const std::vector<states::Change>& changes);
std::string cancel_line(std::uint64_t id);

// From the module. Errors say what is wrong with the line, as the end of a sentence about the module:
// "answered with …".
struct Planned {
  states::Verdict verdict = states::Verdict::kept;
  std::vector<states::Change> changes;
  std::string message;
};
struct Done {
  bool ok = false;
  std::string message;
};
base::Result<void> read_hello(std::string_view line, const ::modules::Manifest& manifest);
base::Result<Planned> read_planned(std::string_view line, std::uint64_t id);
base::Result<Done> read_applied(std::string_view line, std::uint64_t id);

}  // namespace agent::modules

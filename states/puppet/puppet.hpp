// Puppet: the program, its arguments, and what its exit codes mean.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "states/context.hpp"
#include "states/param.hpp"
#include "states/plan.hpp"
#include "states/prerequisites/prerequisite.hpp"

namespace states::puppet {

// "--key=value", or "--key" without a value. An error: "Illegal value for 'arguments': '…'".
base::Result<std::vector<std::string>> arguments_of(Pairs arguments);

// One word of letters, digits, dots and the like, or nothing.
base::Result<void> check_version(std::string_view version);

// What all three states have in common.
struct Run {
  std::string_view module;             // "linux.puppet.apply"
  std::vector<std::string> arguments;  // of the recipe
  std::string_view version;            // wanted; "": any
};

// For plan(): adds the package if puppet is missing. An error: secrets among the arguments, which everybody
// on the machine could read.
base::Result<void> plan(const Run& run, Plan& plan, Context& context);

// For apply(): puppet is there, in the wanted version. An error: "Puppet 9 is not available".
base::Result<prerequisites::Installation> ensure(const Run& run, ApplyContext& context);

// Runs it with these words in front of the recipe's arguments, and `last` behind them. Answers whether it has
// changed anything. An error: "Puppet failed (exit 4): …". Adds to `output`.
base::Result<bool> run(const Run& run, std::vector<std::string> words, const std::string& last,
                       std::string& output, ApplyContext& context);

// ensure() and run(), for a state that is one run: "Puppet run finished: no changes".
Applied run_once(const Run& run, std::vector<std::string> words, ApplyContext& context);

// The words of a run of the agent that ends when it is done.
std::vector<std::string> agent_words();

}  // namespace states::puppet

// Chef, or Cinc, which is the same without the name: the program, its arguments, and what its exit codes
// mean.
//
// It is run where it is installed. Nothing is ever downloaded to install it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "states/context.hpp"
#include "states/param.hpp"
#include "states/plan.hpp"

namespace states::chef {

enum class Kind { client, solo };

// What both states have in common.
struct Run {
  Kind kind = Kind::client;
  std::vector<std::string> words;  // of the state's own parameters
  Pairs arguments;
  std::string_view version;  // wanted, or its beginning; "": any
};

// `arguments` and `version`: "Illegal value for 'arguments': '…'".
base::Result<void> check_run(const Run& run);
// An address or path that may be among the arguments of a program: one word that is no option, and has no
// password in it.
base::Result<void> check_place(std::string_view param, std::string_view place);
// An absolute path.
base::Result<void> check_path(std::string_view param, std::string_view path);

// The plan of a run, which is made in every round: "Run Chef …". `what` is its message.
Plan plan_run(const Run& run, std::string what, Context& context);

// Runs it: "chef-client failed (exit 1): …".
Applied apply_run(const Run& run, ApplyContext& context);

}  // namespace states::chef

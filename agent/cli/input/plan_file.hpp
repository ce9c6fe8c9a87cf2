// A saved plan: which recipe, and what each of its states was going to do, as fingerprints.
//
// It holds no parameter values, diffs or messages. Of content that would be overwritten or removed there is a
// hash, salted and mixed with all else that the state's plan saw; whoever reads the file can only try
// guesses. `opsagent apply PLAN` loads the recipe that it names and lets the worker compare, state by state.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/engine/messages.hpp"
#include "base/result.hpp"

namespace agent::cli {

struct PlanFile {
  struct State {
    std::string id;
    std::string fingerprint;
    std::string verdict;  // as verdict_name() says it, or "skipped"
  };
  std::string recipe;                             // absolute path
  std::string digest;                             // SHA-256 of its text
  std::string root;                               // absolute, "" for the running system
  std::string salt;                               // of the fingerprints
  std::optional<recipe::ModuleSource> modules{};  // with the commit: no other is applied
  std::vector<State> states;
};

PlanFile make_plan_file(const engine::PlanResult& plan, std::string recipe, std::string digest,
                        std::string root, std::string salt);

std::string to_text(const PlanFile& plan);
base::Result<PlanFile> parse_plan_file(std::string_view text);

// Readable by the owner only; a plan of that name is replaced in one step.
base::Result<void> save(const PlanFile& plan, const std::string& path);

// Whether the file's first bytes say that it is a plan. Only regular files are looked at: a pipe could not be
// read again.
bool is_plan_file(const std::string& path);
base::Result<PlanFile> load_plan_file(const std::string& path);

// What WorkerSettings wants. States that were `unknown` may turn out to be anything.
std::vector<std::string> expected_plans(const PlanFile& plan);

}  // namespace agent::cli

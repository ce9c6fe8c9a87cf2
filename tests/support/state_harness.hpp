// StateHarness: a state with all that it needs around it, for the tests of state modules.
//
//   StateHarness machine;                       // a scratch folder; the state works below it as its root
//   auto plan = machine.plan(kState, R"({"path": "/etc/motd", "content": "hi"})");
//   auto outcome = machine.converge(kState, …)  // plan, apply, plan again as the engine does
//
// With StateHarness(StateHarness::RunningSystem{}) the state works on the machine itself: only in the suite
// "system".
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "states/state.hpp"

namespace tests {

class StateHarness {
 public:
  struct RunningSystem {};
  StateHarness();                        // below a scratch root
  explicit StateHarness(RunningSystem);  // the machine itself
  ~StateHarness();
  StateHarness(const StateHarness&) = delete;

  // The scratch folder; with a scratch root, "/etc/x" of a state is root() + "/etc/x".
  const std::string& root() const { return folder_; }
  states::Host& host() { return host_; }
  states::Overlay& overlay() { return overlay_; }
  base::Accounts& accounts() { return accounts_; }

  // Problems with the parameters, joined by newlines; empty when they are fine.
  std::string problems(const states::StateType& type, std::string_view json);

  states::Plan plan(const states::StateType& type, std::string_view json);
  states::Applied apply(const states::StateType& type, std::string_view json, const states::Plan& plan);

  struct Outcome {
    states::Verdict first = states::Verdict::kept;  // of the plan before
    bool ok = false;                                // kept, or applied and (if rereadable) kept afterwards
    bool changed = false;
    std::string message;  // the plan's message, or the comment of apply
    std::string output;
  };
  // What the engine does with one state.
  Outcome converge(const states::StateType& type, std::string_view json);

  // What the round has noted is forgotten, as the engine does.
  void next_round() { notes_.clear(); }

  // Another state of the recipe.
  void add_to_recipe(const states::StateType& type, std::string_view json);

  // For states with watches: what the next plans and applies see.
  bool watch_triggered = false;
  std::vector<std::string> watch_changed;
  std::vector<std::string> watch_reacted;
  states::Orders orders;   // the same for states whose services follow others
  bool plans_only = false;  // see states::Context
  bool sensitive = false;  // as a recipe may call a state
  const base::Redactor* redactor = nullptr;
  std::string state_id = "test";
  base::Interrupt* interrupt = nullptr;
  std::chrono::seconds timeout{60};
  states::Commands::Output live;  // gets the output of programs as it comes

  // Shorthands for the scratch folder.
  void write(const std::string& path, std::string_view content, mode_t mode = 0644);
  std::string read(const std::string& path) const;
  bool exists(const std::string& path) const;
  mode_t mode(const std::string& path) const;
  // Every path below the scratch folder with type, mode, owner, size, mtime and content hash: equal before
  // and after means that nothing was written.
  std::string snapshot() const;

 private:
  struct Session;
  const states::ParamValues* read(const states::StateType& type, std::string_view json,
                                  std::string& problems);

  std::string folder_;
  states::Host host_;
  base::Arena arena_;
  base::Tree tree_;
  base::Accounts accounts_;
  base::SyncGroup sync_;
  base::TreeWriter writer_;
  states::Overlay overlay_;
  states::Cache facts_;
  states::Cache notes_;
  std::vector<states::RecipePart> recipe_;
};

}  // namespace tests

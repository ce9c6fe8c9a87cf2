// The plans of many machines as one text: equal plans once, and summed up at the end.
#pragma once

#include <string>
#include <vector>

#include "base/values/value.hpp"
#include "terminal/console.hpp"

namespace ctl {

// Machines that would do exactly the same.
struct PlanGroup {
  std::vector<std::string> machines;
  base::Value states;  // lives in the answer
};

struct FleetPlan {
  std::vector<PlanGroup> groups;  // those of most machines first
  struct Silent {
    std::string machine;
    std::string error;
  };
  std::vector<Silent> silent;  // no plan: an error, or not connected

  std::size_t to_change = 0;       // machines
  std::size_t kept = 0;            // machines with nothing to do
  std::size_t cannot_work = 0;     // machines with a state that cannot
  std::size_t changed_states = 0;  // over all machines
};

// From the answer of POST /plan.
FleetPlan fleet_plan(const base::Value& answer);

// `width`: of the terminal, at which sentences are broken between words; 0: nowhere.
std::string plan_text(const FleetPlan& plan, bool verbose, const terminal::Paint& paint, std::size_t width);

// "web1, web2, web3 and 7 more (10 machines)"
std::string machines_text(const std::vector<std::string>& machines);

}  // namespace ctl

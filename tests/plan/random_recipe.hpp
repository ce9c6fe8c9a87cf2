// Random recipes over the names of a RandomMachine, as JSON.
#pragma once

#include <string>
#include <vector>

#include "recipe/inputs.hpp"
#include "states/state.hpp"
#include "tests/plan/dice.hpp"
#include "tests/plan/random_machine.hpp"

namespace tests {

struct RandomRecipe {
  std::string text;
  std::vector<std::string> waits;  // ids of states that wait for others, who are done
  bool has_packages = false;
  bool has_services = false;
  bool has_language = false;  // variables, expressions, templates, each, include
};

RandomRecipe random_recipe(Dice& dice, const RandomMachine& machine);

// What it is filled in with. Another one may make other states of the same recipe.
recipe::Inputs random_inputs(Dice& dice);

// A state that watches files, as linux.service does, and takes no time: "test.watcher".
extern const states::RegistryEntry kWatcherModule[1];

}  // namespace tests

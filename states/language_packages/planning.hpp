// The plan of a state that manages packages of a language.
#pragma once

#include <string>
#include <vector>

#include "states/context.hpp"
#include "states/language_packages/ecosystem.hpp"
#include "states/plan.hpp"

namespace states::language_packages {

enum class Action { none, install, remove, look_up };

struct Item {
  Entry entry;
  Action action = Action::none;
  std::vector<std::string> before;  // the versions that are installed
  bool is_broken = false;
};

struct Steps {
  std::vector<Item> items;
};

PlanWith<Steps> plan_packages(const Ecosystem& ecosystem, Pairs pairs, Context& context);

// All that such a state could touch.
std::vector<Effect> packages_touched(const Ecosystem& ecosystem, Pairs pairs);

// Whether the copies are what the entry wants, as far as the machine and this round tell. For Want::latest:
// installed, and the newest if that was looked up in this round.
bool is_as_wanted(const Ecosystem& ecosystem, const Entry& entry, const std::vector<Copy>& copies,
                  Context& context);

// What the registry called the newest when it was asked in this round.
void note_newest(const Ecosystem& ecosystem, const Entry& entry, std::string version, Context& context);

std::vector<std::string> versions_of(const std::vector<Copy>& copies);

// "six", "six 1.2", "six (latest)"
std::string kept_message(const std::vector<Item>& items);

}  // namespace states::language_packages

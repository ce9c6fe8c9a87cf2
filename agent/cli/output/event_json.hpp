// Plans, events and problems as JSON for programs. docs/command-line.md names the fields.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "agent/engine/messages.hpp"

namespace agent::cli {

// One document.
std::string plan_json(const engine::PlanResult& plan, std::string_view recipe, std::string_view digest,
                      std::string_view root);

// One line, without its newline.
std::string event_json(const engine::Event& event);

// {"ok":…,"problems":[…],"warnings":[…]}
std::string problems_json(std::string_view file, const std::vector<recipe::Problem>& problems,
                          const std::vector<recipe::Problem>& warnings);

}  // namespace agent::cli

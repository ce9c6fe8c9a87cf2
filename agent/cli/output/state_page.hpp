// The documentation of a state module, from its row and its page: for the terminal, as Markdown, as JSON.
#pragma once

#include <string>

#include "base/values/json_text.hpp"
#include "states/state.hpp"
#include "terminal/console.hpp"

namespace agent::cli {

std::string state_for_terminal(const states::RegistryEntry& entry, const terminal::Paint& paint,
                               std::size_t width);
std::string state_as_markdown(const states::RegistryEntry& entry);
void add_state(base::JsonText& json, const states::RegistryEntry& entry);

// The page of docs/states/ that lists all of them.
std::string states_index(std::span<const states::RegistryEntry> entries);

// Facts that are not parameters: "Only on Debian and its relatives." …; one sentence each.
std::vector<std::string> state_remarks(const states::StateType& type);

}  // namespace agent::cli

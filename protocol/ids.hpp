// The names that machines, apps and states go by. They end up in logs, file names and on screens, so one rule
// holds for all of them, wherever they come from.
#pragma once

#include <cstddef>
#include <string_view>

namespace protocol {

inline constexpr std::size_t kLongestId = 256;  // bytes

// What is wrong with an id, as the end of a sentence ("is longer than 256 bytes"); empty if nothing is.
// Refused: control characters, and the invisible ones that change the direction of the text around them. An
// empty id is none of this function's business.
std::string_view problem_of_id(std::string_view id);

inline constexpr std::size_t kLongestName = 128;  // bytes

// The same for the names of apps, instances, tags, recipes and operators, which are stricter than the ids of
// states: letters, digits, '.', '_' and '-', beginning with a letter or digit.
std::string_view problem_of_name(std::string_view name);

}  // namespace protocol

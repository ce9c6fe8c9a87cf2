// The parameter `arguments` of states that run a program: its options, as pairs of a name and a value.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "states/param.hpp"

namespace states::programs {

struct OptionArgument {
  std::string name;   // without dashes in front: letters, digits, '_' and '-'
  std::string value;  // "" for none
};

// Pairs of nothing are left out. An error: "Illegal value for 'arguments': '…'".
base::Result<std::vector<OptionArgument>> option_arguments(Pairs arguments);

}  // namespace states::programs

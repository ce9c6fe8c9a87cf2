#include "states/programs/option_arguments.hpp"

#include <algorithm>
#include <cctype>

namespace states::programs {

base::Result<std::vector<OptionArgument>> option_arguments(Pairs arguments) {
  std::vector<OptionArgument> options;
  for (const Pair& pair : arguments) {
    std::string_view key = pair.key;
    while (key.starts_with('-'))
      key.remove_prefix(1);
    if (key.empty() && pair.value.empty()) continue;
    const bool is_name = !key.empty() && std::ranges::all_of(key, [](unsigned char c) {
      return std::isalnum(c) != 0 || c == '_' || c == '-';
    });
    if (!is_name)
      return base::Error(base::ErrorCode::invalid,
                         "Illegal value for 'arguments': '" + std::string(pair.key) + "'");
    options.push_back({std::string(key), std::string(pair.value)});
  }
  return options;
}

}  // namespace states::programs

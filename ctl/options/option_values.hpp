// Values of options that several groups of rows store in the same way.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "base/text.hpp"
#include "ctl/options.hpp"
#include "terminal/option_store.hpp"

namespace ctl {

// One of two or more words.
template <auto Member>
base::Result<void> store_word(Options& options, std::string_view value, std::string_view accepted) {
  const auto words = base::split_words(accepted);
  if (std::ranges::find(words, value) == words.end())
    return terminal::must_be("one of: " + std::string(accepted), value);
  options.*Member = value;
  return {};
}

}  // namespace ctl

// Text in which a star stands for any text: values of selectors, and the names that a join token allows.
// Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace backend::domain {

struct TextPattern {
  std::vector<std::string> pieces{std::string()};  // the literal ones, between the stars

  static TextPattern parse(std::string_view written);
  bool matches(std::string_view text) const;
  // Whether all that `other` matches is matched here, as far as ends and equality tell.
  bool covers(const TextPattern& other) const;
};

}  // namespace backend::domain

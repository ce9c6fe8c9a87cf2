#include "terminal/option_store.hpp"

#include "base/text.hpp"
#include "base/values/value.hpp"

namespace terminal {

using base::Error;
using base::ErrorCode;

Error must_be(std::string_view what, std::string_view value) {
  return Error(ErrorCode::invalid, "must be " + std::string(what) + ", not '" + std::string(value) + "'");
}

base::Result<std::string_view> text_value(std::string_view value) {
  if (value.empty()) return Error(ErrorCode::invalid, "needs a value");
  return value;
}

base::Result<bool> flag_value(std::string_view value) {
  if (value.empty()) return true;
  const auto given = base::Value::string(value).as_bool();
  if (!given) return must_be("true or false", value);
  return *given;
}

base::Result<std::int64_t> number_value(std::string_view value, std::int64_t least, std::int64_t most) {
  const auto number = base::parse_integer(value);
  if (!number || *number < least || *number > most)
    return must_be("a number from " + std::to_string(least) + " to " + std::to_string(most), value);
  return *number;
}

}  // namespace terminal

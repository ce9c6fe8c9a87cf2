#include <doctest/doctest.h>

#include "builtins/builtins.hpp"
#include "tests/support/json_schema_check.hpp"

TEST_CASE("the JSON Schema of a built-in state accepts exactly what reading its parameters does") {
  for (const states::RegistryEntry& entry : builtins::builtin_states()) {
    tests::SchemaCheck check(*entry.type);
    for (const std::string& disagreement : check.disagreements())
      FAIL_CHECK(disagreement);
  }
}

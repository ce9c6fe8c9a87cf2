// The parameters of a module, read from the JSON Schema in its manifest. Pure; any thread.
//
// A subset of JSON Schema, because every keyword that is accepted must be checked, documented and completed
// as for native modules; docs/writing-a-module.md lists it. Any other keyword is refused by its name: one
// that is passed over would let through what it was to stop.
//
//   the object:   type "object", properties, required, description, additionalProperties false; title and
//                 $schema are taken and mean nothing
//   a property:   description, default, writeOnly (a secret), and
//                 type "string"   with enum (texts), minLength 0 or 1, format "text" (may have several lines)
//                 type "boolean"
//                 type "integer"  with minimum, maximum
//                 type "array"    with items {"type": "string"}
//                 type "object"   with additionalProperties {"type": "string"}
#pragma once

#include <string_view>
#include <vector>

#include "base/values/json.hpp"
#include "base/values/value.hpp"
#include "states/schema.hpp"

namespace modules {

struct Parameters {
  std::vector<states::Param> rows;
  std::vector<std::string_view>
      defaults;  // of each row: what a module is told when it is not given; JSON or ""
  std::string_view description;
};

// Views of what is made here live in `arena`, others in the document. Problems are appended.
Parameters read_parameters(const base::Value& schema, base::Arena& arena,
                           std::vector<base::SyntaxProblem>& problems);

// A value of a recipe, or a default, in the one form that a module is told: text, number, true or false, a
// list of texts, an object of texts. "" when it counts as not given.
base::Result<std::string_view> as_json(const states::Param& param, const base::Value& value,
                                       base::Arena& arena);

}  // namespace modules

// Values of documents (JSON, YAML) as values of templates, and back.
#pragma once

#include "base/values/value.hpp"
#include "templates/value.hpp"

namespace templates {

// Copied. `frozen`: templates cannot change it.
Value from_document(const base::Value& value, Memory& memory, bool frozen);
// Text and all else is copied to the arena. A Failure for what a document has no value for.
base::Value to_document(const Value& value, base::Arena& arena, Memory& memory);

}  // namespace templates

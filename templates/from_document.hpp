// Values of documents (JSON, YAML) as values of templates, and back.
#pragma once

#include "base/values/value.hpp"
#include "templates/templates.hpp"
#include "templates/value.hpp"

namespace templates {

// Copied. `frozen`: templates cannot change it. `marks_of`: of each value; may be null.
Value from_document(const base::Value& value, Memory& memory, bool frozen, const MarksOf* marks_of = nullptr);
// Text and all else is copied to the arena. A Failure for what a document has no value for.
base::Value to_document(const Value& value, base::Arena& arena, Memory& memory);

}  // namespace templates

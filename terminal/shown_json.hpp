// JSON that may be read on a terminal: the same document, with nothing in it that plays with one.
#pragma once

#include <string>
#include <string_view>

#include "base/values/redactor.hpp"

namespace terminal {

// The text as a JSON string, in quotes. Escaped are, besides what must be: DEL, the second set of control
// characters, what changes how text is read (base::changes_reading()), and what YAML readers refuse.
std::string quote_json(std::string_view text);

// A JSON document without secrets: they are taken out of the texts among its values. Names of members,
// numbers, true, false and null are nobody's secret and stay, so it is valid afterwards, with the same
// structure. All strings are as quote_json() writes them.
std::string shown_json(std::string_view json, const base::Redactor& redactor);

}  // namespace terminal

#include "states/schema.hpp"

namespace states {

std::string_view wire_name(Wire wire) {
  switch (wire) {
    case Wire::line:
      return "a line of text";
    case Wire::text:
      return "text";
    case Wire::boolean:
      return "true or false";
    case Wire::integer:
      return "a whole number";
    case Wire::list:
      return "a list of texts";
    case Wire::pairs:
      return "a list of key and value pairs";
    case Wire::mode:
      return "an octal mode such as \"0644\"";
    case Wire::seconds:
      return "a number of seconds";
    case Wire::watch:
      return "a list of paths";
    case Wire::references:
      return "a list of references to states";
  }
  return "a value";
}

}  // namespace states

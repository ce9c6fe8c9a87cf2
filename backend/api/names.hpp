// Names and selectors in requests.
#pragma once

#include <string_view>

#include "backend/api/fields.hpp"
#include "backend/selector.hpp"
#include "protocol/ids.hpp"

namespace backend::api {

// Complains when it cannot be the name of an app, instance or recipe.
inline void check_name(Fields& fields, std::string_view field, std::string_view name) {
  if (const std::string_view wrong = protocol::problem_of_id(name); !wrong.empty())
    fields.complain(field, std::string(wrong));
  else if (name.find('/') != std::string_view::npos)
    fields.complain(field, "may not have a '/' in it");
}

// The selector of a member; everything when it is not there.
inline Selector read_selector(Fields& fields, std::string_view field) {
  auto parsed = Selector::parse(fields.text_or(field, "*"));
  if (parsed) return std::move(*parsed);
  fields.complain(field, parsed.error().message());
  return {};
}

}  // namespace backend::api

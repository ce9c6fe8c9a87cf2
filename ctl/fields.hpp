// Reading what the API answered: fields that may be missing, of documents whose server may be newer than we.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/values/value.hpp"

namespace ctl {

// The member of that name, through dots ("last_round.counts"); null when there is none.
const base::Value& field(const base::Value& object, std::string_view path);

// As a person would read it: text as it is, numbers in decimals, lists and objects as JSON, null as "".
std::string text_of(const base::Value& value);
std::string text_field(const base::Value& object, std::string_view path);

std::int64_t number_field(const base::Value& object, std::string_view path, std::int64_t missing = 0);
bool flag_field(const base::Value& object, std::string_view path);

// {"role": "db", "zone": "a"} as "role=db zone=a"; numbers that are 0 are left out with `skip_zeros`.
std::string pairs_text(const base::Value& object, bool skip_zeros = false);

// The items of a list, or the values of a member that is one; empty otherwise.
std::span<const base::Value> items_field(const base::Value& object, std::string_view path);

}  // namespace ctl

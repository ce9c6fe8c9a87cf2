// Why a machine's recipe fails, in words, and the command that shows more of it.
#pragma once

#include <string>
#include <string_view>

#include "base/values/value.hpp"
#include "ctl/api.hpp"

namespace ctl {

// Of an instance, or of a row of /failures: "state 'nginx': cannot start it", or what its errors say. "" when
// nothing is known.
std::string failure_text(const base::Value& instance);

// "opsctl results -i shop/web1 --state nginx --verbose", to be pasted.
std::string failure_command(const base::Value& instance);

// The machines whose recipe fails now. Of a backend that does not know of them: none.
base::Result<Listing> list_failures(Api& api, Parameters parameters, std::size_t limit);

// As an argument in a shell: in quotes where it has to be.
std::string shell_word(std::string_view text);

}  // namespace ctl

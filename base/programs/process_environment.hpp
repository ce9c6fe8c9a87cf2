// Where programs are found. Used by run(); for callers, base/programs/process.hpp has find_program().
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace base {

inline constexpr std::string_view kSystemPath =
    "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

// The first executable file `name` in the folders of `path`. Relative folders are passed over: what is run
// must not depend on the working directory.
std::optional<std::string> search_path(std::string_view name, std::string_view path);

}  // namespace base

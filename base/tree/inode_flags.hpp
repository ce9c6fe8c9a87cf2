// What chattr(1) has forbidden: files and folders that nobody can change, root included, until it is taken
// away again.
#pragma once

#include <string>
#include <string_view>

namespace base {

// Why what has this name in an open folder (O_PATH will do) cannot be changed, and what to do about it; ""
// when it is not by these flags. In a locked folder nothing can be made, replaced or removed, but owner and
// mode of what is there can be set.
enum class Changing { name, attributes };
std::string why_locked(int folder, const std::string& name, std::string_view path, Changing what);

}  // namespace base

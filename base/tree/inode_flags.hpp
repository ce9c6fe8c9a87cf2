// What cannot be changed where it is, root included: what chattr(1) has forbidden, until that is taken away
// again, and the names of mount points.
#pragma once

#include <string>
#include <string_view>

namespace base {

// Why what has this name in an open folder (O_PATH will do) cannot be changed, and what to do about it; ""
// when nothing of the kind keeps it. In a locked folder nothing can be made, replaced or removed, but owner
// and mode of what is there can be set. The same goes for a mount point: the kernel neither renames over it
// nor removes it (EBUSY).
enum class Changing { name, attributes };
std::string why_locked(int folder, const std::string& name, std::string_view path, Changing what);

}  // namespace base

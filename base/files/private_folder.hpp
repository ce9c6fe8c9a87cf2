// Folders that others cannot lead us away from: the same name is the same folder tomorrow.
//
// Others (others.hpp) can write neither to such a folder nor to any on the way to it, those with the links
// that were followed included, so nobody can put another one in its place, and its path may be used as text.
// Above it, sticky folders such as /tmp will do for folders, though not for links (way.hpp): nobody can
// rename there what is not his.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "base/files/way.hpp"
#include "base/result.hpp"

namespace base {

// Opens such a folder; a relative path means one in the working folder. With `make`, what is missing is made:
// 0755 on the way, and the last one with this mode. Nothing is made in a folder of others'.
Result<Way> open_guarded_folder(const std::string& path, std::optional<mode_t> make = std::nullopt);

// One that is ours, for what only we may read and must be able to trust: whoever can write a journal can make
// us remove files. The mode of one that is there stays.
Result<Way> make_private_folder(const std::string& path, mode_t mode = 0700);

}  // namespace base

// Who else can change something: others are all users but root and the one that we run as.
//
// What they can change may be another thing by the time that we use it, however it looked before.
#pragma once

#include <sys/stat.h>

#include <optional>
#include <string>

namespace base {

// Whether a user is one of them.
bool is_other(uid_t uid);

// Whether others can put things into a folder (an open descriptor, O_PATH will do, and its fstat), or take
// them away. In words, "belongs to uid 1000"; "" when they cannot. They can when
//   - one of them owns it,
//   - everybody may write to it; the sticky bit, as on /tmp, does not change that,
//   - its group may write to it, unless that is the group root (0), or our own and we are not root,
//   - its group may write to it and it has an access list (ACL), in which any of them may be named.
// `also`: somebody who is no other here, because it is done in his name.
std::string how_others_write_to(int folder, const struct stat& found,
                                std::optional<uid_t> also = std::nullopt);

// The same for a descriptor alone; what cannot be looked at counts as theirs.
bool others_can_write_to(int folder);

// Whether others own a file or may write to it. They may have it open for writing then, and go on writing
// whoever owns it afterwards.
bool others_may_have_open(const struct stat& file);

}  // namespace base

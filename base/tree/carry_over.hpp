// What a file has besides content, owner and mode (an access list, extended attributes, a label), and what of
// it goes onto the file that takes its place. For TreeWriter, and for plans that show what is lost.
//
// Whoever put these onto a file decides with them about the new one. So they are carried over only when that
// can have been nobody but root, us, or the owner who keeps the file: he owned it before and owns it
// afterwards, or it was root's or ours; and nobody else can put another file under its name.
#pragma once

#include <sys/stat.h>

#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/tree/attributes.hpp"

namespace base {

struct CarryOver {
  struct Lost {
    std::string name;  // "access list", "capabilities", or the attribute's own
    std::string why;   // "new content does not inherit them"
  };
  std::vector<std::string> kept;  // names of extended attributes
  std::vector<Lost> lost;
};

// `folder` and `file` are open (O_PATH will do): a regular file that is there, with its fstat, and the folder
// that it is in. `wanted`: of the one that takes its place; what is absent stays.
Result<CarryOver> what_carries_over(int folder, int file, const struct stat& found, const Attributes& wanted);

// Puts what is kept onto the new file (open for writing), which has its owner and mode already; its access
// list is cut to that mode, as chmod does. A label that the kernel does not let us set is the kernel's
// choice.
Result<void> carry_over(const CarryOver& what, int file, int new_file);

// What of a regular file that is there goes away when only its owner and mode are set.
Result<std::vector<CarryOver::Lost>> lost_by_owner(int file, const struct stat& found,
                                                   const Attributes& wanted);

}  // namespace base

// What is on its way into a folder, before it has its name: for TreeWriter. One thread.
#pragma once

#include <sys/types.h>

#include <cerrno>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "base/unique_fd.hpp"

namespace base {

// The temporary name that belongs to a name: stable, of bounded length.
std::string scratch_name(std::string_view name);

// Takes a temporary away that is in the way: a leftover of a killed run.
bool clear_scratch(int folder, const std::string& name);

// Calls `create` (0 or a descriptor when it worked, else -1 with errno), clearing leftovers out of its way.
template <class Create>
Result<int> create_scratch(int folder, const std::string& name, Create create) {
  for (int attempt = 0; attempt < 3; ++attempt) {
    const int made = create();
    if (made >= 0) return made;
    if (errno != EEXIST) break;
    if (!clear_scratch(folder, name)) break;
    errno = EEXIST;
  }
  return os_error(errno, "cannot create the temporary " + name);
}

// A file without a name where the file system can do that: then nobody can see or swap it, a kill leaves
// nothing behind, and it can be made with its mode at once. Elsewhere it has the scratch name, readable by
// nobody else. What has not got its name when this ends is gone.
class IncomingFile {
 public:
  // The folder must stay open.
  IncomingFile(int folder, std::string scratch) : folder_(folder), scratch_(std::move(scratch)) {}
  ~IncomingFile();
  IncomingFile(const IncomingFile&) = delete;
  IncomingFile& operator=(const IncomingFile&) = delete;

  // Opens it for writing. The mode is a wish: look at what came of it.
  Result<void> open(std::optional<mode_t> mode);
  int fd() const { return fd_.get(); }

  // Gives it the name. False: something has it, or the file system cannot tell; replace() then.
  bool appear(const std::string& name);
  // Puts it in the place of what has the name, in one step, and on disk before that.
  Result<void> replace(const std::string& name);

 private:
  const int folder_;
  const std::string scratch_;
  UniqueFd fd_;
  bool is_named_ = false;  // the scratch name is there, and ours
};

}  // namespace base

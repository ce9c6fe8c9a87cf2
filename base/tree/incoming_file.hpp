// A file on its way into a folder, before it has its name: for TreeWriter. One thread.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "base/result.hpp"
#include "base/tree/scratch_place.hpp"
#include "base/unique_fd.hpp"

namespace base {

// A file without a name where the file system can do that: then nobody can see or swap it, a kill leaves
// nothing behind, and it can be made with its mode at once. Elsewhere it is in a ScratchPlace, readable by
// nobody else. What has not got its name when this ends is gone.
class IncomingFile {
 public:
  // The folder must stay open.
  IncomingFile(int folder, std::string scratch) : folder_(folder), scratch_(std::move(scratch)) {}
  IncomingFile(const IncomingFile&) = delete;
  IncomingFile& operator=(const IncomingFile&) = delete;

  // Opens it for writing. The mode is a wish: look at what came of it.
  Result<void> open(std::optional<mode_t> mode);
  int fd() const { return fd_.get(); }

  // Gives it the name. False with errno: EEXIST when something has it, else the file system cannot do that,
  // and replace() may.
  bool appear(const std::string& name);
  // Puts it in the place of what has the name, in one step, and on disk before that.
  Result<void> replace(const std::string& name);

 private:
  const int folder_;
  const std::string scratch_;
  UniqueFd fd_;
  std::optional<ScratchPlace> place_;  // where it has the temporary name, if it has that
};

}  // namespace base

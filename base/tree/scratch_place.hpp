// ScratchPlace: where something is made ready before it gets its name in a folder. For TreeWriter.
//
// Where only root and we can write, that is the folder itself, under a temporary name. Where others can write
// too, they could put something else under that name between any two calls; there it is a folder of our own
// (0700) with the temporary name, and the thing is made in that. What is moved from here to its name is
// therefore always what we have made, whatever others do meanwhile. One thread.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "base/unique_fd.hpp"

namespace base {

// ".opsagent-<32 random digits>.tmp": nobody can know it before it is used.
std::string new_scratch_name();
bool is_scratch_name(std::string_view name);

// Takes away what a killed run has left under such a name: a file, a link, an empty folder, or a folder of
// our own with one of these in it. False with errno when it cannot be.
bool clear_scratch(int folder, const std::string& name);

class ScratchPlace {
 public:
  // The folder must stay open until this is emptied, or ends.
  static Result<ScratchPlace> make(int folder, const std::string& name);
  ScratchPlace(ScratchPlace&& other) noexcept;
  ScratchPlace& operator=(ScratchPlace&&) = delete;
  // Takes away what was made and not moved.
  ~ScratchPlace();

  int folder() const { return own_ ? own_.get() : folder_; }
  const char* name() const { return name_.c_str(); }

  // Something was made here, under the name …
  void filled() { is_filled_ = true; }
  // … and has been moved to where it belongs. The place is gone from here on, and the folder not needed.
  void emptied();

 private:
  ScratchPlace(int folder, const std::string& name) : folder_(folder), name_(name) {}

  int folder_;
  std::string name_;
  UniqueFd own_;
  bool is_filled_ = false;
};

}  // namespace base

#include "agent/engine/records/advice.hpp"

namespace agent::engine {

namespace {

// It is nearly always the disk.
std::string what_to_do(base::ErrorCode why, const std::string& state_dir) {
  switch (why) {
    case base::ErrorCode::permission:
      return "Who applies a recipe must be able to write to " + state_dir + ": mostly that is root";
    case base::ErrorCode::exists:
    case base::ErrorCode::limit:
      return "Move what is there away, after a look at it";
    case base::ErrorCode::no_space:
      return "Make room on the disk with " + state_dir;
    case base::ErrorCode::read_only:
      return "Mount the disk with " + state_dir + " anew; the kernel makes one that fails read-only";
    default:
      return "See whether the disk with " + state_dir + " is failing";
  }
}

}  // namespace

std::string with_advice(const base::Error& why, const std::string& state_dir) {
  return why.message() + ". " + what_to_do(why.code(), state_dir);
}

}  // namespace agent::engine
